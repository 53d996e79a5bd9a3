"""Units of a text that explanations score and perturbations remove, and sentences about them.

Heedful's own sentences are written about words. Where another unit is on trial, `by_unit` says the
same of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from heedful.errors import unknown_name

TOKEN, WORD, SENTENCE, LINE, PARAGRAPH, DOCUMENT = (
    "token", "word", "sentence", "line", "paragraph", "document",
)  # fmt: skip
UNITS: Mapping[str, str] = {
    TOKEN: "the model's own tokens",
    WORD: "words and punctuation marks",
    SENTENCE: "sentences",
    LINE: "lines",
    PARAGRAPH: "paragraphs, with blank lines between them",
    DOCUMENT: "documents of a list, such as retrieved ones",
}
"""What each unit is."""
_WORD = re.compile(r"(?<!label )(?<!unknown )\b([Ww])ord(s?)\b(?! frequenc)")


def check_unit(name: str) -> str:
    if name not in UNITS:
        raise unknown_name("unit", name, list(UNITS))
    return name


def by_unit(sentence: str, unit: str) -> str:
    """A sentence of ours about words, said of this unit; word frequency stays what it is."""
    if unit == WORD:
        return sentence

    def said(match: re.Match[str]) -> str:
        first = unit[0].upper() if match[1] == "W" else unit[0]
        return f"{first}{unit[1:]}{match[2]}"

    return _WORD.sub(said, sentence)
