"""Input reduction with sets of positions, one text at a time (Feng et al. 2018, §2.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from heedful.models import probabilities
from heedful.types import Keep
from tiny import batch_of, rows_of


def reduce_text(
    model: Any, batch: Any, order: Callable[[Any, int], list[float]], beam: int
) -> tuple[set[int], float]:
    """Positions (0 is the first word) that are left of a single text, and the probability of its
    prediction on them. `order` gives the importance of each word of what is left."""
    (row,) = rows_of(batch)
    start, *words, end = row

    def shown(left: frozenset[int]) -> Any:
        kept = [words[i] for i in sorted(left)]
        return batch_of([[start, *kept, end]], batch.ids, [0], 0)

    def said(left: frozenset[int]) -> tuple[int, float]:
        with torch.no_grad():
            p = probabilities(model(shown(left)).logits)[0]
        return int(p.argmax()), p

    whole = frozenset(range(len(words)))
    label, p = said(whole)
    held, best, confidence = [whole], whole, float(p[label])
    while held:
        found: dict[frozenset[int], float] = {}
        for left in held:
            if len(left) < 2:
                continue
            scores = order(shown(left), label)
            worst = sorted(zip(scores, sorted(left), strict=True))[:beam]
            for _, position in worst:
                shorter = left - {position}
                decided, p = said(shorter)
                if decided == label:
                    found[shorter] = float(p[label])
        held = sorted(found, key=lambda left: -found[left])[:beam]
        if held:
            best, confidence = held[0], found[held[0]]
    return set(best), confidence


def by_attention(model: Any) -> Callable[[Any, int], list[float]]:
    def scores(batch: Any, label: int) -> list[float]:
        with torch.no_grad():
            return model(batch).weights["attention"][0, 0, 0, 1:-1].tolist()

    return scores


def by_gradient(model: Any, times_input: bool) -> Callable[[Any, int], list[float]]:
    def scores(batch: Any, label: int) -> list[float]:
        trace = model(batch, keep=Keep(embeddings=True))
        embedded = trace.embeddings["a"]
        p = probabilities(trace.logits)[0, label]
        (slope,) = torch.autograd.grad(p, embedded)
        slope, embedded = slope[0, 1:-1], embedded[0, 1:-1]
        if times_input:
            return (slope * embedded).sum(-1).tolist()
        return (slope**2).sum(-1).sqrt().tolist()

    return scores
