"""The texts of an audit, with its words placed in them by characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.examples.cell import Document
from heedful.report.examples.lists import listed


def documents_of(table: pd.DataFrame, names: Sequence[str]) -> dict[str, Document]:
    chosen = table[table["example"].isin(list(names))]
    lines = ({str(key): value for key, value in line.items()} for line in chosen.to_dict("records"))
    return {str(line["example"]): _document(line) for line in lines}


def _document(line: Mapping[str, Any]) -> Document:
    words = [str(word) for word in listed(line["words"])]
    starts, ends = (listed(line[name]) for name in ("starts", "ends"))
    text, other = (str(line[n]) if isinstance(line[n], str) else "" for n in ("text", "text_b"))
    if len(starts) != len(words):
        return _joined(line, words, other)
    first = int(line["words_a"])
    behind = Document(text, other, ()).behind
    spans = [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
    moved = [(a + behind, b + behind) for a, b in spans[first:]]
    return Document(text, other, (*spans[:first], *moved), _label(line), _marks(line, len(words)))


def _joined(line: Mapping[str, Any], words: list[str], other: str) -> Document:
    """An audit of an earlier version does not say where its words stand: they are the text."""
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    spans = tuple((end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True))
    return Document(" ".join(words), other, spans, _label(line), _marks(line, len(words)))


def _label(line: Mapping[str, Any]) -> int:
    return -1 if pd.isna(line["label"]) else int(line["label"])


def _marks(line: Mapping[str, Any], size: int) -> tuple[bool, ...] | None:
    given = [bool(mark) for mark in listed(line["rationale"])][:size]
    return (*given, *(False,) * (size - len(given))) if given else None
