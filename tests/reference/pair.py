"""Two texts, number by number: jain2019's with a question, Rocktäschel et al. 2016, and the
decoder of vashishth2019 that sees the context alone."""

from __future__ import annotations

import math
from typing import Any

from reference import chain
from reference.encoders import ENCODERS, lstm_walk
from reference.hierarchical import mixed
from reference.one_text import SPARSE, gates, linear, softmax

Vector = list[float]
Parameters = dict[str, Any]


def forward(
    parameters: Parameters,
    parts: tuple[str, str, str],
    layers: int,
    a: list[int],
    b: list[int],
) -> tuple[Vector, Vector]:
    """Logits, and the attention on each real token of a; `parts` are the names of encoder,
    attention and decoder."""
    encoder, attention, decoder = parts
    x = [parameters["embeddings.a.weight"][token] for token in a]
    y = [parameters["embeddings.b.weight"][token] for token in b]
    states, query = encode(parameters, encoder, layers, x, y)
    states = states[1:-1]
    scores = [score(parameters, attention, state, query) for state in states]
    if attention == "structured":
        weights = chain.weights(scores, parameters["attention.weighting.transitions"])
    else:
        weights = {"gate": gates, **SPARSE}.get(attention, softmax)(scores)
    context = mixed(weights, states)
    bias = parameters["decoder.final.bias"]
    if decoder == "context":
        return linear(parameters["decoder.final.weight"], context, bias), weights
    hidden = [math.tanh(z) for z in both(parameters, "decoder", context, query)]
    return linear(parameters["decoder.final.weight"], hidden, bias), weights


def encode(
    parameters: Parameters, encoder: str, layers: int, x: list[Vector], y: list[Vector]
) -> tuple[list[Vector], Vector]:
    """The states of a, and the query."""
    if encoder == "conditional":
        states, end = lstm_walk(parameters, "encoder.a.", "l0", x)
        return states, lstm_walk(parameters, "encoder.b.", "l0", y, end)[1][0]
    mine, theirs = (
        {
            key.replace(f"encoder.{side}.", "encoder."): value
            for key, value in parameters.items()
            if key.startswith(f"encoder.{side}.")
        }
        for side in ("a", "b")
    )
    return ENCODERS[encoder](mine, x, layers), last(encoder, ENCODERS[encoder](theirs, y, layers))


def last(encoder: str, states: list[Vector]) -> Vector:
    """What a recurrent encoder ends with, in each direction; else the mean over real tokens."""
    half = len(states[0]) // 2
    if encoder in ("lstm", "orthogonal"):
        return states[-1]
    if encoder in ("bilstm", "bigru"):
        return states[-1][:half] + states[0][half:]
    real = states[1:-1]
    return [math.fsum(column) / len(real) for column in zip(*real, strict=True)]


def score(parameters: Parameters, attention: str, state: Vector, query: Vector) -> float:
    if attention == "dot":
        return math.fsum(map(math.prod, zip(state, query, strict=True))) / math.sqrt(len(state))
    (v,) = parameters["attention.score.weight"]
    hidden = both(parameters, "attention", state, query)
    return math.fsum(w * math.tanh(z) for w, z in zip(v, hidden, strict=True))


def both(parameters: Parameters, name: str, x: Vector, query: Vector) -> Vector:
    """W x + W_q q + b."""
    matrix, bias = parameters[f"{name}.project.weight"], parameters[f"{name}.project.bias"]
    other = parameters[f"{name}.project_query.weight"]
    one = linear(matrix, x, bias)
    return [a + b for a, b in zip(one, linear(other, query, [0.0] * len(bias)), strict=True)]
