"""The task scores on the data, without which nothing else can be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from heedful.catalogue import RESAMPLES, SHARE, Measure, Piece
from heedful.metrics import COLUMNS, METRICS, bootstrap_statistic
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings

SCORES = ("f1", "accuracy", "roc_auc")


def score(evidence: Evidence, resamples: int = 500) -> Findings:
    collector = Collector(evidence.data.ids)
    site = evidence.sites[0]
    columns = []
    for each in evidence.passes("score"):
        view = each.rows(site).first()
        p, label = each.probabilities[view.example], each.batch.labels[view.example]
        shown = p[:, 1] if p.shape[1] == 2 else p.amax(-1)
        correct = each.predicted[view.example] == label
        collector.add(each, site, view, {"correct": correct, "probability": shown})
        columns.append(torch.cat([label[:, None].double(), p], 1).cpu().numpy())
    table = np.concatenate(columns)
    summary = score_summary(table[:, 0].astype(int), table[:, 1:], evidence.seed, resamples)
    return Findings(collector.rows(), summary=summary)


def score_summary(labels: np.ndarray, p: np.ndarray, seed: int, resamples: int) -> pd.DataFrame:
    """Scores are not means over rows, so their intervals resample examples whole."""
    rows: list[Line] = []
    for name in SCORES:
        metric = METRICS[name].make
        low, high = bootstrap_statistic(metric, (labels, p), seed, resamples)
        rows.append((name, float(metric(labels, p)), low, high))
    majority = float(np.bincount(labels).max() / len(labels))
    rows.append(("majority", majority, float("nan"), float("nan")))
    return score_table(rows, len(labels))


Line = tuple[str, float, float, float]
"""A measure, its value, and the ends of its interval."""


def score_table(lines: list[Line], n: int) -> pd.DataFrame:
    """A summary of numbers that belong to all examples together."""
    table = pd.DataFrame(lines, columns=["measure", "mean", "low", "high"])
    table = table.assign(site="", group="all", n=n, undefined=0, sd=np.nan, median=np.nan)
    return table[COLUMNS]


PIECE = Piece(
    name="score",
    description="F1, accuracy and ROC-AUC on the data, with intervals, and the majority class",
    make=score,
    bounds={"resamples": RESAMPLES},
    version=2,
    paper="jain2019",
    needs=("classes",),
    measures={
        "f1": Measure(
            "F1 of class 1 (macro for several classes)", higher_is_better=True, range=SHARE
        ),
        "accuracy": Measure("share of right predictions", higher_is_better=True, range=SHARE),
        "roc_auc": Measure("area under the ROC curve", higher_is_better=True, range=SHARE),
        "majority": Measure("share of the largest class: what guessing gives", range=SHARE),
        "correct": Measure("1 where the prediction is right", higher_is_better=True, range=SHARE),
        "probability": Measure(
            "probability of class 1, or of the predicted one of several", range=SHARE
        ),
    },
    formula="F1, accuracy and ROC-AUC of p against the labels; majority = max_c N_c / N",
    higher="the model does its task better; the majority's share is what guessing gives",
    cost="one pass over the texts, and 500 draws of the scores",
    limits="A good score does not say that attention has a part in it.",
)
