"""Spans and their matches with sets of words, and average precision from the definition."""

from __future__ import annotations

import math


def spans(inside: list[bool]) -> list[set[int]]:
    found: list[set[int]] = []
    for i, here in enumerate(inside):
        if here and i and inside[i - 1]:
            found[-1].add(i)
        elif here:
            found.append({i})
    return found


def iou_f1(chosen: list[bool], rationale: list[bool]) -> float:
    """ERASER: a chosen span hits if its best overlap is at least one half."""
    ours, theirs = spans(chosen), spans(rationale)
    if not theirs:
        return math.nan
    hits = sum(max(len(a & b) / len(a | b) for b in theirs) >= 0.5 for a in ours)
    precision = hits / len(ours) if ours else 0.0
    recall = hits / len(theirs)
    return 2 * precision * recall / (precision + recall) if hits else 0.0
