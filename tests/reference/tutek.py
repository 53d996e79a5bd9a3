"""tutek2020's numbers, one token at a time."""

from __future__ import annotations

import math
from collections import Counter

import torch

from heedful.data import Split
from heedful.models import OneSequence
from heedful.types import Keep


def mutual_information(first: list[int], second: list[int]) -> float:
    """Σ p(x, y) log p(x, y) / (p(x) p(y)), in nats."""
    n, both = len(first), Counter(zip(first, second, strict=True))
    ones, others = Counter(first), Counter(second)
    return sum(
        count / n * math.log((count / n) / ((ones[x] / n) * (others[y] / n)))
        for (x, y), count in both.items()
    )


def states(model: OneSequence, split: Split, index: int) -> list[list[float]]:
    """Of one text's real tokens, encoded alone."""
    with torch.no_grad():
        trace = model(split.batch([index]), keep=Keep(states=True))
    rows: list[list[float]] = trace.states["attention"][0, 1:-1].tolist()
    return rows


def token_probabilities(model: OneSequence, split: Split, index: int) -> tuple[bool, list[float]]:
    """Whether a text is read right, and the predicted class's probability by each token."""
    with torch.no_grad():
        logits = model(split.batch([index])).logits[0].tolist()
    predicted = int(logits[0] > 0) if len(logits) == 1 else logits.index(max(logits))
    weight, bias = model.decoder.weight.tolist(), model.decoder.bias.tolist()
    found = []
    for state in states(model, split, index):
        scores = [
            sum(w * h for w, h in zip(row, state, strict=True)) + b
            for row, b in zip(weight, bias, strict=True)
        ]
        found.append(_probability(scores, predicted))
    return predicted == int(split.labels[index]), found


def _probability(scores: list[float], label: int) -> float:
    if len(scores) == 1:
        p = 1 / (1 + math.exp(-scores[0]))
        return p if label == 1 else 1 - p
    return math.exp(scores[label]) / sum(math.exp(score) for score in scores)


def conicity(vectors: list[list[float]]) -> float:
    """The mean of |cos| between each vector and the mean of all."""
    mean = [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
    return sum(abs(_cosine(vector, mean)) for vector in vectors) / len(vectors)


def _cosine(first: list[float], second: list[float]) -> float:
    product = sum(a * b for a, b in zip(first, second, strict=True))
    return product / (math.hypot(*first) * math.hypot(*second))
