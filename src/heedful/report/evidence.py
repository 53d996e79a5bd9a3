"""Gather what a report speaks about: the probe runs behind studies, models or probes.

Everything is read from the store; nothing is computed again, and no model is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.report.cells import cell_of_probe, label_cells
from heedful.report.measured import over_seeds, tidy
from heedful.store import Run, Store

CELL_COLUMNS = ["corpus", "model", "seed", "probe", "run", "model_run", "corpus_run"]
SKIPPED_COLUMNS = ["corpus", "model", "probe", "reason"]
ROW_COLUMNS = [
    "example", "site", "head", "query", "predicted", "length", "max_weight", "measure", "value",
]  # fmt: skip
KEYS = ["corpus", "label", "seed", "probe"]


@dataclass(frozen=True)
class Evidence:
    """Probe runs, one per cell; `label` is the model's name made unambiguous."""

    store: Store
    runs: tuple[Run, ...]
    cells: pd.DataFrame
    skipped: pd.DataFrame

    @property
    def papers(self) -> list[str]:
        """The studies among the runs, by name."""
        return sorted({run.fact("piece", str) for run in self.runs if run.kind == "study"})

    @cached_property
    def summaries(self) -> pd.DataFrame:
        """Every probe's summary table, with the cell it belongs to."""
        return self._stack(self.cells, "summary", None)

    @cached_property
    def together(self) -> pd.DataFrame:
        """The summaries with seeds put together: what tables and sentences are made of."""
        return over_seeds(tidy(self.summaries))

    def rows(self, probe: str, measures: Sequence[str]) -> pd.DataFrame:
        """One row per text and measure of one probe, over all cells and seeds."""
        cells = self.cells[self.cells["probe"] == probe]
        rows = self._stack(cells, "rows", ROW_COLUMNS)
        return pd.DataFrame(rows[rows["measure"].isin(list(measures))]) if len(rows) else rows

    def corpus_report(self, corpus_run: str) -> dict[str, Any]:
        """What preparing the corpus reported; empty where nothing of it was carried along."""
        if corpus_run and self.store.has(corpus_run):
            run = self.store.open(corpus_run)
            return dict(run.json("report")) if run.has("report.json") else {}
        return dict(self._carried("corpora").get(corpus_run, {}))

    def model_specs(self, corpus: str, label: str | None = None) -> list[dict[str, Any]]:
        """The specs of the models on a corpus (under one label), where they are known."""
        chosen = self.cells["corpus"] == corpus
        if label is not None:
            chosen &= self.cells["label"] == label
        keys = self.cells.loc[chosen, "model_run"].unique()
        facts = [self.model_facts(str(key)) for key in keys if key]
        return [dict(each["model"]) for each in facts if "model" in each]

    def model_facts(self, model_run: str) -> dict[str, Any]:
        """What made a model; empty where nothing of it was carried along."""
        if self.store.has(model_run):
            return dict(self.store.open(model_run).facts)
        return dict(self._carried("models").get(model_run, {}))

    def _carried(self, what: str) -> dict[str, Any]:
        """What studies say of the corpora or models that stand behind their rows."""
        runs = [run for run in self.runs if run.kind == "study" and run.has("upstream.json")]
        return {key: about for run in runs for key, about in run.json("upstream")[what].items()}

    def params(self, corpus: str, label: str, probe: str) -> dict[str, Any]:
        """The parameters that a probe was given on a model; seeds share them."""
        cells = self.cells[(self.cells["corpus"] == corpus) & (self.cells["label"] == label)]
        runs = [self.store.open(str(key)) for key in cells["run"][cells["probe"] == probe]]
        return runs[0].fact("params", dict) if runs and "params" in runs[0].facts else {}

    def notes(self, corpus: str, label: str, probe: str) -> dict[str, str]:
        """What a probe says about its numbers, such as BLEU's signature; seeds share it."""
        cells = self.cells[(self.cells["corpus"] == corpus) & (self.cells["label"] == label)]
        runs = [self.store.open(str(key)) for key in cells["run"][cells["probe"] == probe]]
        return {
            name: text
            for run in runs
            if run.has("notes.json")
            for name, text in run.json("notes").items()
        }

    def writes(self, corpus: str) -> bool:
        """Whether texts are generated, so that classes are words; where the corpus was not
        carried along, a translation that was scored tells."""
        cells = self.cells[self.cells["corpus"] == corpus]
        reports = [self.corpus_report(str(key)) for key in cells["corpus_run"].unique()]
        tasks = {report.get("task") for report in reports}
        return "generation" in tasks or "translation" in set(cells["probe"])

    def label_names(self, corpus: str) -> dict[int, str]:
        """Class number → name, as the corpus reports them."""
        for key in self.cells.loc[self.cells["corpus"] == corpus, "corpus_run"].unique():
            names = self.corpus_report(str(key)).get("labels", [])
            if names:
                return {index: str(name) for index, name in enumerate(names)}
        return {}

    def _stack(self, cells: pd.DataFrame, name: str, columns: list[str] | None) -> pd.DataFrame:
        parts = []
        for cell in cells.to_dict("records"):
            run = self.store.open(str(cell["run"]))
            if not run.has(f"{name}.parquet"):
                continue
            part = run.table(name)
            if columns is not None:
                part = part[[column for column in columns if column in part]]
            part = part.assign(**{str(key): cell[key] for key in KEYS})
            sites = part["site"].astype(str) if "site" in part else pd.Series("", part.index)
            if sites[sites != ""].nunique() > 1:  # "" is a number for all sites together
                part["label"] += (" @ " + sites).where(sites != "", "")
            parts.append(part)
        if not parts:
            return pd.DataFrame(columns=[*KEYS, *(columns or ["measure", "group"])])
        return pd.concat(parts, ignore_index=True)


def gather(store: Store, runs: Sequence[Run]) -> Evidence:
    """The evidence behind study, model or probe runs."""
    if not runs:
        raise HeedfulError("a report needs at least one run: `heedful store ls` lists them.")
    cells = [cell for run in runs for cell in _cells(store, run)]
    skipped = _skipped(runs)
    if not cells:
        raise _nothing(runs, skipped)
    table = pd.DataFrame(cells)[CELL_COLUMNS].drop_duplicates("run", ignore_index=True)
    return Evidence(store, tuple(runs), label_cells(store, table), skipped)


def _skipped(runs: Sequence[Run]) -> pd.DataFrame:
    found = [run.table("skipped") for run in runs if run.has("skipped.parquet")]
    together = pd.concat(found, ignore_index=True) if found else pd.DataFrame()
    return together.reindex(columns=SKIPPED_COLUMNS).drop_duplicates(ignore_index=True)


def _nothing(runs: Sequence[Run], skipped: pd.DataFrame) -> HeedfulError:
    """Why there is nothing to show: nothing was asked, or nothing could be done."""
    keys = ", ".join(run.key for run in runs)
    if not len(skipped):
        return HeedfulError(f"no probe was run on {keys}: run `heedful study` or a probe first.")
    first = skipped.iloc[0]
    return HeedfulError(
        f"every probe of {keys} was left out, the first ({first['probe']} on {first['corpus']}) "
        f"because {str(first['reason']).rstrip('.')}: ask for others with --probes or --corpora."
    )


def _cells(store: Store, run: Run) -> list[dict[str, Any]]:
    if run.kind == "study":
        records = run.table("cells").to_dict("records")
        return [{str(name): value for name, value in record.items()} for record in records]
    if run.kind == "model":
        probes = (probe for probe in store.runs("probe") if probe.upstream.get("base") == run.key)
        return [cell_of_probe(store, probe) for probe in probes]
    if run.kind == "probe":
        return [cell_of_probe(store, run)]
    raise HeedfulError(
        f"{run.key} is of kind {run.kind}: a report is made of study, model, probe or audit runs."
    )
