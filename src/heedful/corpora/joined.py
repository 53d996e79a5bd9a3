"""Tokens a corpus brings along, joined to a text that knows where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.corpora.example import GivenTokens, Spans


def join_tokens(tokens: Sequence[str], separator: str = " ") -> tuple[str, GivenTokens]:
    """The text and its tokens as (token, start, end)."""
    placed: GivenTokens = []
    start = 0
    for token in tokens:
        placed.append((token, start, start + len(token)))
        start += len(token) + len(separator)
    return separator.join(tokens), placed


def marked_spans(tokens: GivenTokens, marked: Sequence[bool]) -> Spans | None:
    """The spans of the marked tokens; None where none is: nothing was explained."""
    spans = [(start, end) for (_, start, end), mark in zip(tokens, marked, strict=True) if mark]
    return spans or None
