"""Layer-wise relevance propagation through a BERT classifier, one text, step by step.

Ali et al. 2022: attention weights and standard deviations are constants, everything else is a
sum whose parts get their share. Parameters are NumPy arrays under their names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, softmax

Array = NDArray[np.float64]
Parameters = dict[str, Array]


def relevance(
    parameters: Parameters, tokens: list[int], label: int, layers: int, heads: int
) -> Array:
    """Of each token's word embedding, start and end included."""
    prefix = "bert.embeddings."
    word = parameters[f"{prefix}word_embeddings.weight"][tokens]
    place = parameters[f"{prefix}position_embeddings.weight"][: len(tokens)]
    total = word + place + parameters[f"{prefix}token_type_embeddings.weight"][0]
    x, norm = layer_norm(parameters, f"{prefix}LayerNorm", total)
    back = [norm]
    for layer in range(layers):
        x, steps = block(parameters, f"bert.encoder.layer.{layer}.", x, heads)
        back.append(steps)
    pooled = affine(parameters, "bert.pooler.dense", x[:1])
    squashed = np.tanh(pooled)
    logits = affine(parameters, "classifier", squashed)
    start = np.zeros_like(logits)
    start[0, label] = logits[0, label]
    arriving = shares(parameters, "classifier", squashed, logits, start)
    below = np.zeros_like(x)
    below[:1] = shares(parameters, "bert.pooler.dense", x[:1], pooled, arriving)
    for steps in reversed(back):
        below = steps(below)
    return (below * word / total).sum(-1)


def block(parameters: Parameters, prefix: str, x: Array, heads: int):  # type: ignore[no-untyped-def]
    """A layer's output, and how relevance goes back through it."""
    own = f"{prefix}attention.self."
    query, key, value = (affine(parameters, f"{own}{n}", x) for n in ("query", "key", "value"))
    size = x.shape[1] // heads
    parts = [slice(h * size, (h + 1) * size) for h in range(heads)]
    weights = [softmax(query[:, p] @ key[:, p].T / size**0.5, -1) for p in parts]
    context = np.hstack([w @ value[:, p] for w, p in zip(weights, parts, strict=True)])
    mixed = affine(parameters, f"{prefix}attention.output.dense", context)
    middle, norm_one = layer_norm(parameters, f"{prefix}attention.output.LayerNorm", mixed + x)
    wide = affine(parameters, f"{prefix}intermediate.dense", middle)
    active = wide * 0.5 * (1 + erf(wide / 2**0.5))
    narrow = affine(parameters, f"{prefix}output.dense", active)
    out, norm_two = layer_norm(parameters, f"{prefix}output.LayerNorm", narrow + middle)

    def back(above: Array) -> Array:
        above = norm_two(above)
        to_narrow = above * narrow / (narrow + middle)
        to_active = shares(parameters, f"{prefix}output.dense", active, narrow, to_narrow)
        to_middle = shares(parameters, f"{prefix}intermediate.dense", middle, wide, to_active)
        to_sum = norm_one(to_middle + above - to_narrow)
        to_mixed = to_sum * mixed / (mixed + x)
        to_context = shares(parameters, f"{prefix}attention.output.dense", context, mixed, to_mixed)
        to_value = np.hstack(
            [
                value[:, p] * (w.T @ (to_context[:, p] / context[:, p]))
                for w, p in zip(weights, parts, strict=True)
            ]
        )
        return shares(parameters, f"{own}value", x, value, to_value) + to_sum - to_mixed

    return out, back


def affine(parameters: Parameters, name: str, x: Array) -> Array:
    return x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def shares(parameters: Parameters, name: str, x: Array, z: Array, arriving: Array) -> Array:
    """R_i = Σ_j x_i w_ji / z_j · R_j."""
    shared: Array = x * ((arriving / z) @ parameters[f"{name}.weight"])
    return shared


def layer_norm(parameters: Parameters, name: str, x: Array):  # type: ignore[no-untyped-def]
    """As a matrix: y_j = Σ_i (δ_ij − 1/n) w_j / σ · x_i + b_j."""
    weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
    n = x.shape[1]
    sigma = np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    centre = (np.eye(n) - 1 / n) * weight  # [i, j]
    y = x @ centre / sigma + bias
    return y, lambda arriving: x * ((arriving / y / sigma) @ centre.T)
