"""Agreement of two annotators beyond chance (Cohen 1960)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from heedful.catalogue import SIGNED, Piece


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


PIECE = Piece(
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
