"""jain2019, experiment 3: SciPy's τ-b, example by example, as the authors did it."""

from __future__ import annotations

from scipy.stats import kendalltau
from torch import Tensor

Scores = dict[str, Tensor]


def kendall(attention: Scores, gradient: Scores, loo: Scores) -> dict[str, tuple[float, float]]:
    """τ of attention with gradients and with leave-one-out, by example."""
    found = {}
    for name, weights in attention.items():
        a = weights.numpy()
        first, second = (kendalltau(a, other[name].numpy()) for other in (gradient, loo))
        found[name] = (float(first.statistic), float(second.statistic))
    return found
