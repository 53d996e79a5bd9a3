"""Layer-wise relevance propagation for one text, neuron by neuron (Arras et al. 2017, §3).

Every sum z_j = Σ_i z_ij + b_j hands R_j · z_ij / (z_j + ε·sign z_j) to its terms; gates and
attention get nothing, squashings hand on what comes. Parameters as in `reference.one_text`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from reference.one_text import linear, weights_of

Vector = list[float]
Parameters = dict[str, Any]


def relevance(
    parameters: Parameters,
    encoder: str,
    attention: str,
    layers: int,
    tokens: list[int],
    start: Vector,
    epsilon: float,
) -> Vector:
    """The relevance of every token, start and end included; `start[c]` times logit c is what
    is explained."""
    x = [parameters["embedding.weight"][token] for token in tokens]
    tapes = []
    for layer in range(layers):
        tape = TAPES[encoder](parameters, layer, x)
        tapes.append(tape)
        x = tape["states"]
    below = top(parameters, attention, x, start, epsilon)
    for layer in reversed(range(layers)):
        below = BACK[encoder](parameters, layer, tapes[layer], below, epsilon)
    return [math.fsum(row) for row in below]


def top(
    parameters: Parameters, attention: str, states: list[Vector], start: Vector, epsilon: float
) -> list[Vector]:
    """From the logits to the states: decoder, then the weighted sum."""
    inner, size = states[1:-1], len(states[0])
    weights = weights_of(parameters, attention, inner)
    parts = list(zip(weights, inner, strict=True))
    context = [math.fsum(weight * h[d] for weight, h in parts) for d in range(size)]
    from_context = [0.0] * size
    for c, row in enumerate(parameters["decoder.weight"]):
        z = math.fsum(row[d] * context[d] for d in range(size)) + parameters["decoder.bias"][c]
        for d in range(size):
            from_context[d] += share(row[d] * context[d], z, start[c] * z, epsilon)
    out = [[0.0] * size for _ in states]
    for t, (weight, state) in enumerate(parts):
        for d in range(size):
            part = share(weight * state[d], context[d], from_context[d], epsilon)
            out[t + 1][d] = part
    return out


def share(part: float, whole: float, arriving: float, epsilon: float) -> float:
    sign = 1.0 if whole >= 0 else -1.0
    return arriving * part / (whole + epsilon * sign) if arriving else 0.0


def lstm_tape(parameters: Parameters, layer: int, x: list[Vector]) -> dict[str, Any]:
    forth = walk(parameters, layer, "l0", x)
    return {"x": x, "forth": forth, "states": forth["h"][1:]}


def both_ways(
    walk: Callable[..., dict[str, Any]], parameters: Parameters, layer: int, x: list[Vector]
) -> dict[str, Any]:
    """A walk from the left and one from the right, side by side in the states."""
    forth, back = walk(parameters, layer, "l0", x), walk(parameters, layer, "l0_reverse", x[::-1])
    states = [a + b for a, b in zip(forth["h"][1:], back["h"][:0:-1], strict=True)]
    return {"x": x, "forth": forth, "back": back, "states": states}


def lstm_back(
    parameters: Parameters, layer: int, tape: dict[str, Any], above: list[Vector], epsilon: float
) -> list[Vector]:
    return walk_back(parameters, layer, "l0", tape["x"], tape["forth"], above, epsilon)


def both_ways_back(
    walk_back: Callable[..., list[Vector]],
    parameters: Parameters,
    layer: int,
    tape: dict[str, Any],
    above: list[Vector],
    epsilon: float,
) -> list[Vector]:
    size, x = len(above[0]) // 2, tape["x"]
    left, right = [row[:size] for row in above], [row[size:] for row in above][::-1]
    forth = walk_back(parameters, layer, "l0", x, tape["forth"], left, epsilon)
    back = walk_back(parameters, layer, "l0_reverse", x[::-1], tape["back"], right, epsilon)
    return [
        [a + b for a, b in zip(one, two, strict=True)]
        for one, two in zip(forth, back[::-1], strict=True)
    ]


def walk(parameters: Parameters, layer: int, name: str, x: list[Vector]) -> dict[str, Any]:
    """Everything a step computes; h[0] and c[0] are the zeros before the text."""
    w_x, w_h, bias = lstm_parameters(parameters, layer, name)
    size = len(w_h) // 4
    tape: dict[str, Any] = {"h": [[0.0] * size], "c": [[0.0] * size], "total": []}
    for token in x:
        h, c = tape["h"][-1], tape["c"][-1]
        total = [
            math.fsum(a * b for a, b in zip(w_x[r], token, strict=True))
            + math.fsum(a * b for a, b in zip(w_h[r], h, strict=True))
            + bias[r]
            for r in range(4 * size)
        ]
        cell = [
            sigmoid(total[size + d]) * c[d] + sigmoid(total[d]) * math.tanh(total[2 * size + d])
            for d in range(size)
        ]
        tape["total"].append(total)
        tape["c"].append(cell)
        tape["h"].append([sigmoid(total[3 * size + d]) * math.tanh(cell[d]) for d in range(size)])
    return tape


def walk_back(
    parameters: Parameters,
    layer: int,
    name: str,
    x: list[Vector],
    tape: dict[str, Any],
    above: list[Vector],
    epsilon: float,
) -> list[Vector]:
    w_x, w_h, _ = lstm_parameters(parameters, layer, name)
    size = len(w_h) // 4
    out = [[0.0] * len(token) for token in x]
    later_h, later_c = [0.0] * size, [0.0] * size
    for t in reversed(range(len(x))):
        total, before_h, before_c, cell = (
            tape["total"][t],
            tape["h"][t],
            tape["c"][t],
            tape["c"][t + 1],
        )
        next_h, next_c = [0.0] * size, [0.0] * size
        for d in range(size):
            # h = o ⊙ tanh(c): the output gate gets nothing
            arriving = above[t][d] + later_h[d] + later_c[d]
            forget, enter = sigmoid(total[size + d]), sigmoid(total[d])
            candidate = total[2 * size + d]
            next_c[d] = share(forget * before_c[d], cell[d], arriving, epsilon)
            to_candidate = share(enter * math.tanh(candidate), cell[d], arriving, epsilon)
            row = 2 * size + d
            for e, value in enumerate(x[t]):
                out[t][e] += share(w_x[row][e] * value, candidate, to_candidate, epsilon)
            for k, value in enumerate(before_h):
                next_h[k] += share(w_h[row][k] * value, candidate, to_candidate, epsilon)
        later_h, later_c = next_h, next_c
    return out


def lstm_parameters(
    parameters: Parameters, layer: int, name: str
) -> tuple[list[Vector], list[Vector], Vector]:
    prefix = f"encoder.stack.{layer}."
    biases = parameters[f"{prefix}bias_ih_{name}"], parameters[f"{prefix}bias_hh_{name}"]
    bias = [a + b for a, b in zip(*biases, strict=True)]
    return parameters[f"{prefix}weight_ih_{name}"], parameters[f"{prefix}weight_hh_{name}"], bias


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cnn_tape(parameters: Parameters, layer: int, x: list[Vector]) -> dict[str, Any]:
    totals = [
        [
            math.fsum(part for *_, part in window(kernel[f], x, place)) + bias[f]
            for kernel, bias in kernels(parameters, layer)
            for f in range(len(kernel))
        ]
        for place in range(len(x))
    ]
    return {"x": x, "totals": totals, "states": [[max(0.0, z) for z in row] for row in totals]}


def cnn_back(
    parameters: Parameters, layer: int, tape: dict[str, Any], above: list[Vector], epsilon: float
) -> list[Vector]:
    x = tape["x"]
    out = [[0.0] * len(token) for token in x]
    for place in range(len(x)):
        f = 0
        for kernel, _ in kernels(parameters, layer):
            for filter_ in kernel:
                whole, arriving = tape["totals"][place][f], above[place][f]
                for seen, d, part in window(filter_, x, place):
                    out[seen][d] += share(part, whole, arriving, epsilon)
                f += 1
    return out


def kernels(parameters: Parameters, layer: int) -> list[tuple[Any, Vector]]:
    prefix = f"encoder.stack.{layer}.convolutions."
    number = sum(name.startswith(prefix) for name in parameters) // 2
    pairs = [(f"{prefix}{n}.weight", f"{prefix}{n}.bias") for n in range(number)]
    return [(parameters[weight], parameters[bias]) for weight, bias in pairs]


def window(kernel: list[Vector], x: list[Vector], place: int) -> list[tuple[int, int, float]]:
    """The terms of one filter's sum: (position, dimension, value)."""
    width = len(kernel[0])
    return [
        (place + offset - width // 2, d, kernel[d][offset] * x[place + offset - width // 2][d])
        for offset in range(width)
        if 0 <= place + offset - width // 2 < len(x)
        for d in range(len(kernel))
    ]


def average_tape(parameters: Parameters, layer: int, x: list[Vector]) -> dict[str, Any]:
    matrix, bias = average_parameters(parameters, layer)
    totals = [
        [
            math.fsum(a * b for a, b in zip(row, h, strict=True)) + c
            for row, c in zip(matrix, bias, strict=True)
        ]
        for h in x
    ]
    return {"x": x, "totals": totals, "states": [[math.tanh(z) for z in row] for row in totals]}


def average_back(
    parameters: Parameters, layer: int, tape: dict[str, Any], above: list[Vector], epsilon: float
) -> list[Vector]:
    matrix, _ = average_parameters(parameters, layer)
    return [
        [
            math.fsum(
                share(matrix[j][i] * value, tape["totals"][t][j], above[t][j], epsilon)
                for j in range(len(matrix))
            )
            for i, value in enumerate(token)
        ]
        for t, token in enumerate(tape["x"])
    ]


def average_parameters(parameters: Parameters, layer: int) -> tuple[list[Vector], Vector]:
    prefix = f"encoder.layers.{layer}."
    return parameters[f"{prefix}weight"], parameters[f"{prefix}bias"]


def none_tape(parameters: Parameters, layer: int, x: list[Vector]) -> dict[str, Any]:
    return {"states": x}


def none_back(
    parameters: Parameters, layer: int, tape: dict[str, Any], above: list[Vector], epsilon: float
) -> list[Vector]:
    return above


def gru_walk(parameters: Parameters, layer: int, name: str, x: list[Vector]) -> dict[str, Any]:
    """Both gates and the candidate before its tanh, at every step; h[0] is zero."""
    prefix = f"encoder.stack.{layer}."
    w_x, w_h = parameters[f"{prefix}weight_ih_{name}"], parameters[f"{prefix}weight_hh_{name}"]
    b_x, b_h = parameters[f"{prefix}bias_ih_{name}"], parameters[f"{prefix}bias_hh_{name}"]
    size = len(w_h) // 3
    tape: dict[str, Any] = {"h": [[0.0] * size], "reset": [], "update": [], "candidate": []}
    for token in x:
        h = tape["h"][-1]
        seen, kept = linear(w_x, token, b_x), linear(w_h, h, b_h)
        reset = [sigmoid(seen[d] + kept[d]) for d in range(size)]
        update = [sigmoid(seen[size + d] + kept[size + d]) for d in range(size)]
        candidate = [seen[2 * size + d] + reset[d] * kept[2 * size + d] for d in range(size)]
        new = [
            (1 - u) * math.tanh(c) + u * old for u, c, old in zip(update, candidate, h, strict=True)
        ]
        for key, value in (("reset", reset), ("update", update), ("candidate", candidate)):
            tape[key].append(value)
        tape["h"].append(new)
    return tape


def gru_walk_back(
    parameters: Parameters,
    layer: int,
    name: str,
    x: list[Vector],
    tape: dict[str, Any],
    above: list[Vector],
    epsilon: float,
) -> list[Vector]:
    """h = (1 − z)·tanh(a) + z·h′ with a = W x + b + r·(U h′ + b′): the gates z, r get nothing."""
    prefix = f"encoder.stack.{layer}."
    w_x, w_h = parameters[f"{prefix}weight_ih_{name}"], parameters[f"{prefix}weight_hh_{name}"]
    size = len(w_h) // 3
    out = [[0.0] * len(token) for token in x]
    later = [0.0] * size
    for t in reversed(range(len(x))):
        before, h = tape["h"][t], tape["h"][t + 1]
        reset, update, candidate = (tape[key][t] for key in ("reset", "update", "candidate"))
        earlier = [0.0] * size
        for d in range(size):
            arriving, row = above[t][d] + later[d], 2 * size + d
            earlier[d] += share(update[d] * before[d], h[d], arriving, epsilon)
            signal = (1 - update[d]) * math.tanh(candidate[d])
            to_candidate = share(signal, h[d], arriving, epsilon)
            for e, value in enumerate(x[t]):
                out[t][e] += share(w_x[row][e] * value, candidate[d], to_candidate, epsilon)
            for k, value in enumerate(before):
                part = reset[d] * w_h[row][k] * value
                earlier[k] += share(part, candidate[d], to_candidate, epsilon)
        later = earlier
    return out


TAPES = {
    "lstm": lstm_tape,
    "bilstm": partial(both_ways, walk),
    "cnn": cnn_tape,
    "average": average_tape,
    "bigru": partial(both_ways, gru_walk),
    "conv": cnn_tape,
    "none": none_tape,
}
BACK = {
    "lstm": lstm_back,
    "bilstm": partial(both_ways_back, walk_back),
    "cnn": cnn_back,
    "average": average_back,
    "bigru": partial(both_ways_back, gru_walk_back),
    "conv": cnn_back,
    "none": none_back,
}
