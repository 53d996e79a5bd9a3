"""The Transformer for one pair, one query and one head at a time (Vaswani et al. 2017, §3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Parameters = dict[str, Any]
Array = np.ndarray


def translate(
    parameters: Parameters,
    heads: int,
    layers: int,
    before: bool,
    source: list[int],
    target: list[int],
) -> tuple[Array, dict[str, Array]]:
    """Logits after each token of the target, and every site's weights `[heads, queries, keys]`."""
    p = {name: np.array(value) for name, value in parameters.items()}
    weights: dict[str, Array] = {}
    real = [0 < place < len(source) - 1 for place in range(len(source))]
    x = _inputs(p, source)
    for n in range(layers):
        name = f"encoder.layers.{n}."
        everything = [[True] * len(source)] * len(source)

        def own(q: Array, name: str = name, n: int = n, seen: Any = everything) -> Array:
            out, weights[f"encoder.{n}"] = _attention(p, f"{name}attention.", heads, q, q, seen)
            return out

        x = _around(p, f"{name}around_attention.", before, x, own)
        x = _around(p, f"{name}around_inner.", before, x, lambda z, name=name: _inner(p, name, z))
    memory = _norm(p, "encoder.norm.", x) if before else x
    y = _inputs(p, target)
    for n in range(layers):
        name = f"decoder.layers.{n}."
        past = [[key <= query for key in range(len(target))] for query in range(len(target))]

        def own(q: Array, name: str = name, n: int = n, seen: Any = past) -> Array:
            out, weights[f"decoder.{n}.self"] = _attention(p, f"{name}own.", heads, q, q, seen)
            return out

        def cross(q: Array, name: str = name, n: int = n) -> Array:
            seen = [real] * len(target)
            out, found = _attention(p, f"{name}cross.", heads, q, memory, seen)
            weights[f"decoder.{n}.cross"] = found
            return out

        y = _around(p, f"{name}around_own.", before, y, own)
        y = _around(p, f"{name}around_cross.", before, y, cross)
        y = _around(p, f"{name}around_inner.", before, y, lambda z, name=name: _inner(p, name, z))
    out = _norm(p, "decoder.norm.", y) if before else y
    table = p.get("words.output.weight", p["words.embedding.weight"])
    return out @ table.T + p["words.bias"], weights


def _inputs(p: dict[str, Array], tokens: list[int]) -> Array:
    table = p["words.embedding.weight"]
    rows = []
    for place, token in enumerate(tokens):
        x = table[token] * math.sqrt(table.shape[1])
        if "project.weight" in p:
            x = p["project.weight"] @ x + p["project.bias"]
        wave = [
            (math.sin if d % 2 == 0 else math.cos)(place / 10000 ** ((d - d % 2) / len(x)))
            for d in range(len(x))
        ]
        rows.append(x + np.array(wave))
    return np.stack(rows)


def _attention(
    p: dict[str, Array], name: str, heads: int, queries: Array, keys: Array, seen: list[list[bool]]
) -> tuple[Array, Array]:
    parts = {
        part: x @ p[f"{name}{part}.weight"].T + p[f"{name}{part}.bias"]
        for part, x in (("query", queries), ("key", keys), ("value", keys))
    }
    width = queries.shape[1] // heads
    weights = np.zeros((heads, len(queries), len(keys)))
    mixed = np.zeros_like(queries)
    for head in range(heads):
        columns = slice(head * width, (head + 1) * width)
        for q in range(len(queries)):
            allowed = [k for k in range(len(keys)) if seen[q][k]]
            scores = [
                parts["query"][q, columns] @ parts["key"][k, columns] / math.sqrt(width)
                for k in allowed
            ]
            powers = np.exp(np.array(scores) - max(scores))
            weights[head, q, allowed] = powers / powers.sum()
            mixed[q, columns] = weights[head, q] @ parts["value"][:, columns]
    return mixed @ p[f"{name}out.weight"].T + p[f"{name}out.bias"], weights


def _around(p: dict[str, Array], name: str, before: bool, x: Array, part: Any) -> Array:
    if before:
        return x + part(_norm(p, f"{name}norm.", x))
    return _norm(p, f"{name}norm.", x + part(x))


def _norm(p: dict[str, Array], name: str, x: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * p[f"{name}weight"] + p[f"{name}bias"]


def _inner(p: dict[str, Array], name: str, x: Array) -> Array:
    wide = x @ p[f"{name}inner.widen.weight"].T + p[f"{name}inner.widen.bias"]
    return np.maximum(wide, 0) @ p[f"{name}inner.narrow.weight"].T + p[f"{name}inner.narrow.bias"]
