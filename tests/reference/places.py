"""What models say of a part of a text, restated by the plain module and in loops."""

from __future__ import annotations

import math
from typing import Any

import torch


def run(module: Any, tokens: list[int], segments: list[int] | None = None) -> Any:
    types = {} if segments is None else {"token_type_ids": torch.tensor([segments])}
    with torch.no_grad():
        return module(input_ids=torch.tensor([tokens]), **types)


def chosen_word(module: Any, tokens: list[int], words: list[int], outside: int) -> int:
    """The first word whose label is not the outside one, or the one least likely outside; a word
    has the label of its first token."""
    p = run(module, tokens).logits[0].double().softmax(-1)
    labels: dict[int, Any] = {}
    for place, word in enumerate(words):
        if word >= 0 and word not in labels:
            labels[word] = p[place]
    for word, scores in sorted(labels.items()):
        if int(scores.argmax()) != outside:
            return word
    return min(labels, key=lambda word: float(labels[word][outside]))


def span_probability(start: list[float], end: list[float], first: int, last: int) -> float:
    """p(start = first) · p(end = last), each a softmax over all tokens."""
    chances = []
    for scores, place in ((start, first), (end, last)):
        exps = [math.exp(score - max(scores)) for score in scores]
        chances.append(exps[place] / sum(exps))
    return chances[0] * chances[1]


def best_span(start: list[float], end: list[float], allowed: list[int]) -> tuple[int, int]:
    """The likeliest span of the allowed tokens that does not end before it starts."""
    spans = [(i, j) for i in allowed for j in allowed if i <= j]
    return max(spans, key=lambda span: span_probability(start, end, *span))
