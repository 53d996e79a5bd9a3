"""A paper's printed tables: which metrics and classes they have, and what stands in a cell."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from heedful.report.studied import study_of
from heedful.studies import METRICS, published

NOTHING = (math.nan, math.nan)


@dataclass(frozen=True)
class Printed:
    """Cells with the `number` of their table and its `version` (paper, slides); `deeper` are
    the tables of models of several layers."""

    cells: pd.DataFrame
    deeper: tuple[str, ...] = ()

    @cached_property
    def tables(self) -> list[str]:
        return sorted(set(self.cells["number"]))

    @cached_property
    def datasets(self) -> set[str]:
        return set(self.cells["dataset"])

    def metrics(self, table: str, datasets: Iterable[str]) -> list[str]:
        """What a table prints of any of these datasets, in the table's order."""
        return [str(metric) for metric in self._part(table, datasets)["metric"].unique()]

    def classes(self, table: str, datasets: Iterable[str]) -> set[str]:
        return set(self._part(table, datasets)["class"]) - {"all"}

    def value(self, table: str, version: str, place: tuple[str, ...]) -> tuple[float, float]:
        """The number and its sd in a cell: dataset, class, model, metric."""
        return self._values.get((table, version, *place), NOTHING)

    @cached_property
    def _values(self) -> dict[tuple[str, ...], tuple[float, float]]:
        keys = ["number", "version", "dataset", "class", "model", "metric"]
        return {
            tuple(str(line[key]) for key in keys): (float(line["value"]), float(line["sd"]))
            for line in self.cells.to_dict("records")
        }

    def _part(self, table: str, datasets: Iterable[str]) -> pd.DataFrame:
        chosen = self.cells["dataset"].isin(list(datasets)) & (self.cells["number"] == table)
        return pd.DataFrame(self.cells[chosen])


def printed(paper: str) -> Printed:
    """The tables a study is read against (all of them where there is no study), less the
    metrics that no probe measures. A table printed once is the paper's version."""
    cells, study = published(paper), study_of(paper)
    wanted = cells["metric"].isin(list(METRICS))
    if study and study.published:
        wanted &= cells["table"].isin(list(study.published))
    kept = cells[wanted]
    parts = kept["table"].str.partition("/")
    version = parts[2].where(parts[2] != "", "paper")
    return Printed(kept.assign(number=parts[0], version=version), study.deeper if study else ())
