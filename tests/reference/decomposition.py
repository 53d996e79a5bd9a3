"""BERT taken apart by tokens, one text, part by part, as the papers write it.

DecompX (Modarressi et al. 2023), GlobEnc (Modarressi et al. 2022, N_ENC), ALTI (Ferrando et al.
2022) and value zeroing (Mohebbi et al. 2023). Parameters are NumPy arrays under their names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit, softmax

from reference.attnlrp import rms, rotated, rotations
from reference.lrp_bert import Parameters, affine, layer_norm

Array = NDArray[np.float64]


def decompx(
    parameters: Parameters, tokens: list[int], label: int, layers: int, heads: int
) -> list[float]:
    """Each token's part of the label's logit."""
    x = embedded(parameters, tokens)
    parts = diagonal(x)
    for layer in range(layers):
        name = f"bert.encoder.layer.{layer}."
        middle, parts = attended(parameters, name, x, parts, heads, biased=True)
        wide = affine(parameters, f"{name}intermediate.dense", middle)
        slope = 0.5 * (1 + erf(wide / 2**0.5))
        apart = [slope * z for z in moved(parameters, f"{name}intermediate.dense", parts, True)]
        apart = moved(parameters, f"{name}output.dense", apart, True)
        narrow = affine(parameters, f"{name}output.dense", wide * slope)
        apart = [z + part for z, part in zip(apart, parts, strict=True)]
        parts = normed(parameters, f"{name}output.LayerNorm", apart, narrow + middle, True)
        x, _ = layer_norm(parameters, f"{name}output.LayerNorm", narrow + middle)
    pooled = affine(parameters, "bert.pooler.dense", x[:1])
    firsts = moved(parameters, "bert.pooler.dense", [part[:1] for part in parts], True)
    squashed = [np.tanh(pooled) / pooled * first for first in firsts]
    return [float(z[0, label]) for z in moved(parameters, "classifier", squashed, True)]


def decompx_llama(parameters, tokens, label, config):  # type: ignore[no-untyped-def]
    """The same through a Llama; what a gate lets through is half the gate's, half the signal's."""
    x = parameters["model.embed_tokens.weight"][tokens]
    parts = diagonal(x)
    for layer in range(config.num_hidden_layers):
        name = f"model.layers.{layer}."
        apart = scaled(parameters, f"{name}input_layernorm", parts, x, config)
        joined = [np.zeros_like(z) for z in parts]
        heads, size = config.num_attention_heads, x.shape[1] // config.num_attention_heads
        weights = llama_weights(parameters, name, x, config)
        value, out = (parameters[f"{name}self_attn.{n}_proj.weight"].T for n in "vo")
        for h in range(heads):
            shared = h * config.num_key_value_heads // heads
            own = value[:, shared * size : (shared + 1) * size] @ out[h * size : (h + 1) * size]
            joined = [z + weights[h] @ part @ own for z, part in zip(joined, apart, strict=True)]
        parts = [z + part for z, part in zip(joined, parts, strict=True)]
        x = sum(parts)
        apart = scaled(parameters, f"{name}post_attention_layernorm", parts, x, config)
        gates, signals = (
            [z @ parameters[f"{name}mlp.{n}_proj.weight"].T for z in apart] for n in ("gate", "up")
        )
        slope, signal = expit(sum(gates)), sum(signals)
        gate = slope * sum(gates)
        products = [
            (slope * g * signal + gate * s) / 2 for g, s in zip(gates, signals, strict=True)
        ]
        down = parameters[f"{name}mlp.down_proj.weight"].T
        parts = [z + product @ down for z, product in zip(parts, products, strict=True)]
        x = sum(parts)
    last = scaled(parameters, "model.norm", parts, x, config)
    return [float(z[-1] @ parameters["score.weight"][label]) for z in last]


def scaled(parameters, name, parts, total, config):  # type: ignore[no-untyped-def]
    whole = np.where(total == 0, 1.0, total)
    factor = rms(parameters, name, total, config) / whole
    return [z * factor for z in parts]


def llama_weights(parameters, name, x, config):  # type: ignore[no-untyped-def]
    heads, size = config.num_attention_heads, x.shape[1] // config.num_attention_heads
    normed = rms(parameters, f"{name}input_layernorm", x, config)
    turn = rotations(len(x), size, config.rope_parameters["rope_theta"])
    query, key = (
        rotated(normed @ parameters[f"{name}self_attn.{n}_proj.weight"].T, turn) for n in "qk"
    )
    weights = []
    for h in range(heads):
        shared = h * config.num_key_value_heads // heads
        q, k = query[:, h * size : (h + 1) * size], key[:, shared * size : (shared + 1) * size]
        scores = np.where(np.tril(np.ones((len(x),) * 2)) > 0, q @ k.T / size**0.5, -np.inf)
        weights.append(softmax(scores, -1))
    return weights


def globenc(parameters: Parameters, tokens: list[int], layers: int, heads: int) -> Array:
    def consists(name: str, x: Array) -> Array:
        middle, parts = attended(parameters, name, x, diagonal(x), heads, biased=False)
        wide = affine(parameters, f"{name}intermediate.dense", middle)
        active = wide * 0.5 * (1 + erf(wide / 2**0.5))
        total = affine(parameters, f"{name}output.dense", active) + middle
        scaled = normed(parameters, f"{name}output.LayerNorm", parts, total, False)
        return np.array([[np.linalg.norm(z[i]) for z in scaled] for i in range(len(x))])

    return rolled_out(parameters, tokens, layers, heads, consists)


def alti(parameters: Parameters, tokens: list[int], layers: int, heads: int) -> Array:
    def consists(name: str, x: Array) -> Array:
        y, parts = attended(parameters, name, x, diagonal(x), heads, biased=False)
        size = np.abs(y).sum(-1)
        return np.array(
            [[max(0.0, size[i] - np.abs(y[i] - z[i]).sum()) for z in parts] for i in range(len(x))]
        )

    return rolled_out(parameters, tokens, layers, heads, consists)


def value_zeroing(parameters: Parameters, tokens: list[int], layers: int, heads: int) -> Array:
    def consists(name: str, x: Array) -> Array:
        whole = layer_of(parameters, name, x, heads)
        found = np.zeros((len(x), len(x)))
        for j in range(len(x)):
            less = layer_of(parameters, name, x, heads, without=j)
            for i in range(len(x)):
                lengths = np.linalg.norm(less[i]) * np.linalg.norm(whole[i])
                found[i, j] = 1 - less[i] @ whole[i] / lengths
        return found

    return rolled_out(parameters, tokens, layers, heads, consists)


def rolled_out(parameters, tokens, layers, heads, consists):  # type: ignore[no-untyped-def]
    """The first token's row of the product: BERT's classifier reads it."""
    x = embedded(parameters, tokens)
    product = np.eye(len(x))
    for layer in range(layers):
        name = f"bert.encoder.layer.{layer}."
        matrix = consists(name, x)
        product = matrix / matrix.sum(-1, keepdims=True) @ product
        x = layer_of(parameters, name, x, heads)
    return product[0]


def embedded(parameters: Parameters, tokens: list[int]) -> Array:
    prefix = "bert.embeddings."
    total = parameters[f"{prefix}word_embeddings.weight"][tokens]
    total = total + parameters[f"{prefix}position_embeddings.weight"][: len(tokens)]
    total = total + parameters[f"{prefix}token_type_embeddings.weight"][0]
    return layer_norm(parameters, f"{prefix}LayerNorm", total)[0]


def diagonal(x: Array) -> list[Array]:
    parts = [np.zeros_like(x) for _ in x]
    for k, part in enumerate(parts):
        part[k] = x[k]
    return parts


def weights_of(parameters: Parameters, name: str, x: Array, heads: int) -> list[Array]:
    query, key = (affine(parameters, f"{name}attention.self.{n}", x) for n in ("query", "key"))
    size = x.shape[1] // heads
    columns = [slice(h * size, (h + 1) * size) for h in range(heads)]
    return [softmax(query[:, c] @ key[:, c].T / size**0.5, -1) for c in columns]


def layer_of(
    parameters: Parameters, name: str, x: Array, heads: int, without: int | None = None
) -> Array:
    value = affine(parameters, f"{name}attention.self.value", x)
    if without is not None:
        value[without] = 0.0
    size = x.shape[1] // heads
    weights = weights_of(parameters, name, x, heads)
    context = np.hstack([w @ value[:, h * size : (h + 1) * size] for h, w in enumerate(weights)])
    mixed = affine(parameters, f"{name}attention.output.dense", context)
    middle, _ = layer_norm(parameters, f"{name}attention.output.LayerNorm", mixed + x)
    wide = affine(parameters, f"{name}intermediate.dense", middle)
    narrow = affine(parameters, f"{name}output.dense", wide * 0.5 * (1 + erf(wide / 2**0.5)))
    return layer_norm(parameters, f"{name}output.LayerNorm", narrow + middle)[0]


def attended(parameters, name, x, parts, heads, biased):  # type: ignore[no-untyped-def]
    """The attention block's output, and its parts. Each value has its own bias in any case."""
    size = x.shape[1] // heads
    weights = weights_of(parameters, name, x, heads)
    apart = []
    for z in moved(parameters, f"{name}attention.self.value", parts, True):
        columns = [z[:, h * size : (h + 1) * size] for h in range(heads)]
        apart.append(np.hstack([w @ c for w, c in zip(weights, columns, strict=True)]))
    apart = moved(parameters, f"{name}attention.output.dense", apart, biased)
    apart = [z + part for z, part in zip(apart, parts, strict=True)]
    value = affine(parameters, f"{name}attention.self.value", x)
    context = np.hstack([w @ value[:, h * size : (h + 1) * size] for h, w in enumerate(weights)])
    total = affine(parameters, f"{name}attention.output.dense", context) + x
    y, _ = layer_norm(parameters, f"{name}attention.output.LayerNorm", total)
    return y, normed(parameters, f"{name}attention.output.LayerNorm", apart, total, biased)


def moved(parameters: Parameters, name: str, parts: list[Array], biased: bool) -> list[Array]:
    apart = [part @ parameters[f"{name}.weight"].T for part in parts]
    return shared(apart, parameters[f"{name}.bias"]) if biased else apart


def normed(parameters, name, parts, total, biased):  # type: ignore[no-untyped-def]
    sigma = np.sqrt(total.var(-1, keepdims=True) + 1e-12)
    weight, bias = parameters[f"{name}.weight"], parameters[f"{name}.bias"]
    apart = [(z - z.mean(-1, keepdims=True)) / sigma * weight for z in parts]
    return shared(apart, bias) if biased else apart


def shared(parts: list[Array], bias: Array) -> list[Array]:
    """Each position's bias, by |bᵀz_k| / Σ_j |bᵀz_j|."""
    result = [part.copy() for part in parts]
    for i in range(len(parts[0])):
        sizes = [abs(float(part[i] @ bias)) for part in parts]
        for part, size in zip(result, sizes, strict=True):
            part[i] += size / sum(sizes) * bias
    return result
