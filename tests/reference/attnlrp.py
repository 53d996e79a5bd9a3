"""AttnLRP (Achtibat et al. 2024) through a BERT and a Llama classifier, one text, step by step.

Relevance itself is handed down here, rule by rule, and no gradient is taken. Parameters are NumPy
arrays under their names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit, softmax

from reference.lrp_bert import Parameters, affine, layer_norm, shares

Array = NDArray[np.float64]


def bert(parameters: Parameters, tokens: list[int], label: int, layers: int, heads: int) -> Array:
    """Of each token's word embedding, start and end included."""
    prefix = "bert.embeddings."
    word = parameters[f"{prefix}word_embeddings.weight"][tokens]
    place = parameters[f"{prefix}position_embeddings.weight"][: len(tokens)]
    total = word + place + parameters[f"{prefix}token_type_embeddings.weight"][0]
    x, norm = layer_norm(parameters, f"{prefix}LayerNorm", total)
    back = [norm]
    for layer in range(layers):
        x, steps = _bert_layer(parameters, f"bert.encoder.layer.{layer}.", x, heads)
        back.append(steps)
    pooled = affine(parameters, "bert.pooler.dense", x[:1])
    logits = affine(parameters, "classifier", np.tanh(pooled))
    start = np.zeros_like(logits)
    start[0, label] = logits[0, label]
    arriving = shares(parameters, "classifier", np.tanh(pooled), logits, start)
    below = np.zeros_like(x)
    below[:1] = shares(parameters, "bert.pooler.dense", x[:1], pooled, arriving)
    for steps in reversed(back):
        below = steps(below)
    return (below * word / total).sum(-1)


def _bert_layer(parameters: Parameters, prefix: str, x: Array, heads: int):  # type: ignore[no-untyped-def]
    own = f"{prefix}attention.self."
    query, key, value = (affine(parameters, f"{own}{n}", x) for n in ("query", "key", "value"))
    size = x.shape[1] // heads
    parts = [slice(h * size, (h + 1) * size) for h in range(heads)]
    mixed = [attended(query[:, p], key[:, p], value[:, p], np.ones((len(x),) * 2)) for p in parts]
    context = np.hstack([output for output, _ in mixed])
    joined = affine(parameters, f"{prefix}attention.output.dense", context)
    middle, norm_one = layer_norm(parameters, f"{prefix}attention.output.LayerNorm", joined + x)
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
        to_joined = to_sum * joined / (joined + x)
        to_context = shares(
            parameters, f"{prefix}attention.output.dense", context, joined, to_joined
        )
        apart = [below(to_context[:, p]) for (_, below), p in zip(mixed, parts, strict=True)]
        given = [np.hstack(each) for each in zip(*apart, strict=True)]
        total = to_sum - to_joined
        for name, z, arriving in zip(
            ("query", "key", "value"), (query, key, value), given, strict=True
        ):
            total = total + shares(parameters, f"{own}{name}", x, z, arriving)
        return total

    return out, back


def attended(query: Array, key: Array, value: Array, seen: Array):  # type: ignore[no-untyped-def]
    """One head: its output, and how relevance goes back to queries, keys and values."""
    n, size = query.shape
    scores = query @ key.T / size**0.5
    weights = softmax(np.where(seen > 0, scores, -np.inf), -1)
    output = weights @ value

    def back(arriving: Array) -> tuple[Array, Array, Array]:
        to_weights, to_value = np.zeros((n, n)), np.zeros_like(value)
        for j in range(n):
            for i in range(n):
                for p in range(size):  # Eq. 14: half of each product's share to either factor
                    part = weights[j, i] * value[i, p] / output[j, p] * arriving[j, p] / 2
                    to_weights[j, i] += part
                    to_value[i, p] += part
        to_query, to_key = np.zeros_like(query), np.zeros_like(key)
        for j in range(n):
            for i in range(n):
                if seen[j, i]:  # Eq. 13: R_i = x_i (R_i − s_i Σ_j R_j)
                    kept = to_weights[j, i] - weights[j, i] * to_weights[j].sum()
                    for p in range(size):
                        product = query[j, p] * key[i, p] / size**0.5
                        part = product / scores[j, i] * (scores[j, i] * kept) / 2
                        to_query[j, p] += part
                        to_key[i, p] += part
        return to_query, to_key, to_value

    return output, back


def llama(parameters: Parameters, tokens: list[int], label: int, config) -> Array:  # type: ignore[no-untyped-def]
    """Of each token's embedding; norms hand on all, so do rotations by their shares."""
    x = word = parameters["model.embed_tokens.weight"][tokens]
    back = []
    for layer in range(config.num_hidden_layers):
        x, steps = _llama_layer(parameters, f"model.layers.{layer}.", x, config)
        back.append(steps)
    last = rms(parameters, "model.norm", x[-1:], config)
    logits = last @ parameters["score.weight"].T
    start = np.zeros_like(logits)
    start[0, label] = logits[0, label]
    below = np.zeros_like(word)
    below[-1:] = shares(parameters, "score", last, logits, start)
    for steps in reversed(back):
        below = steps(below)
    return below.sum(-1)


def _llama_layer(parameters: Parameters, prefix: str, x: Array, config):  # type: ignore[no-untyped-def]
    own, up = f"{prefix}self_attn.", f"{prefix}mlp."
    heads, size = config.num_attention_heads, x.shape[1] // config.num_attention_heads
    group = heads // config.num_key_value_heads
    normed = rms(parameters, f"{prefix}input_layernorm", x, config)
    query, key, value = (normed @ parameters[f"{own}{n}_proj.weight"].T for n in "qkv")
    turn = rotations(len(x), size, config.rope_parameters["rope_theta"])
    q, k = rotated(query, turn), rotated(key, turn)
    at = [slice(h * size, (h + 1) * size) for h in range(heads)]
    shared = [at[h // group] for h in range(heads)]
    seen = np.tril(np.ones((len(x),) * 2))
    mixed = [attended(q[:, a], k[:, s], value[:, s], seen) for a, s in zip(at, shared, strict=True)]
    context = np.hstack([output for output, _ in mixed])
    joined = context @ parameters[f"{own}o_proj.weight"].T
    middle = x + joined
    wide = rms(parameters, f"{prefix}post_attention_layernorm", middle, config)
    gate, signal = (wide @ parameters[f"{up}{n}_proj.weight"].T for n in ("gate", "up"))
    product = gate * expit(gate) * signal
    narrow = product @ parameters[f"{up}down_proj.weight"].T
    out = middle + narrow

    def back(above: Array) -> Array:
        to_narrow = above * narrow / out
        to_product = shares(parameters, f"{up}down_proj", product, narrow, to_narrow)
        to_middle = above - to_narrow
        for name, z in (("gate", gate), ("up", signal)):
            to_middle = to_middle + shares(parameters, f"{up}{name}_proj", wide, z, to_product / 2)
        to_joined = to_middle * joined / middle
        to_context = shares(parameters, f"{own}o_proj", context, joined, to_joined)
        given = {"q": np.zeros_like(q), "k": np.zeros_like(k), "v": np.zeros_like(value)}
        for (_, below), a, s in zip(mixed, at, shared, strict=True):
            to_query, to_key, to_value = below(to_context[:, a])
            given["q"][:, a] += to_query
            given["k"][:, s] += to_key
            given["v"][:, s] += to_value
        given["q"] = _turned_back(query, q, turn, given["q"])
        given["k"] = _turned_back(key, k, turn, given["k"])
        total = to_middle - to_joined
        for name, z in (("q", query), ("k", key), ("v", value)):
            total = total + shares(parameters, f"{own}{name}_proj", normed, z, given[name])
        return total

    return out, back


def rms(parameters: Parameters, name: str, x: Array, config) -> Array:  # type: ignore[no-untyped-def]
    scale = np.sqrt((x**2).mean(-1, keepdims=True) + config.rms_norm_eps)
    normed: Array = parameters[f"{name}.weight"] * x / scale
    return normed


def rotations(n: int, size: int, base: float) -> list[Array]:
    """RoPE's matrix at each position."""
    half, turns = size // 2, []
    for place in range(n):
        turn = np.zeros((size, size))
        for i in range(half):
            angle = place * base ** (-2 * i / size)
            turn[i, i] = turn[i + half, i + half] = np.cos(angle)
            turn[i, i + half], turn[i + half, i] = -np.sin(angle), np.sin(angle)
        turns.append(turn)
    return turns


def rotated(x: Array, turns: list[Array]) -> Array:
    heads = x.reshape(len(x), -1, len(turns[0]))
    return np.stack([head @ turn.T for head, turn in zip(heads, turns, strict=True)]).reshape(
        x.shape
    )


def _turned_back(x: Array, z: Array, turns: list[Array], arriving: Array) -> Array:
    """R_i = Σ_j x_i m_ji / z_j · R_j."""
    heads = (arriving / z).reshape(len(x), -1, len(turns[0]))
    back = [head @ turn for head, turn in zip(heads, turns, strict=True)]
    return x * np.stack(back).reshape(x.shape)
