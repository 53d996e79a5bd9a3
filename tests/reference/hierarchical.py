"""Yang et al. 2016 for one text: sentence by sentence, then the sentences, number by number."""

from __future__ import annotations

import math
from typing import Any

from reference.encoders import ENCODERS
from reference.one_text import linear, weights_of

Vector = list[float]
Parameters = dict[str, Any]


def forward(
    parameters: Parameters,
    encoder: str,
    attention: str,
    layers: int,
    sentences: list[list[int]],
) -> tuple[Vector, list[Vector], Vector]:
    """Logits, the weights in each sentence, and those of the sentences."""
    low, high = (level(parameters, name) for name in ("words", "sentences"))
    vectors, within = [], []
    for tokens in sentences:
        x = [parameters["embedding.weight"][token] for token in tokens]
        states = ENCODERS[encoder](low, x, layers)
        weights = weights_of(low, attention, states)
        within.append(weights)
        vectors.append(mixed(weights, states))
    states = ENCODERS[encoder](high, vectors, layers)
    over = weights_of(high, attention, states)
    context = mixed(over, states)
    logits = linear(parameters["decoder.weight"], context, parameters["decoder.bias"])
    return logits, within, over


def level(parameters: Parameters, name: str) -> Parameters:
    start = f"{name}."
    return {key[len(start) :]: value for key, value in parameters.items() if key.startswith(start)}


def mixed(weights: Vector, states: list[Vector]) -> Vector:
    return [
        math.fsum(weight * state[d] for weight, state in zip(weights, states, strict=True))
        for d in range(len(states[0]))
    ]
