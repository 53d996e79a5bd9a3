"""Share of right predictions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import accuracy_score

from heedful.catalogue import Piece


def accuracy(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Equal to micro F1, which jain2019 reports for SNLI. NaN for no example."""
    if len(labels) == 0:
        return float("nan")
    return float(accuracy_score(labels, probabilities.argmax(1)))


PIECE = Piece(
    name="accuracy",
    description="share of examples whose likeliest class is the label (micro F1)",
    make=accuracy,
    version=1,
    paper="jain2019",
    higher_is_better=True,
    signed=False,
)
