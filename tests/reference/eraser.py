"""ERASER's measures (DeYoung et al. 2020) one text at a time, with sets and loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reference.rationales import spans

BINS = (1, 5, 10, 20, 50)
"""Percent of the words."""


def aopc(p: Callable[[set[int]], float], order: Sequence[int], keep: bool = False) -> float:
    """`p` of the words that are left; `order` has the most important word first."""
    words = set(order)
    falls = []
    for percent in BINS:
        top = set(order[: math.ceil(percent * len(order) / 100)])
        falls.append(p(words) - p(top if keep else words - top))
    return sum(falls) / len(falls)


def auprc(scores: Sequence[float], marked: Sequence[bool]) -> float:
    """Trapezoids from recall 0 and precision 1 on; a threshold at each distinct score."""
    if not any(marked):
        return math.nan
    area, before = 0.0, (0.0, 1.0)
    for threshold in sorted(set(scores), reverse=True):
        chosen = [mark for score, mark in zip(scores, marked, strict=True) if score >= threshold]
        recall, precision = sum(chosen) / sum(marked), sum(chosen) / len(chosen)
        area += (recall - before[0]) * (precision + before[1]) / 2
        before = recall, precision
    return area


def token_scores(chosen: Sequence[bool], marked: Sequence[bool]) -> tuple[float, float]:
    """Precision and recall of one text."""
    ours = {i for i, here in enumerate(chosen) if here}
    theirs = {i for i, here in enumerate(marked) if here}
    return len(ours & theirs) / len(ours), len(ours & theirs) / len(theirs)


def span_scores(chosen: Sequence[bool], marked: Sequence[bool]) -> tuple[float, float]:
    """A chosen span hits if its best overlap is at least one half."""
    ours, theirs = spans(list(chosen)), spans(list(marked))
    hits = sum(max(len(a & b) / len(a | b) for b in theirs) >= 0.5 for a in ours)
    return hits / len(ours), hits / len(theirs)


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision * recall else 0.0
