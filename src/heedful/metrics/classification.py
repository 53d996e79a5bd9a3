"""How well classes are predicted: accuracy, F1, ROC-AUC. Without torch."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import rankdata

from heedful.entries import SHARE, Metric


def accuracy(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Equal to micro F1, which jain2019 reports for SNLI. NaN for no example."""
    if len(labels) == 0:
        return float("nan")
    return float(np.mean(labels == probabilities.argmax(1)))


ACCURACY = Metric(
    name="accuracy",
    description="share of examples whose likeliest class is the label (micro F1)",
    make=accuracy,
    paper="jain2019",
    higher_is_better=True,
    formula="(1/N) Σ_i [argmax_c p_ic = label_i]",
    range=SHARE,
    higher="more predictions are right",
    cost="the number of examples",
    limits=(
        "Where one class is frequent, always saying it scores high: read it beside the "
        "majority's share."
    ),
)


# F1 of the positive class, or macro F1.


F1_OF_MEANS = {
    "eraser_token_f1_of_means": ("eraser_token_precision", "eraser_token_recall"),
    "eraser_iou_f1": ("eraser_iou_precision", "eraser_iou_recall"),
}
"""Numbers of a corpus, each made of the mean precision and the mean recall of its examples."""


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


def f1_of_means(precision: Float[np.ndarray, " n"], recall: Float[np.ndarray, " n"]) -> float:
    """F1 of the mean precision and the mean recall of several examples, as DeYoung et al. 2020
    average them; examples where one is undefined (NaN) take no part. It is no mean of F1s."""
    defined = np.isfinite(precision) & np.isfinite(recall)
    if not defined.any():
        return float("nan")
    p, r = float(precision[defined].mean()), float(recall[defined].mean())
    return 2 * p * r / (p + r) if p * r > 0 else 0.0


F1 = Metric(
    name="f1",
    description="F1 of class 1 (two classes) or macro F1",
    make=f1,
    paper="jain2019",
    higher_is_better=True,
    formula="F1 = 2 P R / (P + R) of class 1; of several classes the mean of each one's",
    range=SHARE,
    higher="more of the class is found, and less is taken for it",
    cost="the number of examples",
    limits="Right answers outside of the class do not count, nor does how sure the model is.",
)


# Area under the ROC curve.


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


ROC_AUC = Metric(
    name="roc_auc",
    description="area under the ROC curve of class 1 (two classes) or one-vs-rest mean",
    make=roc_auc,
    paper="jain2019",
    higher_is_better=True,
    formula="P(p of a positive > p of a negative) + ½ P(equal)",
    range=SHARE,
    higher="positives are ranked above negatives more often: ½ is chance",
    cost="sorting the examples, once for each class",
    limits=(
        "It is about order alone: a threshold may be badly placed, and probabilities may be "
        "wrong throughout."
    ),
)
