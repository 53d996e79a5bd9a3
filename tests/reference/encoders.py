"""The encoders for one text: lists of embeddings to lists of states, one token at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Vector = list[float]
Parameters = dict[str, Any]


def lstm(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    for layer in range(layers):
        x = direction(parameters, f"encoder.stack.{layer}.", "l0", x)
    return x


def bilstm(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    return both_ways(direction, parameters, x, layers)


def bigru(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    return both_ways(gru_direction, parameters, x, layers)


def both_ways(
    walk: Callable[..., list[Vector]], parameters: Parameters, x: list[Vector], layers: int
) -> list[Vector]:
    """Each layer sees both directions of the one below."""
    for layer in range(layers):
        prefix = f"encoder.stack.{layer}."
        forth = walk(parameters, prefix, "l0", x)
        back = walk(parameters, prefix, "l0_reverse", x[::-1])[::-1]
        x = [a + b for a, b in zip(forth, back, strict=True)]
    return x


def direction(parameters: Parameters, prefix: str, name: str, x: list[Vector]) -> list[Vector]:
    return lstm_walk(parameters, prefix, name, x)[0]


def lstm_walk(
    parameters: Parameters,
    prefix: str,
    name: str,
    x: list[Vector],
    start: tuple[Vector, Vector] | None = None,
) -> tuple[list[Vector], tuple[Vector, Vector]]:
    """Hochreiter & Schmidhuber 1997 with forget gates, cell by cell; gates as PyTorch has them.

    States, and the state and cell at the end."""
    w_x, w_h = parameters[f"{prefix}weight_ih_{name}"], parameters[f"{prefix}weight_hh_{name}"]
    b_x, b_h = parameters[f"{prefix}bias_ih_{name}"], parameters[f"{prefix}bias_hh_{name}"]
    size = len(w_h) // 4
    h, c = start or ([0.0] * size, [0.0] * size)
    states = []
    for token in x:
        total = [_dot(w_x[r], token) + b_x[r] + _dot(w_h[r], h) + b_h[r] for r in range(4 * size)]
        new_h, new_c = [], []
        for d in range(size):
            enter, forget = _sigmoid(total[d]), _sigmoid(total[size + d])
            candidate, leave = math.tanh(total[2 * size + d]), _sigmoid(total[3 * size + d])
            new_c.append(forget * c[d] + enter * candidate)
            new_h.append(leave * math.tanh(new_c[d]))
        h, c = new_h, new_c
        states.append(h)
    return states, (h, c)


def gru_direction(parameters: Parameters, prefix: str, name: str, x: list[Vector]) -> list[Vector]:
    """Cho et al. 2014, unit by unit; the reset gate acts on W h + b, as PyTorch has it."""
    w_x, w_h = parameters[f"{prefix}weight_ih_{name}"], parameters[f"{prefix}weight_hh_{name}"]
    b_x, b_h = parameters[f"{prefix}bias_ih_{name}"], parameters[f"{prefix}bias_hh_{name}"]
    size = len(w_h) // 3
    h = [0.0] * size
    states = []
    for token in x:
        seen = [_dot(w_x[r], token) + b_x[r] for r in range(3 * size)]
        kept = [_dot(w_h[r], h) + b_h[r] for r in range(3 * size)]
        new = []
        for d in range(size):
            reset, update = _sigmoid(seen[d] + kept[d]), _sigmoid(seen[size + d] + kept[size + d])
            candidate = math.tanh(seen[2 * size + d] + reset * kept[2 * size + d])
            new.append((1 - update) * candidate + update * h[d])
        h = new
        states.append(h)
    return states


def cnn(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    """jain2019's."""
    return convolutions(parameters, x, layers, (1, 3, 5, 7))


def conv(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    """serrano2019's."""
    return convolutions(parameters, x, layers, (3, 5))


def convolutions(
    parameters: Parameters, x: list[Vector], layers: int, widths: tuple[int, ...]
) -> list[Vector]:
    """Kernels side by side, ReLU; a window sees zeros beyond the text."""
    for layer in range(layers):
        states: list[Vector] = [[] for _ in x]
        for number, width in enumerate(widths):
            prefix = f"encoder.stack.{layer}.convolutions.{number}."
            kernel, bias = parameters[f"{prefix}weight"], parameters[f"{prefix}bias"]
            for place in range(len(x)):
                states[place] += [
                    max(0.0, _window(kernel[f], x, place, width) + bias[f])
                    for f in range(len(kernel))
                ]
        x = states
    return x


def average(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    """The released code's: a linear layer and tanh on each token."""
    for layer in range(layers):
        matrix = parameters[f"encoder.layers.{layer}.weight"]
        bias = parameters[f"encoder.layers.{layer}.bias"]
        x = [
            [math.tanh(_dot(row, token) + b) for row, b in zip(matrix, bias, strict=True)]
            for token in x
        ]
    return x


def none(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    """States are embeddings, however many layers."""
    return x


def orthogonal(parameters: Parameters, x: list[Vector], layers: int) -> list[Vector]:
    """mohankumar2020, §3.2: of every state its part along the mean of the earlier ones is taken
    away, and what is left goes on to the next step."""
    for layer in range(layers):
        states: list[Vector] = []
        cell = [0.0] * (len(parameters[f"encoder.stack.{layer}.weight_hh_l0"]) // 4)
        for token in x:
            start = (states[-1] if states else [0.0] * len(cell), cell)
            (state,), (_, cell) = lstm_walk(
                parameters, f"encoder.stack.{layer}.", "l0", [token], start
            )
            states.append(less_its_share(state, states))
        x = states
    return x


def less_its_share(state: Vector, earlier: list[Vector]) -> Vector:
    """h − (hᵀm / mᵀm) m, m the mean of the earlier states; h itself where m is 0."""
    if not earlier or not any(map(any, earlier)):
        return state
    mean = [math.fsum(column) / len(earlier) for column in zip(*earlier, strict=True)]
    share = _dot(state, mean) / _dot(mean, mean)
    return [h - share * m for h, m in zip(state, mean, strict=True)]


def wrapped(parameters: Parameters, name: str, x: list[Vector], layers: int) -> list[Vector]:
    """tutek2020: `base+concat` is [h; x], `base+residual` x + h; several are read from the left."""
    base, *wrappers = name.split("+")
    inner = "encoder." + "inner." * len(wrappers)
    mine = {key.replace(inner, "encoder."): value for key, value in parameters.items()}
    states = ENCODERS[base](mine, x, layers)
    for wrapper in wrappers:
        pairs = zip(states, x, strict=True)
        if wrapper == "concat":
            states = [h + e for h, e in pairs]
        else:
            states = [[a + b for a, b in zip(h, e, strict=True)] for h, e in pairs]
    return states


ENCODERS = {
    "lstm": lstm,
    "bilstm": bilstm,
    "cnn": cnn,
    "average": average,
    "bigru": bigru,
    "conv": conv,
    "none": none,
    "orthogonal": orthogonal,
}


def _window(kernel: list[Vector], x: list[Vector], place: int, width: int) -> float:
    terms = []
    for offset in range(width):
        seen = place + offset - width // 2
        if 0 <= seen < len(x):
            terms += [kernel[d][offset] * x[seen][d] for d in range(len(x[seen]))]
    return math.fsum(terms)


def _dot(a: Vector, b: Vector) -> float:
    return math.fsum(p * q for p, q in zip(a, b, strict=True))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
