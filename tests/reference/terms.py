"""Terms of the loss for one text, number by number, as the papers say."""

from __future__ import annotations

import math

Vector = list[float]


def tying(states: list[Vector], embeddings: list[Vector], power: float = 1.0) -> float:
    """tutek2020: (1/T) Σ_t ‖h_t − e_t‖²; with a power of one half the distance itself."""
    apart = [
        math.fsum((a - b) ** 2 for a, b in zip(h, e, strict=True))
        for h, e in zip(states, embeddings, strict=True)
    ]
    return math.fsum(value**power for value in apart) / len(apart)


def conicity(states: list[Vector]) -> float:
    """mohankumar2020: the mean alignment |cos| of the states with their mean."""
    mean = [math.fsum(column) / len(states) for column in zip(*states, strict=True)]
    return math.fsum(abs(cosine(h, mean)) for h in states) / len(states)


def cosine(a: Vector, b: Vector) -> float:
    return dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))


def word_loss(states: list[Vector], vectors: list[Vector], words: list[int]) -> float:
    """tutek2020's language model: −log softmax(v_w · h), the mean over the chosen tokens."""
    losses = []
    for h, word in zip(states, words, strict=True):
        scores = [dot(h, v) for v in vectors]
        losses.append(math.log(math.fsum(map(math.exp, scores))) - scores[word])
    return math.fsum(losses) / len(losses)


def dot(a: Vector, b: Vector) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))
