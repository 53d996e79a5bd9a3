"""How well the task is done: scores on the data, and outcomes example by example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.data import MARK, spelled
from heedful.entries import RESAMPLES, Experiment, share
from heedful.errors import unknown_name
from heedful.experiments.evidence import Collector, Evidence, Findings, place_of
from heedful.metrics import COLUMNS, METRICS, bleu, bleu_statistics, bootstrap_statistic
from heedful.models import Search, generate, probabilities
from heedful.types import Edits, Model

SCORES = ("f1", "accuracy", "roc_auc")


def score(evidence: Evidence, resamples: int = 500) -> Findings:
    collector = Collector(evidence.data.ids)
    site = evidence.sites[0]
    columns = []
    for forward in evidence.passes("score"):
        view = forward.rows(site).first()
        p, label = forward.probabilities[view.example], forward.batch.labels[view.example]
        shown = p[:, 1] if p.shape[1] == 2 else p.amax(-1)
        correct = forward.predicted[view.example] == label
        collector.add(forward, site, view, {"correct": correct, "probability": shown})
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


def summary_line(
    place: tuple[str, str, str],
    n: int,
    mean: float,
    ends: Sequence[float],
    median: float = float("nan"),
) -> dict[str, Any]:
    """A number of several examples that is no mean over rows; `place` is its site, measure and
    group."""
    facts = {"n": n, "undefined": 0, "mean": mean, "sd": np.nan, "median": median}
    low, high = ends
    return dict(zip(COLUMNS, place, strict=False)) | facts | {"low": low, "high": high}


def score_table(lines: list[Line], n: int) -> pd.DataFrame:
    """A summary of numbers that belong to all examples together."""
    rows = [summary_line(("", name, "all"), n, mean, ends) for name, mean, *ends in lines]
    return pd.DataFrame(rows, columns=COLUMNS)


# How well the task is done, example by example, whatever the task is.
#
# Classes are scored by accuracy or F1, written targets by corpus BLEU; all of them are made of
# numbers per example, so every interval draws examples again.


CLASS_METRICS = ("accuracy", "f1")


@dataclass(frozen=True)
class Outcomes:
    """`each` has a line of numbers per example, in the data's order, from which `score` makes
    the score of some of them: the label and the decision, or BLEU's counts. `correct` is 1
    where the decision is right; of a target that is the next word at the step looked at."""

    metric: str
    each: NDArray[np.float64]
    score: Callable[[NDArray[np.float64]], float]
    correct: NDArray[np.float64]

    def line(self, measure: str, seed: int, resamples: int) -> Line:
        low, high = bootstrap_statistic(self.score, (self.each,), seed, resamples)
        return measure, self.score(self.each), low, high

    def line_against(self, base: Outcomes, measure: str, seed: int, resamples: int) -> Line:
        """This score less the base's; examples are drawn in pairs."""

        def difference(own: NDArray[np.float64], other: NDArray[np.float64]) -> float:
            return self.score(own) - base.score(other)

        arrays = (self.each, base.each)
        low, high = bootstrap_statistic(difference, arrays, seed, resamples)
        return measure, difference(*arrays), low, high


def outcomes(
    evidence: Evidence,
    model: Model,
    edits: Edits | None = None,
    metric: str = "accuracy",
    search: Search = Search(),
) -> Outcomes:
    """Of every example that has attention at all. `metric` is for classes, `search` for
    targets that are written."""
    if metric not in CLASS_METRICS:
        raise unknown_name("metric", metric, list(CLASS_METRICS))
    kept = attended(evidence)
    decided = _decided(evidence, model, edits)[kept]
    correct = (decided[:, 0] == decided[:, 1]).astype(np.float64)
    if evidence.task == "generation":
        written = written_texts(evidence, model, edits, search)
        references = [evidence.data.text(i, "b") for i in range(len(evidence.data))]
        counts = np.asarray(bleu_statistics(written, references), dtype=np.float64)[kept]
        return Outcomes("bleu", counts, bleu, correct)
    return Outcomes(metric, decided, class_score(metric, evidence), correct)


def attended(evidence: Evidence) -> NDArray[np.int64]:
    """The places of the examples that have something to attend to."""
    place = place_of(evidence.data.ids)
    found = {
        place[forward.batch.ids[row]]
        for forward in evidence.passes("outcomes")
        for row in forward.rows(evidence.sites[0]).example.tolist()
    }
    return np.array(sorted(found), dtype=np.int64)


def example_rows(
    evidence: Evidence, label: str, measures: Mapping[str, NDArray[np.float64]]
) -> pd.DataFrame:
    """Rows of numbers per attended example, in the data's order."""
    collector, site = Collector(evidence.data.ids), evidence.sites[0]
    place = {evidence.data.ids[index]: row for row, index in enumerate(attended(evidence))}
    for forward in evidence.passes(label):
        view = forward.rows(site).first()
        chosen = [place[forward.batch.ids[row]] for row in view.example.tolist()]
        found = {name: torch.from_numpy(values[chosen]) for name, values in measures.items()}
        collector.add(forward, site, view, found)
    return collector.rows()


def written_texts(
    evidence: Evidence, model: Model, edits: Edits | None = None, search: Search = Search()
) -> list[str]:
    """What the model writes for each source, in the data's order."""
    texts, done = [""] * len(evidence.data), 0
    tokenizer = "bpe" if any(word.startswith(MARK) for word in evidence.words) else "words"
    for places, batch in evidence.batches(evidence.data):
        for place, ids in zip(places, generate(model, batch, edits, search), strict=True):
            texts[place] = spelled([evidence.words[i] for i in ids], tokenizer)
        done += len(places)
        evidence.progress("write", done, len(texts))
    return texts


def _decided(evidence: Evidence, model: Model, edits: Edits | None) -> NDArray[np.float64]:
    """The label and the decision of every example."""
    found = np.zeros((len(evidence.data), 2))
    place = place_of(evidence.data.ids)
    for ids, labels, logits in _logits(evidence, model, edits):
        rows = [place[example] for example in ids]
        decided = probabilities(logits).argmax(-1)
        found[rows] = torch.stack([labels, decided], -1).double().cpu().numpy()
    return found


def _logits(
    evidence: Evidence, model: Model, edits: Edits | None
) -> Iterator[tuple[tuple[str, ...], Tensor, Tensor]]:
    """The base model goes on from what its passes left."""
    with torch.no_grad():
        if model is evidence.models["base"]:
            for forward in evidence.passes("outcomes"):
                trace = forward.trace
                if edits:
                    kept = forward.with_states()
                    trace = model.resume(kept.batch, kept.trace, edits)
                yield forward.batch.ids, forward.batch.labels, trace.logits
            return
        for _, batch in evidence.batches(evidence.data):
            yield batch.ids, batch.labels, model(batch, edits).logits


def class_score(metric: str, evidence: Evidence) -> Callable[[NDArray[np.float64]], float]:
    """The score of lines that hold a label and a decision each."""
    make = METRICS[metric].make
    classes = next(evidence.passes("outcomes")).probabilities.shape[1]

    def score(each: NDArray[np.float64]) -> float:
        labels, decided = each.astype(np.int64).T
        return float(make(labels, np.eye(classes)[decided]))

    return score


ENTRY = Experiment(
    name="score",
    description="F1, accuracy and ROC-AUC on the data, with intervals, and the majority class",
    make=score,
    bounds={"resamples": RESAMPLES},
    version=2,
    paper="jain2019",
    needs=("classes",),
    measures={
        "f1": share("F1 of class 1 (macro for several classes)", True),
        "accuracy": share("share of right predictions", True),
        "roc_auc": share("area under the ROC curve", True),
        "majority": share("share of the largest class: what guessing gives"),
        "correct": share("1 where the prediction is right", True),
        "probability": share("probability of class 1, or of the predicted one of several"),
    },
    formula="F1, accuracy and ROC-AUC of p against the labels; majority = max_c N_c / N",
    higher="the model does its task better; the majority's share is what guessing gives",
    cost="one pass over the texts, and 500 draws of the scores",
    limits="A good score does not say that attention has a part in it.",
)
