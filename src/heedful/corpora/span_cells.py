"""Cells of a user's file that mark a part of a text: pairs of characters, or its words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from heedful.corpora.example import Spans
from heedful.corpora.marking import found_in, words_pattern
from heedful.errors import HeedfulError, short

MOST_WORDS = 1000  # of a cell: each is looked for by itself


def rationale_spans(value: Any, texts: Mapping[str, str], where: str) -> dict[str, Spans] | None:
    """[start, end) pairs of the first text, as a list or as its JSON; by side where both texts of
    a pair are marked, as `heedful annotate export` writes it. An empty cell means no rationale."""
    if value is None or value == "":
        return None
    try:
        found = json.loads(value) if isinstance(value, str) else value
        sides = found if isinstance(found, Mapping) else {"a": found}
        spans = {str(side): _pairs(pairs) for side, pairs in sides.items() if pairs is not None}
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise HeedfulError(
            f"{where} has a rationale that is no list of [start, end) pairs of characters: write "
            f"such as [[0, 4]]."
        ) from error
    return {side: _of_side(side, spans[side], texts, where) for side in spans} or None


def impermissible_spans(value: Any, text: str, where: str) -> Spans:
    """[start, end) pairs, or words: a list of either, its JSON, or words with commas between
    them. An empty cell forbids nothing."""
    if value is None or value == "":
        return []
    items = _listed(value)
    if all(isinstance(item, str) for item in items):
        return _of_words(items, text, where)
    try:
        spans = _pairs(items)
    except (TypeError, ValueError, OverflowError) as error:
        raise HeedfulError(
            f"{where} has an impermissible cell that is neither words nor a list of "
            f"[start, end) pairs: write one of them."
        ) from error
    return _inside(spans, text, f"{where} has the impermissible span")


def _pairs(pairs: Any) -> Spans:
    return [(int(start), int(end)) for start, end in pairs]


def _of_side(side: str, spans: Spans, texts: Mapping[str, str], where: str) -> Spans:
    if side not in texts:
        raise HeedfulError(
            f"{where} has a rationale of the text {side!r}, and its texts are {', '.join(texts)}: "
            f"name the column of the second text with text_b_column, or mark the first alone."
        )
    return _inside(spans, texts[side], f"{where} has the rationale span")


def _listed(value: Any) -> list[Any]:
    """The items of a list or of its JSON; anything else is text with commas in it."""
    try:
        items = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        items = None
    if isinstance(items, list):
        return items
    return [word.strip() for word in str(value).split(",") if word.strip()]


def _of_words(words: list[str], text: str, where: str) -> Spans:
    if len(words) > MOST_WORDS:
        raise HeedfulError(
            f"{where} names {len(words):,} impermissible words, and at most {MOST_WORDS:,} are "
            f"read: give [start, end) pairs instead."
        )
    spans: Spans = []
    for word in words:
        found = found_in(text, words_pattern([word])) if word.strip() else []
        if not found:
            raise HeedfulError(
                f"{where} names the impermissible word {short(word)!r}, which is not in its text: "
                f"take it out."
            )
        spans += found
    return sorted(set(spans))


def _inside(spans: Spans, text: str, what: str) -> Spans:
    for start, end in spans:
        if not 0 <= start < end <= len(text):
            raise HeedfulError(
                f"{what} [{start}, {end}), its text has {len(text)} characters: count characters "
                f"from 0 up to the end."
            )
    return spans
