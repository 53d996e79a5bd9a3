"""What an answer may be: one of three words, or a set of words of the text."""

from __future__ import annotations

import json
from typing import Any

from heedful.annotate.database import RELEVANCE
from heedful.annotate.item import Item
from heedful.annotate.refusal import Refusal

YES, NO, UNSURE = "yes", "no", "unsure"
JUDGEMENTS = (YES, NO, UNSURE)


def stored(task: str, item: Item, value: Any) -> str:
    """An answer as it is kept, in one spelling."""
    if task == RELEVANCE:
        if not isinstance(value, str) or value not in JUDGEMENTS:
            raise Refusal(422, f"the answer must be one of {', '.join(JUDGEMENTS)}.")
        return str(value)
    whole = isinstance(value, list) and all(type(each) is int for each in value)
    if not whole or not all(0 <= each < item.length for each in value):
        raise Refusal(
            422, f"the answer must be a list of numbers of words, from 0 to {item.length - 1}."
        )
    return json.dumps(sorted(set(value)))


def read(task: str, value: str | None) -> Any:
    """The inverse: a word, or a list of numbers of words; None for no answer."""
    return value if task == RELEVANCE or value is None else json.loads(value)
