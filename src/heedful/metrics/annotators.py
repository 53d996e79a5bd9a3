"""Agreement of annotators beyond chance: Cohen 1960, Krippendorff 2011."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from heedful.entries import SIGNED, Metric


def cohen_kappa(one: Int[np.ndarray, " n"], other: Int[np.ndarray, " n"]) -> float:
    """(p_o − p_e) / (1 − p_e): agreement seen, and that of two who answer as often but
    independently. NaN for no item, and where both always give one and the same answer: then
    chance alone agrees everywhere, and nothing can be beyond it."""
    if len(one) == 0:
        return float("nan")
    names, numbers = np.unique(np.concatenate([one, other]), return_inverse=True)
    shares = [
        np.bincount(part, minlength=len(names)) / len(one)
        for part in np.split(numbers.reshape(-1), 2)
    ]
    seen, chance = float((one == other).mean()), float(shares[0] @ shares[1])
    return (seen - chance) / (1 - chance) if len(names) > 1 else float("nan")


COHEN_KAPPA = Metric(
    name="cohen_kappa",
    description="agreement of two annotators beyond chance",
    make=cohen_kappa,
    paper="vashishth2019",
    higher_is_better=True,
    signed=True,
    formula="κ = (p_o − p_e) / (1 − p_e): agreement seen, and expected by chance",
    range=SIGNED,
    higher="the two agree more often than chance would have it: 0 is chance",
    cost="the number of items",
    limits=(
        "Where one answer is rare it is low however well people agree. It does not say who is "
        "right."
    ),
)


# Agreement of any number of annotators, some of whom left items out (Krippendorff 2011).


def krippendorff(answers: Float[np.ndarray, "annotators items"]) -> float:
    """α = 1 − D_o / D_e of nominal answers, NaN where none was given.

    Only items with two answers or more count: each pair of their m answers with weight
    1/(m − 1). D_o is the share of pairs that differ, D_e that of pairs drawn from all answers
    together. NaN where nothing can be compared, or all answers are the same one.
    """
    counts = _counts(answers)
    sizes = counts.sum(1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    totals, n = counts.sum(0), sizes.sum()
    differing = ((sizes**2 - (counts**2).sum(1)) / (sizes - 1)).sum()
    expected = (n**2 - (totals**2).sum()) / (n - 1) if n else 0.0
    return float(1 - differing / expected) if expected else float("nan")


def _counts(answers: Float[np.ndarray, "annotators items"]) -> Float[np.ndarray, "items values"]:
    """How often each item was given each value."""
    values = np.unique(answers[~np.isnan(answers)])
    counts: Float[np.ndarray, "items values"] = (answers[:, :, None] == values).sum(0)
    return counts.astype(np.float64)


KRIPPENDORFF = Metric(
    name="krippendorff",
    description="Krippendorff's α: agreement of several annotators beyond chance",
    make=krippendorff,
    higher_is_better=True,
    signed=True,
    citation="Krippendorff 2011, Computing Krippendorff's Alpha-Reliability",
    formula="α = 1 − D_o / D_e: disagreement seen, and expected by chance",
    range=SIGNED,
    higher="annotators agree more than chance would have it: 0 is chance",
    cost="annotators × items × distinct answers",
    limits=(
        "Answers are names without an order here. Where one answer is rare it is low however "
        "well people agree."
    ),
)
