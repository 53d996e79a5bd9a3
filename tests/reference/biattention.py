"""Two texts that attend to each other, number by number (Seo et al. 2017, §2.4)."""

from __future__ import annotations

import math
from typing import Any

from reference.encoders import ENCODERS
from reference.hierarchical import mixed
from reference.one_text import linear, softmax

Vector = list[float]
Parameters = dict[str, Any]


def forward(
    parameters: Parameters, encoder: str, attention: str, a: list[int], b: list[int]
) -> tuple[Vector, list[Vector], Vector]:
    """Logits; for each real token of a, its weights on b; the weights on a."""
    h, g = (states(parameters, encoder, side, tokens) for side, tokens in (("a", a), ("b", b)))
    table = [[similarity(parameters, attention, x, y) for y in g] for x in h]
    to_question = [softmax(row) for row in table]
    to_text = softmax([max(row) for row in table])
    rows = []
    for state, weights in zip(h, to_question, strict=True):
        seen = mixed(weights, g)
        rows.append([*state, *seen, *map(math.prod, zip(state, seen, strict=True))])
    matrix, bias = parameters["decoder.weight"], parameters["decoder.bias"]
    return linear(matrix, mixed(to_text, rows), bias), to_question, to_text


def states(parameters: Parameters, encoder: str, side: str, tokens: list[int]) -> list[Vector]:
    prefix = f"encoder.{side}."
    mine = {
        key.replace(prefix, "encoder."): value
        for key, value in parameters.items()
        if key.startswith(prefix)
    }
    embedded = [parameters[f"embeddings.{side}.weight"][token] for token in tokens]
    return ENCODERS[encoder](mine, embedded, 1)[1:-1]


def similarity(parameters: Parameters, attention: str, h: Vector, g: Vector) -> float:
    both = [x * y for x, y in zip(h, g, strict=True)]
    if attention == "dot":
        return math.fsum(both) / math.sqrt(len(h))
    (text,), (question,) = (parameters[f"attention.{each}.weight"] for each in ("text", "question"))
    w = [*text, *question, *parameters["attention.both"]]
    return math.fsum(map(math.prod, zip(w, [*h, *g, *both], strict=True)))
