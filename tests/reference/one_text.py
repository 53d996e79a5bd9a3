"""jain2019's one-sequence models for one text, number by number, as §2 and the appendix say.

Parameters are nested lists of floats under their names; a text is a list of token ids, of
which the first (start) and the last (end) pass the encoder but get no attention.
"""

from __future__ import annotations

import math
from typing import Any

from reference import chain
from reference.encoders import ENCODERS
from reference.sparse import entmax, sparsemax

SPARSE = {"sparsemax": sparsemax, "entmax": entmax}
Vector = list[float]
Parameters = dict[str, Any]


def forward(
    parameters: Parameters, encoder: str, attention: str, layers: int, tokens: list[int]
) -> tuple[Vector, Vector]:
    """Logits, and the attention on each real token."""
    embedded = [parameters["embedding.weight"][token] for token in tokens]
    states = ENCODERS[encoder](parameters, embedded, layers)[1:-1]
    weights = weights_of(parameters, attention, states)
    context = [
        math.fsum(weight * state[d] for weight, state in zip(weights, states, strict=True))
        for d in range(len(states[0]))
    ]
    return linear(parameters["decoder.weight"], context, parameters["decoder.bias"]), weights


def weights_of(parameters: Parameters, attention: str, states: list[Vector]) -> Vector:
    if attention == "gate":
        return gates(additive(parameters, states))
    if attention in SPARSE:
        return SPARSE[attention](additive(parameters, states))
    if attention == "structured":
        transitions = parameters["attention.weighting.transitions"]
        return chain.weights(additive(parameters, states), transitions)
    known = {"additive": additive, "dot": dot, "plain_dot": plain_dot, "unit_dot": unit_dot}
    scores = known[attention]
    return softmax(scores(parameters, states))


def additive(parameters: Parameters, states: list[Vector]) -> Vector:
    """v · tanh(W h + b)."""
    matrix, bias = parameters["attention.project.weight"], parameters["attention.project.bias"]
    (v,) = parameters["attention.score.weight"]
    scores = []
    for state in states:
        hidden = [math.tanh(value) for value in linear(matrix, state, bias)]
        scores.append(math.fsum(a * b for a, b in zip(v, hidden, strict=True)))
    return scores


def dot(parameters: Parameters, states: list[Vector]) -> Vector:
    """q · h / √H."""
    scale = math.sqrt(len(parameters["attention.query"]))
    return [score / scale for score in plain_dot(parameters, states)]


def plain_dot(parameters: Parameters, states: list[Vector]) -> Vector:
    """q · h."""
    query = parameters["attention.query"]
    return [math.fsum(a * b for a, b in zip(query, h, strict=True)) for h in states]


def unit_dot(parameters: Parameters, states: list[Vector]) -> Vector:
    """q · h / ‖h‖."""
    lengths = [math.sqrt(math.fsum(value**2 for value in h)) for h in states]
    products = plain_dot(parameters, states)
    return [product / length for product, length in zip(products, lengths, strict=True)]


def softmax(scores: Vector) -> Vector:
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def gates(scores: Vector) -> Vector:
    """σ of each, and no competition."""
    return [1 / (1 + math.exp(-score)) for score in scores]


def linear(matrix: list[Vector], x: Vector, bias: Vector) -> Vector:
    return [
        math.fsum(a * b for a, b in zip(row, x, strict=True)) + c
        for row, c in zip(matrix, bias, strict=True)
    ]
