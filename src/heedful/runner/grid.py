"""A study's grid: its cells, with what a user chose instead of its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from heedful.corpora import CORPORA, MissingData, Prepared, default_spec, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.models import FAMILIES, build
from heedful.models import check as check_model
from heedful.progress import Progress, silent
from heedful.runner.choice import Choice
from heedful.runner.probe import PRECISIONS
from heedful.runner.recipe import Recipe
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, canonical, run_key
from heedful.studies import Study
from heedful.training import check_data
from heedful.training.loop import check as check_training
from heedful.training.loss import check as check_aim

MOST_CELLS = 50_000


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
    every = (
        cell
        for corpus in corpora or [default_spec(name) for name in study.corpora]
        for cell in _cells(study, corpus, choice, seeds or list(study.seeds))
    )
    cells = list(islice(every, MOST_CELLS + 1))
    check_size(len(cells))
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, list(PRECISIONS))
    return Grid(study, cells, data_dir, precision, lenient=corpora is None)


def check_size(cells: int) -> None:
    """Before each of them is looked at."""
    if cells > MOST_CELLS:
        raise HeedfulError(
            f"these choices make more than {MOST_CELLS:,} models: give fewer seeds, corpora or "
            f"encoders, or several files."
        )


def corpus_kind(spec: CorpusSpec) -> str:
    """single, pair or generation; a user's file is a pair where a second column is named."""
    return "pair" if spec.params.get("text_b_column") else CORPORA[spec.name].kind


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


def _cells(study: Study, corpus: CorpusSpec, choice: Choice, seeds: list[int]) -> list[Cell]:
    kind = corpus_kind(corpus)
    setting = study.setting(corpus.name, kind)
    small = study.small.get(corpus.name)
    train = choice.training(setting.training(corpus.name), small)
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
    probes = choice.asked(setting.probes, small)
    return [Cell(corpus, model, seed, train, probes) for model in models for seed in seeds]


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
