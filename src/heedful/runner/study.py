"""Run a study: every cell of its grid trained and probed, and a run that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.corpora import CORPORA
from heedful.corpora.defaults import default_spec
from heedful.corpora.prepare import prepare
from heedful.corpora.prepared import Prepared
from heedful.corpora.sources import MissingData
from heedful.errors import HeedfulError, unknown_name
from heedful.models import FAMILIES
from heedful.models.build import build
from heedful.models.build import check as check_model
from heedful.progress import Progress, silent
from heedful.runner.choice import Choice
from heedful.runner.machine import Machine
from heedful.runner.probe import PRECISIONS, Reading, Skipped, probed
from heedful.runner.recipe import Recipe
from heedful.runner.train import model_key, trained
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, canonical, run_key
from heedful.studies.study import Study
from heedful.training.aim import check as check_aim
from heedful.training.aim import check_data
from heedful.training.loop import check as check_training

PARTS = ["family", "encoder", "attention", "layers", "decoder"]
CELL_COLUMNS = ["corpus", "model", *PARTS, "seed", "probe", "run", "model_run", "corpus_run"]
Line = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One model of the grid, to be trained with one seed, and what is asked of it."""

    corpus: CorpusSpec
    model: ModelSpec
    seed: int
    train: TrainSpec
    probes: tuple[ProbeSpec, ...]

    @property
    def title(self) -> str:
        return f"{self.corpus.title} {self.model.name} seed {self.seed}"

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.model, self.train, self.seed)

    @property
    def name(self) -> str:
        """A hash of all it is: the same on every machine and in every study."""
        return run_key("cell", asdict(self))


@dataclass
class Grid:
    """A study with its choices made. A `lenient` one leaves out corpora whose data are not
    there, and says so. Cells that `failed` elsewhere, by name, are not tried here: they are
    listed with the reason."""

    study: Study
    cells: list[Cell]
    data_dir: Path | None = None
    precision: str = "float32"
    lenient: bool = False
    prepared: dict[str, Run] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def hopeless(self) -> bool:
        return all(cell.name in self.failed for cell in self.cells)

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
    choice: Choice = Choice(),
    seeds: list[int] | None = None,
    data_dir: Path | None = None,
    precision: str = "float32",
) -> Grid:
    """The study's cells, corpus by corpus, so that partial results are useful early."""
    cells = [
        cell
        for corpus in corpora or [default_spec(name) for name in study.corpora]
        for cell in _cells(study, corpus, choice, seeds or list(study.seeds))
    ]
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, list(PRECISIONS))
    return Grid(study, cells, data_dir, precision, lenient=corpora is None)


def corpus_kind(spec: CorpusSpec) -> str:
    """single, pair or generation; a user's file is a pair where a second column is named."""
    return "pair" if spec.params.get("text_b_column") else CORPORA[spec.name].kind


def _cells(study: Study, corpus: CorpusSpec, choice: Choice, seeds: list[int]) -> list[Cell]:
    kind = corpus_kind(corpus)
    setting = study.setting(corpus.name, kind)
    small = study.small.get(corpus.name)
    train = choice.training(setting.train, small)
    check_training(train)
    models = choice.models(setting.models)
    for model in models:
        wanted = FAMILIES[model.family].kind
        if wanted != kind:
            raise HeedfulError(
                f"the family {model.family} is for corpora of the kind {wanted}, and "
                f"{corpus.title} is of the kind {kind}: choose another family or corpus."
            )
        check_model(model)
        check_aim(model)
    return [
        Cell(corpus, model, seed, train, choice.asked(setting.probes, small))
        for model in models
        for seed in seeds
    ]


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
    check_terms(plan, store, progress)
    cells: list[Line] = []
    skipped: list[Line] = []
    for number, cell in enumerate(plan.cells, 1):
        reason = _left_out(plan, cell, store, progress)
        if reason is not None:
            skipped += [{**_line(cell, probe.name), "reason": reason} for probe in cell.probes]
            announce(f"[{number}/{len(plan.cells)}] {cell.title} is left out: {reason}")
            continue
        announce(f"[{number}/{len(plan.cells)}] {cell.title}")
        for line, reason in _run_cell(plan, cell, store, machine, progress):
            if reason is None:
                cells.append(line)
            else:
                skipped.append({**line, "reason": reason})
    return _list(plan, store, cells, skipped)


def _left_out(plan: Grid, cell: Cell, store: Store, progress: Progress) -> str | None:
    """Why a cell is not run, or None."""
    if cell.name in plan.failed:
        return plan.failed[cell.name]
    try:
        plan.corpus(cell, store, progress)
    except MissingData as missing:
        if not plan.lenient:
            raise
        return str(missing)
    return None


def check_terms(plan: Grid, store: Store, progress: Progress = silent) -> None:
    """A corpus that has nothing for a term is refused before any model is trained."""
    for cell in {(canonical(cell.corpus), cell.model): cell for cell in plan.cells}.values():
        if not cell.model.terms:
            continue
        try:
            corpus = Prepared(plan.corpus(cell, store, progress))
        except MissingData:
            continue  # said, or raised, when its turn comes
        model = build(cell.model, corpus.vectors, corpus.classes, 0)
        check_data(cell.model, model, corpus)


def _run_cell(
    plan: Grid, cell: Cell, store: Store, machine: Machine, progress: Progress
) -> Iterator[tuple[Line, str | None]]:
    corpus = plan.corpus(cell, store, progress)

    def run_of(recipe: Recipe) -> Run:
        return trained(store, corpus, recipe, machine, progress)

    model, base = model_key(corpus, cell.recipe), cell.recipe
    reading = Reading(cell.seed, precision=plan.precision)
    for probe, result in probed(store, base, cell.probes, reading, machine, run_of, progress):
        found = "" if isinstance(result, Skipped) else result.key
        line = _line(cell, probe.name, found, model, corpus.key)
        yield line, result.reason if isinstance(result, Skipped) else None


def _line(cell: Cell, probe: str, run: str = "", model: str = "", corpus: str = "") -> Line:
    return {
        "corpus": cell.corpus.title,
        "model": cell.model.name,
        **{part: getattr(cell.model, part) for part in PARTS},
        "seed": cell.seed,
        "probe": probe,
        "run": run,
        "model_run": model,
        "corpus_run": corpus,
    }


def _list(plan: Grid, store: Store, cells: list[Line], skipped: list[Line]) -> Run:
    """What was left out names the run too: else its table could be that of an earlier start."""
    facts = {
        "piece": plan.study.name,
        "version": plan.study.version,
        "params": {"train": [asdict(train) for train in dict.fromkeys(_trains(plan))]},
        "upstream": {_place(line): line["run"] for line in cells},
        "skipped": {_place(line): line["reason"] for line in skipped},
    }
    key = run_key("study", facts)
    if not store.has(key):
        with store.writing("study", facts) as run:
            run.table("cells", pd.DataFrame(cells, columns=CELL_COLUMNS))
            run.table("skipped", pd.DataFrame(skipped, columns=[*CELL_COLUMNS, "reason"]))
            run.json("upstream", _about(store, cells))
    return store.open(key)


def _about(store: Store, cells: list[Line]) -> dict[str, Any]:
    """What a report has to say of corpora and models, where rows travel without them."""
    corpora = {line["corpus_run"]: store.open(line["corpus_run"]) for line in cells}
    models = {line["model_run"]: store.open(line["model_run"]) for line in cells}
    return {
        "corpora": {key: run.json("report") for key, run in corpora.items()},
        "models": {key: run.facts for key, run in models.items()},
    }


def _place(line: Line) -> str:
    return f"{line['corpus']}/{line['model']}/{line['seed']}/{line['probe']}"


def _trains(plan: Grid) -> Iterator[TrainSpec]:
    return (cell.train for cell in plan.cells)
