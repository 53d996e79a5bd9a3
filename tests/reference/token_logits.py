"""What one token of one text says, and what a weighted mean of them does, number by number."""

from __future__ import annotations

import math

from reference.encoders import ENCODERS
from reference.one_text import Parameters, Vector, linear, weights_of


def said(parameters: Parameters, encoder: str, attention: str, tokens: list[int]) -> Said:
    """Of a one-sequence model with one layer."""
    embedded = [parameters["embedding.weight"][token] for token in tokens]
    states = ENCODERS[encoder](parameters, embedded, 1)[1:-1]
    weight, bias = parameters["decoder.weight"], parameters["decoder.bias"]
    return Said(
        weights_of(parameters, attention, states), [linear(weight, h, bias) for h in states]
    )


class Said:
    """One text: its attention and each token's logits, bias included."""

    def __init__(self, weights: Vector, logits: list[Vector]) -> None:
        self.weights, self.logits = weights, logits

    def probabilities(self) -> Vector:
        """Of the classes, by the weighted mean of the tokens' logits."""
        scores = [
            math.fsum(a * z[c] for a, z in zip(self.weights, self.logits, strict=True))
            for c in range(len(self.logits[0]))
        ]
        scores = [0.0, *scores] if len(scores) == 1 else scores
        total = math.fsum(math.exp(score) for score in scores)
        return [math.exp(score) / total for score in scores]

    def mass_agreeing(self) -> float:
        agree = self._agreeing()
        return math.fsum(a for a, same in zip(self.weights, agree, strict=True) if same)

    def tokens_agreeing(self) -> float:
        agree = self._agreeing()
        return sum(agree) / len(agree)

    def _agreeing(self) -> list[bool]:
        p = self.probabilities()
        decision = p.index(max(p))
        return [_decision(z) == decision for z in self.logits]


def _decision(logits: Vector) -> int:
    return int(logits[0] > 0) if len(logits) == 1 else logits.index(max(logits))
