"""ALTI-Logit (Ferrando et al. 2023) of a Llama classifier, one text, vector by vector.

Also what the scores leave out, so that all parts can be added up to the logit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from reference.attnlrp import rms
from reference.decomposition import llama_weights
from reference.lrp_bert import Parameters

Array = NDArray[np.float64]


def alti_logit(parameters: Parameters, tokens: list[int], label: int, config):  # type: ignore[no-untyped-def]
    """Scores of tokens, and the parts of the last embedding and of the feed-forward layers."""
    x = parameters["model.embed_tokens.weight"][tokens]
    n, start = len(tokens), x[-1]
    mixed, updates, forwards = [np.eye(n)], [], []
    for layer in range(config.num_hidden_layers):
        name = f"model.layers.{layer}."
        parts = _parts(parameters, name, x, config)  # [query][key], summed over heads
        updates.append([parts[-1][j].copy() for j in range(n)])
        for i in range(n):
            parts[i][i] = parts[i][i] + x[i]
        y = np.array([sum(parts[i]) for i in range(n)])
        shares = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                shares[i, j] = max(0.0, np.abs(y[i]).sum() - np.abs(y[i] - parts[i][j]).sum())
            shares[i] /= shares[i].sum()
        mixed.append(shares @ mixed[-1])
        wide = rms(parameters, f"{name}post_attention_layernorm", y, config)
        gate, up = (wide @ parameters[f"{name}mlp.{k}_proj.weight"].T for k in ("gate", "up"))
        forward = (gate * expit(gate) * up) @ parameters[f"{name}mlp.down_proj.weight"].T
        forwards.append(forward[-1])
        x = y + forward
    scale = np.sqrt((x[-1] ** 2).mean() + config.rms_norm_eps)
    read = parameters["model.norm.weight"] / scale * parameters["score.weight"][label]
    scores = [0.0] * n
    for update, mix in zip(updates, mixed, strict=False):
        for j in range(n):
            for token in range(n):
                scores[token] += float(update[j] @ read) * mix[j, token]
    return scores, float(start @ read), [float(each @ read) for each in forwards]


def _parts(parameters: Parameters, name: str, x: Array, config):  # type: ignore[no-untyped-def]
    heads, size = config.num_attention_heads, x.shape[1] // config.num_attention_heads
    weights = llama_weights(parameters, name, x, config)
    normed = rms(parameters, f"{name}input_layernorm", x, config)
    value, out = (parameters[f"{name}self_attn.{k}_proj.weight"].T for k in "vo")
    parts = [[np.zeros(x.shape[1]) for _ in x] for _ in x]
    for i in range(len(x)):
        for j in range(len(x)):
            for h in range(heads):
                shared = h * config.num_key_value_heads // heads
                own = value[:, shared * size : (shared + 1) * size]
                brought = normed[j] @ own @ out[h * size : (h + 1) * size]
                parts[i][j] = parts[i][j] + weights[h][i, j] * brought
    return parts
