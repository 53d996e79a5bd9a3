"""Longformer's attention as its paper says it, a weight at a time.

A token sees those up to `side` places away and the global ones. A global token sees all others,
with projections of its own (Beltagy et al. 2020, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def weights(
    module: Any, states: Array, real: Sequence[bool], everywhere: Sequence[int], side: int
) -> Array:
    """`[heads, queries, keys]` of one text whose states are `[t, d]`."""
    t, heads, size = len(states), module.num_heads, module.head_dim
    found = np.zeros((heads, t, t))
    for query in range(t):
        if not real[query]:
            continue
        every = query in everywhere
        asked = projected(module.query_global if every else module.query, states[query])
        keys = [
            key
            for key in range(t)
            if real[key] and (every or key in everywhere or abs(query - key) <= side)
        ]
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            scores = [
                asked[own] @ projected(module.key_global if every else module.key, states[key])[own]
                for key in keys
            ]
            powers = np.exp(np.array(scores) / np.sqrt(size))
            found[head, query, keys] = powers / powers.sum()
    return found


def projected(linear: Any, state: Array) -> Array:
    weight, bias = linear.weight.detach().double().numpy(), linear.bias.detach().double().numpy()
    return np.asarray(weight @ state + bias)
