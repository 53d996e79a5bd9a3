"""The texts of an audit with their words, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heedful.subjects import Document


def documents_table(documents: Sequence[Document]) -> pd.DataFrame:
    columns: Mapping[str, list[Any]] = {
        "example": [each.id for each in documents],
        "words": [list(each.surface) for each in documents],
        "starts": [_characters(each, 0) for each in documents],
        "ends": [_characters(each, 1) for each in documents],
        "words_a": [len(each.words["a"]) for each in documents],
        "text": [each.texts["a"] for each in documents],
        "text_b": [each.texts.get("b", "") for each in documents],
        "label": [-1 if each.label is None else each.label for each in documents],
        "rationale": [None if e.rationale is None else list(e.rationale) for e in documents],
    }
    return pd.DataFrame(columns)


def _characters(document: Document, end: int) -> list[int]:
    """Where each word begins (0) or ends (1) in the text of its side."""
    return [span[end] for spans in document.words.values() for span in spans]
