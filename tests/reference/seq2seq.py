"""Translation with attention for one pair, number by number.

Bahdanau et al. 2015, §3: e_j = v · tanh(W s_{i−1} + U h_j), c_i = Σ_j α_j h_j, and s_i is made
of s_{i−1}, y_{i−1} and c_i. Luong et al. 2015, §3: h_t first, then a_t = softmax(h_t · h̄_s) or
softmax(h_t · W h̄_s), h̃_t = tanh(W_c [c_t; h_t]), and h̃_t is fed to the next step. The
recurrence is an LSTM in both.
"""

from __future__ import annotations

import math
from typing import Any

from reference.encoders import bilstm
from reference.one_text import linear, softmax

Vector = list[float]
Parameters = dict[str, Any]


def translate(
    p: Parameters, attention: str, layers: int, source: list[int], target: list[int]
) -> tuple[list[Vector], list[Vector]]:
    """Logits after each token of the target, and the weights on the source's real tokens."""
    states = bilstm(p, [p["embedding.weight"][token] for token in source], layers)
    size = len(states[0])
    summary = states[-1][: size // 2] + states[0][size // 2 :]
    first = [
        math.tanh(x) for x in linear(p["decoder.bridge.weight"], summary, p["decoder.bridge.bias"])
    ]
    memory = [
        (first[2 * n * size : (2 * n + 1) * size], first[(2 * n + 1) * size : (2 * n + 2) * size])
        for n in range(layers)
    ]
    attended = states[1:-1]
    fed = [0.0] * size
    logits, weights = [], []
    for token in target:
        word = p["target.embedding.weight"][token]
        if attention == "additive":
            alpha = softmax([_additive(p, memory[-1][0], h) for h in attended])
            context = _mixed(alpha, attended)
            memory = _recurrence(p, word + context, memory)
            read = context + memory[-1][0] + word
        else:
            memory = _recurrence(p, word + fed, memory)
            alpha = softmax([_product(p, attention, memory[-1][0], h) for h in attended])
            context = _mixed(alpha, attended)
            read = context + memory[-1][0]
        out = [
            math.tanh(x)
            for x in linear(p["decoder.combine.weight"], read, p["decoder.combine.bias"])
        ]
        fed = out
        table = p.get("target.output.weight", p["target.embedding.weight"])
        logits.append(linear(table, out, p["target.bias"]))
        weights.append(alpha)
    return logits, weights


def _additive(p: Parameters, asking: Vector, state: Vector) -> float:
    zero = [0.0] * len(asking)
    key = linear(p["decoder.asking.key.weight"], state, p["decoder.asking.key.bias"])
    query = linear(p["decoder.asking.query.weight"], asking, zero)
    (v,) = p["decoder.asking.score.weight"]
    return math.fsum(c * math.tanh(a + b) for a, b, c in zip(key, query, v, strict=True))


def _product(p: Parameters, attention: str, asking: Vector, state: Vector) -> float:
    if attention == "general":
        state = linear(p["decoder.asking.key.weight"], state, [0.0] * len(state))
    return math.fsum(a * b for a, b in zip(asking, state, strict=True))


def _mixed(alpha: Vector, states: list[Vector]) -> Vector:
    return [
        math.fsum(a * h[d] for a, h in zip(alpha, states, strict=True))
        for d in range(len(states[0]))
    ]


def _recurrence(
    p: Parameters, x: Vector, memory: list[tuple[Vector, Vector]]
) -> list[tuple[Vector, Vector]]:
    out = []
    for layer, (h, c) in enumerate(memory):
        prefix = f"decoder.cells.layers.{layer}."
        from_x = linear(p[f"{prefix}weight_ih"], x, p[f"{prefix}bias_ih"])
        from_h = linear(p[f"{prefix}weight_hh"], h, p[f"{prefix}bias_hh"])
        gates = [a + b for a, b in zip(from_x, from_h, strict=True)]
        size = len(h)
        new_h, new_c = [], []
        for d in range(size):
            enter, forget = _sigmoid(gates[d]), _sigmoid(gates[size + d])
            new_c.append(forget * c[d] + enter * math.tanh(gates[2 * size + d]))
            new_h.append(_sigmoid(gates[3 * size + d]) * math.tanh(new_c[d]))
        out.append((new_h, new_c))
        x = new_h
    return out


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
