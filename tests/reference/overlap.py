"""The word of a token as it is defined, character by character."""

from __future__ import annotations


def word_of(token: tuple[int, int], words: list[tuple[int, int]]) -> int:
    shared = [len(set(range(*token)) & set(range(*word))) for word in words]
    most = max(shared, default=0)
    return shared.index(most) if most else -1
