"""wiegreffe2019's adversarial loss, example by example and token by token."""

from __future__ import annotations

import math

from torch import Tensor

from reference import distance

FLOOR = 1e-10


def imitation(own: list[list[float]], theirs: list[list[float]]) -> float:
    """Mean TVD over examples."""
    each = [distance.tvd(p, q) for p, q in zip(own, theirs, strict=True)]
    return math.fsum(each) / len(each)


def divergence(kind: str, own: Tensor, theirs: Tensor, mask: Tensor, steps: list[int]) -> float:
    """Mean over examples of the mean over heads and the first `steps` queries; weights are
    `[examples, heads, queries, keys]`."""
    means = []
    for example, size in enumerate(steps):
        rows = []
        for head in range(own.shape[1]):
            for query in range(size):
                seen = mask[example, min(head, mask.shape[1] - 1), min(query, mask.shape[2] - 1)]
                places = [k for k in range(own.shape[3]) if bool(seen[k])]
                p = [float(own[example, head, query, k]) for k in places]
                q = [float(theirs[example, head, query, k]) for k in places]
                if places:
                    rows.append(_of(kind, p, q))
        means.append(math.fsum(rows) / len(rows) if rows else 0.0)
    return math.fsum(means) / len(means)


def _of(kind: str, p: list[float], q: list[float]) -> float:
    if kind == "jsd":
        return distance.jsd(p, q)
    return distance.kl(p, [max(x, FLOOR) for x in q])
