"""Share of right predictions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from heedful.catalogue import SHARE, Piece


def accuracy(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Equal to micro F1, which jain2019 reports for SNLI. NaN for no example."""
    if len(labels) == 0:
        return float("nan")
    return float(np.mean(labels == probabilities.argmax(1)))


PIECE = Piece(
    name="accuracy",
    description="share of examples whose likeliest class is the label (micro F1)",
    make=accuracy,
    version=1,
    paper="jain2019",
    higher_is_better=True,
    signed=False,
    formula="(1/N) Σ_i [argmax_c p_ic = label_i]",
    range=SHARE,
    higher="more predictions are right",
    cost="the number of examples",
    limits=(
        "Where one class is frequent, always saying it scores high: read it beside the "
        "majority's share."
    ),
)
