"""The compact rows as findings ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from heedful.report import Estimate
from heedful.reproduction.absent import PARTLY
from heedful.studies import dataset_name

PLACE = ["corpus", "model", "size"]
ENCODERS = {
    "bilstm": "LSTM",
    "average": "word vectors",
    "cnn": "convolution",
    "bigru": "GRU",
    "conditional": "conditional LSTM",
}

OURS = {"hatexplain": "HateXplain", "movies": "movie reviews", "tweets": "tweets"}
"""Corpora with rationales, which no table of the papers has."""


@dataclass(frozen=True)
class Place:
    """A corpus and a model, in full or small."""

    corpus: str
    model: str
    size: str

    @property
    def title(self) -> str:
        return titled(model_name(self.model), self.corpus, self.size)


@dataclass(frozen=True)
class Evidence:
    """`rows` are summaries of probes, `audits` those of audits."""

    rows: pd.DataFrame
    audits: pd.DataFrame

    def places(self, paper: str, probe: str) -> Iterator[tuple[Place, pd.DataFrame]]:
        """The lines of a probe in a paper's study, by corpus and model: of runs in full where
        there are some, else of small ones."""
        rows = self.rows[(self.rows["paper"] == paper) & (self.rows["probe"] == probe)]
        found = {Place(*map(str, place)): part for place, part in rows.groupby(PLACE, sort=True)}
        for place, part in found.items():
            if place.size == "full" or replace(place, size="full") not in found:
                yield place, part

    def of_audits(self, kind: str, *measures: str) -> pd.DataFrame:
        table = self.audits
        return table[(table["kind"] == kind) & table["measure"].isin(measures)]


def measured(part: pd.DataFrame, measure: str, group: str = "all") -> pd.DataFrame:
    """The lines of one number, a training each."""
    kept = part[(part["measure"] == measure) & (part["group"] == group) & part["mean"].notna()]
    return kept.sort_values("seed", kind="stable")


def of_line(line: pd.Series) -> Estimate:
    """The number of one line of an audit."""
    mean, low, high = (float(line[name]) for name in ("mean", "low", "high"))
    return Estimate(mean, low, high, int(line["n"]), int(line["seeds"]))


def model_name(model: str) -> str:
    """Our own models by their encoder, which is what differs; others as they are called."""
    return ENCODERS.get(model.removesuffix("-additive"), model)


def titled(model: str, corpus: str, size: str = "full") -> str:
    data = OURS.get(corpus, dataset_name(corpus))
    part = " (a part of it)" * (data in PARTLY)
    return f"{model} on {data}{part}{' (small run)' * (size == 'small')}"
