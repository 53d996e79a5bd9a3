"""F1 of the positive class, or macro F1."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from heedful.catalogue import SHARE, Piece


def f1(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Two classes: F1 of class 1 (jain2019, Table 1). More: the mean of every class's F1.

    The prediction is the likeliest class (class 0 at exactly ½). A class that is neither
    labelled nor predicted has no F1 and is left out; NaN if none is left, or no example.
    """
    if len(labels) == 0:
        return float("nan")
    classes = probabilities.shape[1]
    wanted = [1] if classes == 2 else list(range(classes))
    predicted = probabilities.argmax(1)
    pairs = np.bincount(labels * classes + predicted, minlength=classes**2)
    table = pairs.reshape(classes, classes)
    right, both = table.diagonal(), table.sum(0) + table.sum(1)
    scores = [2 * right[c] / both[c] for c in wanted if both[c]]
    return float(np.mean(scores)) if scores else float("nan")


PIECE = Piece(
    name="f1",
    description="F1 of class 1 (two classes) or macro F1",
    make=f1,
    version=1,
    paper="jain2019",
    higher_is_better=True,
    signed=False,
    formula="F1 = 2 P R / (P + R) of class 1; of several classes the mean of each one's",
    range=SHARE,
    higher="more of the class is found, and less is taken for it",
    cost="the number of examples",
    limits="Right answers outside of the class do not count, nor does how sure the model is.",
)
