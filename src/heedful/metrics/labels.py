"""Labels: how well they are predicted, how well annotators agree, what one tells of another.

Accuracy, F1, ROC-AUC; Cohen's κ, Krippendorff's α; mutual information. Without torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import rankdata

from heedful.entries import Entries, Metric, share, signed_share

ENTRIES = Entries(Metric)


@ENTRIES.entry(
    share("share of examples whose likeliest class is the label (micro F1)", True),
    paper="jain2019",
    formula="(1/N) Σ_i [argmax_c p_ic = label_i]",
    higher="more predictions are right",
    cost="the number of examples",
    limits=(
        "Where one class is frequent, always saying it scores high: read it beside the "
        "majority's share."
    ),
)
def accuracy(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Equal to micro F1, which jain2019 reports for SNLI. NaN for no example."""
    if len(labels) == 0:
        return float("nan")
    return float(np.mean(labels == probabilities.argmax(1)))


# F1 of the positive class, or macro F1.


F1_OF_MEANS = {
    "eraser_token_f1_of_means": ("eraser_token_precision", "eraser_token_recall"),
    "eraser_iou_f1": ("eraser_iou_precision", "eraser_iou_recall"),
}
"""Numbers of a corpus, each made of the mean precision and the mean recall of its examples."""


@ENTRIES.entry(
    share("F1 of class 1 (two classes) or macro F1", True),
    paper="jain2019",
    formula="F1 = 2 P R / (P + R) of class 1; of several classes the mean of each one's",
    higher="more of the class is found, and less is taken for it",
    cost="the number of examples",
    limits="Right answers outside of the class do not count, nor does how sure the model is.",
)
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


# Area under the ROC curve.


@ENTRIES.entry(
    share("area under the ROC curve of class 1 (two classes) or one-vs-rest mean", True),
    paper="jain2019",
    formula="P(p of a positive > p of a negative) + ½ P(equal)",
    higher="positives are ranked above negatives more often: ½ is chance",
    cost="sorting the examples, once for each class",
    limits=(
        "It is about order alone: a threshold may be badly placed, and probabilities may be "
        "wrong throughout."
    ),
)
def roc_auc(labels: Int[np.ndarray, " n"], probabilities: Float[np.ndarray, "n c"]) -> float:
    """Two classes: of class 1 (jain2019 selects checkpoints by it). More: one against the
    rest, averaged over the classes that have both sides. NaN where there is no such class."""
    classes = probabilities.shape[1]
    wanted = [1] if classes == 2 else list(range(classes))
    scores = [
        area_under_curve(probabilities[labels == c, c], probabilities[labels != c, c])
        for c in wanted
        if 0 < int((labels == c).sum()) < len(labels)
    ]
    return float(np.mean(scores)) if scores else float("nan")


def area_under_curve(high: Float[np.ndarray, " n"], low: Float[np.ndarray, " m"]) -> float:
    """The chance that a number of the first group is above one of the second; ties count half. That
    is the area under the ROC curve, by ranks (Mann & Whitney): no curve is drawn, for intervals
    ask for it a thousand times. NaN where a group is empty."""
    if not len(high) or not len(low):
        return float("nan")
    ranks = rankdata(np.concatenate([high, low]))
    above = float(ranks[: len(high)].sum()) - len(high) * (len(high) + 1) / 2
    return above / (len(high) * len(low))


# Agreement of annotators beyond chance: of two (Cohen 1960), or of any number.


@ENTRIES.entry(
    signed_share("agreement of two annotators beyond chance", True),
    paper="vashishth2019",
    formula="κ = (p_o − p_e) / (1 − p_e): agreement seen, and expected by chance",
    higher="the two agree more often than chance would have it: 0 is chance",
    cost="the number of items",
    limits=(
        "Where one answer is rare it is low however well people agree. It does not say who is "
        "right."
    ),
)
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


# Agreement of any number of annotators, some of whom left items out (Krippendorff 2011).


@ENTRIES.entry(
    signed_share("Krippendorff's α: agreement of several annotators beyond chance", True),
    citation="Krippendorff 2011, Computing Krippendorff's Alpha-Reliability",
    formula="α = 1 − D_o / D_e: disagreement seen, and expected by chance",
    higher="annotators agree more than chance would have it: 0 is chance",
    cost="annotators × items × distinct answers",
    limits=(
        "Answers are names without an order here. Where one answer is rare it is low however "
        "well people agree."
    ),
)
def krippendorff(answers: Float[np.ndarray, "annotators items"]) -> float:
    """α = 1 − D_o / D_e of nominal answers, NaN where none was given.

    Only items with two answers or more count: each pair of their m answers with weight
    1/(m − 1). D_o is the share of pairs that differ, D_e that of pairs drawn from all answers
    together. NaN where nothing can be compared, or all answers are the same one.
    """
    values = np.unique(answers[~np.isnan(answers)])
    counts = (answers[:, :, None] == values).sum(0).astype(np.float64)  # items × values
    sizes = counts.sum(1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    totals, n = counts.sum(0), sizes.sum()
    differing = ((sizes**2 - (counts**2).sum(1)) / (sizes - 1)).sum()
    expected = (n**2 - (totals**2).sum()) / (n - 1) if n else 0.0
    return float(1 - differing / expected) if expected else float("nan")


# Mutual information of two labels that many things have, from counts alone, in nats.


@dataclass(frozen=True)
class Contingency:
    """The filled cells of a table of two labels: each has a row and a column, and each thing
    its cell. Most cells of a large table are empty, and none of those is kept."""

    row: Int[np.ndarray, " m"]
    column: Int[np.ndarray, " m"]
    cell: Int[np.ndarray, " n"]

    def counts(self, times: Float[np.ndarray, " n"] | None = None) -> Float[np.ndarray, " m"]:
        """How many things a cell holds when each counts so often (once by default)."""
        return np.bincount(self.cell, times, len(self.row)).astype(np.float64)

    def pointwise(self, counts: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """log p(row, column) / (p(row) p(column)) of each cell; 0 for an empty one."""
        rows, columns = np.bincount(self.row, counts), np.bincount(self.column, counts)
        expected = rows[self.row] * columns[self.column] / max(counts.sum(), 1.0)
        filled = counts > 0
        ratio = np.divide(counts, expected, out=np.ones_like(counts), where=filled)
        logs: Float[np.ndarray, " m"] = np.log(ratio)
        return logs


def contingency(first: Int[np.ndarray, " n"], second: Int[np.ndarray, " n"]) -> Contingency:
    """Of labels that are numbers from 0 on."""
    width = int(second.max(initial=0)) + 1
    codes, cell = np.unique(first.astype(np.int64) * width + second, return_inverse=True)
    return Contingency(codes // width, codes % width, cell)


def mutual_information(table: Contingency, times: Float[np.ndarray, " n"] | None = None) -> float:
    """Never below 0 but for rounding; NaN where there is nothing."""
    counts = table.counts(times)
    total = counts.sum()
    return float(counts @ table.pointwise(counts) / total) if total else float("nan")


def entropy_of(labels: Int[np.ndarray, " n"]) -> float:
    """The most that anything can tell about the labels."""
    return mutual_information(contingency(labels, labels))
