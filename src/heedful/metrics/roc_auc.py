"""Area under the ROC curve."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import rankdata

from heedful.catalogue import SHARE, Piece


def roc_auc(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Two classes: of class 1 (jain2019 selects checkpoints by it). More: one against the
    rest, averaged over the classes that have both sides. NaN where there is no such class."""
    classes = probabilities.shape[1]
    wanted = [1] if classes == 2 else list(range(classes))
    scores = [
        _area(labels == c, probabilities[:, c])
        for c in wanted
        if 0 < int((labels == c).sum()) < len(labels)
    ]
    return float(np.mean(scores)) if scores else float("nan")


def _area(positive: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"]) -> float:
    """By ranks (Mann & Whitney): no curve is drawn, for intervals ask for it a thousand times."""
    ahead, behind = int(positive.sum()), int((~positive).sum())
    above = float(rankdata(scores)[positive].sum()) - ahead * (ahead + 1) / 2
    return above / (ahead * behind)


PIECE = Piece(
    name="roc_auc",
    description="area under the ROC curve of class 1 (two classes) or one-vs-rest mean",
    make=roc_auc,
    version=1,
    paper="jain2019",
    higher_is_better=True,
    signed=False,
    formula="P(p of a positive > p of a negative) + ½ P(equal)",
    range=SHARE,
    higher="positives are ranked above negatives more often: ½ is chance",
    cost="sorting the examples, once for each class",
    limits=(
        "It is about order alone: a threshold may be badly placed, and probabilities may be "
        "wrong throughout."
    ),
)
