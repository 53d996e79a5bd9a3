"""ContextCite: a sparse linear model of an answer's log-odds over units that are kept or removed.

A unit is whatever the texts are cut into: sentences of a long prompt, retrieved documents, words.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from heedful.attributions.linear_models import MOST_SAMPLES, checked_samples, fitted_weights
from heedful.entries import ANY, Attribution
from heedful.models import class_logits
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Model

TOLERANCE, MOST_STEPS = 1e-6, 100_000
"""Of the solver."""
LEAST_PENALTY = 1e-7
"""The solver does not converge without one."""


def contextcite(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    samples: int = 64,
    operator: str = "delete",
    penalty: float = 0.01,
    seed: int = 0,
) -> Float[Tensor, "b w"]:
    """ContextCite: LASSO weights of the explained answer's log-odds (Cohen-Wang et al. 2024).

    Each of `samples` texts keeps every unit with probability 1/2. Of log(p / (1 − p)) of the
    explained class, a linear model with an L1 `penalty` is fitted over standardised indicators of
    the kept units; its weights are given back in the units' own scale. The explained quantity is
    always the log-odds. Weights are signed; zero where no unit is.
    """
    removal = WordRemoval(model, batch, label, operator, log_odds)
    there = removal.mask.cpu()
    gone = ablations(batch.ids, there, checked_samples(samples), seed)

    def weights(example: int, values: Tensor) -> Tensor:
        kept = ~gone[example][:, there[example]]
        return torch.from_numpy(lasso(kept.double().numpy(), values.numpy(), penalty))

    return fitted_weights(removal, gone, weights)


def log_odds(logits: Float[Tensor, "n c"], label: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """log(p / (1 − p)) of the class, exact where p is near 0 or 1."""
    scores = class_logits(logits)
    own = label[:, None]
    others = scores.scatter(1, own, -torch.inf).logsumexp(-1)
    return scores.gather(1, own).squeeze(1) - others


def ablations(
    ids: tuple[str, ...], there: Bool[Tensor, "b w"], samples: int, seed: int
) -> Bool[Tensor, "b m w"]:
    """What is removed: each unit that is there, with probability 1/2, by itself."""
    drawn = keyed_uniform(example_keys(seed, ids, "contextcite"), (samples, there.shape[1]))
    return (drawn < 0.5) & there[:, None]


def lasso(
    kept: NDArray[np.float64], values: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """argmin_w 1/(2m) Σ (y − w₀ − Σ_i w_i x_i)² + penalty Σ |s_i w_i|, s_i the standard deviation
    of x_i: the penalty is of standardised columns. Zero for a unit that was always kept or never.
    """
    from sklearn.linear_model import Lasso

    spread = kept.std(0)
    moves = spread > 0
    found = np.zeros(kept.shape[1])
    if not moves.any() or not values.std() > 0:
        return found
    columns = (kept[:, moves] - kept[:, moves].mean(0)) / spread[moves]
    solver = Lasso(alpha=penalty, tol=TOLERANCE, max_iter=MOST_STEPS)
    found[moves] = solver.fit(columns, values).coef_ / spread[moves]
    return found


ENTRY = Attribution(
    name="contextcite",
    description="sparse linear weights of the log-odds over units kept with probability 1/2",
    make=contextcite,
    uses=("=operator",),
    bounds={"samples": (2, MOST_SAMPLES), "penalty": (LEAST_PENALTY, math.inf)},
    signed=True,
    paper="Cohen-Wang et al. 2024",
    level="words",
    citation=(
        "Cohen-Wang et al. 2024, ContextCite: Attributing Model Generation to Context, NeurIPS"
    ),
    formula=(
        "argmin_w 1/(2m) Σ_S (log(p(x_S) / (1 − p(x_S))) − w₀ − Σ_{i in S} w_i)² "
        '+ λ Σ_i s_i |w_i|: x_S has only the units S, s_i is the standard deviation of "i in S"'
    ),
    range=ANY,
    higher="keeping the unit raises the log-odds of the explained class more; below 0 it lowers it",
    cost="64 runs for a text",
    limits=(
        "With few runs it finds few units: it is made for sentences and documents. Units that say "
        "the same thing share what they do, or one of them gets it all."
    ),
)
