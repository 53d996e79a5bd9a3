"""Area under the ROC curve."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import roc_auc_score

from heedful.catalogue import Piece


def roc_auc(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Two classes: of class 1 (jain2019 selects checkpoints by it). More: one against the
    rest, averaged over the classes that have both sides. NaN where there is no such class."""
    classes = probabilities.shape[1]
    wanted = [1] if classes == 2 else list(range(classes))
    scores = [
        float(roc_auc_score(labels == c, probabilities[:, c]))
        for c in wanted
        if 0 < int((labels == c).sum()) < len(labels)
    ]
    return float(np.mean(scores)) if scores else float("nan")


PIECE = Piece(
    name="roc_auc",
    description="area under the ROC curve of class 1 (two classes) or one-vs-rest mean",
    make=roc_auc,
    version=1,
    paper="jain2019",
    higher_is_better=True,
    signed=False,
)
