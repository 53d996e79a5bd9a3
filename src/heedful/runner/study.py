"""Run a study: every cell of its grid trained and probed, and a run that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.corpora.defaults import default_spec
from heedful.corpora.prepare import prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.models.build import check as check_model
from heedful.progress import Progress, silent
from heedful.runner.machine import Machine
from heedful.runner.probe import PRECISIONS, Reading, Skipped, probed
from heedful.runner.train import trained
from heedful.specs import CorpusSpec, ModelSpec
from heedful.store import Run, Store, canonical, run_key
from heedful.studies.study import Study
from heedful.training.loop import check as check_training

CELL_COLUMNS = [
    "corpus",
    "model",
    "encoder",
    "attention",
    "layers",
    "seed",
    "probe",
    "run",
    "model_run",
    "corpus_run",
]


@dataclass(frozen=True)
class Cell:
    """One model of the grid, to be trained with one seed."""

    corpus: CorpusSpec
    model: ModelSpec
    seed: int

    @property
    def title(self) -> str:
        return f"{self.corpus.title} {self.model.name} seed {self.seed}"


@dataclass
class Grid:
    """A study with its choices made."""

    study: Study
    cells: list[Cell]
    data_dir: Path | None = None
    precision: str = "float32"
    prepared: dict[str, Run] = field(default_factory=dict)

    def corpus(self, cell: Cell, store: Store, progress: Progress = silent) -> Run:
        """The prepared corpus of a cell, prepared once."""
        key = canonical(cell.corpus)
        if key not in self.prepared:
            self.prepared[key] = prepare(cell.corpus, store, self.data_dir, progress)
            _check_splits(cell.corpus.title, self.prepared[key].json("report")["splits"])
        return self.prepared[key]


def grid(
    study: Study,
    corpora: list[CorpusSpec] | None = None,
    models: list[ModelSpec] | None = None,
    seeds: list[int] | None = None,
    data_dir: Path | None = None,
    precision: str = "float32",
) -> Grid:
    """The study's cells, corpus by corpus, so that partial results are useful early."""
    corpora = corpora or [default_spec(name) for name in study.corpora]
    models = models or [
        ModelSpec(encoder, attention)
        for encoder in study.encoders
        for attention in study.attentions
    ]
    check_training(study.train)
    for model in models:
        check_model(model)
    cells = [
        Cell(corpus, model, seed)
        for corpus in corpora
        for model in models
        for seed in seeds or study.seeds
    ]
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, list(PRECISIONS))
    return Grid(study, cells, data_dir, precision)


def _check_splits(title: str, splits: dict[str, Any]) -> None:
    """Every split is needed, and training and choosing an epoch need every class."""
    for name in ("train", "dev", "test"):
        counts = splits.get(name, {}).get("by_class", [])
        if not sum(counts):
            raise HeedfulError(f"the {name} split of {title} is empty: bring one or a larger file.")
        if name != "test" and 0 in counts:
            raise HeedfulError(
                f"the {name} split of {title} lacks class {counts.index(0)}: "
                f"bring more texts or another split."
            )


def run_study(
    plan: Grid,
    store: Store,
    machine: Machine,
    progress: Progress = silent,
    announce: Callable[[str], None] = lambda line: None,
) -> Run:
    """Train and probe what is not in the store yet, then write the list of all cells."""
    cells: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for number, cell in enumerate(plan.cells, 1):
        plan.corpus(cell, store, progress)
        announce(f"[{number}/{len(plan.cells)}] {cell.title}")
        for line, reason in _run_cell(plan, cell, store, machine, progress):
            if reason is None:
                cells.append(line)
            else:
                skipped.append({**line, "reason": reason})
    return _list(plan, store, cells, skipped)


def _run_cell(
    plan: Grid, cell: Cell, store: Store, machine: Machine, progress: Progress
) -> Iterator[tuple[dict[str, Any], str | None]]:
    corpus = plan.corpus(cell, store, progress)
    model = trained(store, corpus, cell.model, plan.study.train, cell.seed, machine, progress)
    reading = Reading(cell.seed, precision=plan.precision)
    for probe, result in probed(store, model, plan.study.probes, reading, machine, progress):
        line = {
            "corpus": cell.corpus.title,
            "model": cell.model.name,
            "encoder": cell.model.encoder,
            "attention": cell.model.attention,
            "layers": cell.model.layers,
            "seed": cell.seed,
            "probe": probe.name,
            "run": "" if isinstance(result, Skipped) else result.key,
            "model_run": model.key,
            "corpus_run": corpus.key,
        }
        yield line, result.reason if isinstance(result, Skipped) else None


def _list(plan: Grid, store: Store, cells: list[dict[str, Any]], skipped: list[Any]) -> Run:
    upstream = {f"{c['corpus']}/{c['model']}/{c['seed']}/{c['probe']}": c["run"] for c in cells}
    facts = {
        "piece": plan.study.name,
        "version": plan.study.version,
        "params": {"train": asdict(plan.study.train)},
        "upstream": upstream,
    }
    key = run_key("study", facts)
    if not store.has(key):
        with store.writing("study", facts) as run:
            run.table("cells", pd.DataFrame(cells, columns=CELL_COLUMNS))
            run.table("skipped", pd.DataFrame(skipped, columns=[*CELL_COLUMNS, "reason"]))
    return store.open(key)
