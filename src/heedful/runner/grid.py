"""The cells of a study: corpora, models, seeds and probes, with a user's choices and shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from heedful.data import CORPORA, MissingData, Prepared, default_spec, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.experiments import PROBES
from heedful.models import FAMILIES, build
from heedful.models import check as check_model
from heedful.parameters import check_parameters, parameters_of, takes_several
from heedful.progress import Progress, silent
from heedful.runner.probe import PRECISIONS
from heedful.runner.train import Masking, Recipe
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, canonical, run_key
from heedful.studies import Small, Study
from heedful.training import check_data
from heedful.training.loop import check as check_training
from heedful.training.loss import check as check_aim

USUAL = {
    "one_sequence": ModelSpec("bilstm", "additive"),
    "hierarchical": ModelSpec("bigru", "additive", family="hierarchical"),
    "pair": ModelSpec("bilstm", "additive", family="pair", decoder="query"),
    "biattention": ModelSpec("bilstm", "trilinear", family="biattention"),
    "seq2seq": ModelSpec("bilstm", "additive", family="seq2seq", dropout=0.3),
    "transformer": ModelSpec("prenorm", "dot", family="transformer", dropout=0.1),
}
FAMILY_OF = {"single": "one_sequence", "pair": "pair", "generation": "seq2seq"}
WRITING = TrainSpec(
    epochs=20,
    batch_size=64,
    weight_decay=0.0,
    clip=1.0,
    class_weights=False,
    select="likelihood",
    patience=4,
)


SIZES = ("full", "small")
MOST_CELLS = 50_000


def usual(kind: str, family: str | None) -> ModelSpec:
    """Of the family, where one is named; an unknown one is refused later, by name."""
    chosen = family or FAMILY_OF[kind]
    return USUAL.get(chosen, ModelSpec(family=chosen))


@dataclass(frozen=True)
class Choice:
    """None leaves what the study has; `model` and `train` replace fields of all its specs."""

    encoders: list[str] | None = None
    attentions: list[str] | None = None
    model: tuple[tuple[str, Any], ...] = ()
    train: tuple[tuple[str, Any], ...] = ()
    probes: list[str] | None = None
    size: str = "full"
    probe_params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By probe: what takes the place of the study's own parameters, or joins them."""
    family: str | None = None
    """Of all models, in place of theirs, with its usual attention and decoder."""

    def models(self, given: tuple[ModelSpec, ...]) -> list[ModelSpec]:
        """The study's models with the chosen parts, each once."""
        chosen = (
            replace(model, encoder=encoder, attention=attention, **dict(self.model))
            for model in map(self._of_family, given)
            for encoder in self.encoders or [model.encoder]
            for attention in self.attentions or [model.attention]
        )
        return list(dict.fromkeys(chosen))

    def _of_family(self, model: ModelSpec) -> ModelSpec:
        if self.family is None:
            return model
        if self.family not in USUAL:
            raise unknown_name("family", self.family, list(USUAL))
        usual = USUAL[self.family]
        return replace(model, family=self.family, attention=usual.attention, decoder=usual.decoder)

    def asked(
        self, given: tuple[ProbeSpec, ...], small: Small | None = None
    ) -> tuple[ProbeSpec, ...]:
        """The chosen probes: with the study's parameters where it has them."""
        own = {probe.name: probe for probe in given}
        if self.size == "small" and small is not None:
            own |= {probe.name: probe for probe in small.probes if probe.name in own}
        names = own if self.probes is None else self.probes
        asked = tuple(self._with_params(own.get(name, ProbeSpec(name))) for name in names)
        for probe in asked:  # an unknown one is refused here
            piece = PROBES[probe.name]
            what = f"the probe {probe.name}"
            handed = list(parameters_of(piece.make))[:1]  # what it measures on
            check_parameters(what, piece.make, probe.params, piece.bounds, handed)
        return asked

    def _with_params(self, probe: ProbeSpec) -> ProbeSpec:
        """One value is a list of one where the probe takes several."""
        given = self.probe_params.get(probe.name)
        if not given:
            return probe
        known = parameters_of(PROBES[probe.name].make)
        several = {name for name in given if name in known and takes_several(known[name])}
        values = {
            name: (value,) if name in several and not isinstance(value, tuple) else value
            for name, value in given.items()
        }
        return ProbeSpec(probe.name, {**probe.params, **values})

    def training(self, given: TrainSpec, small: Small | None) -> TrainSpec:
        """The study's training with the chosen fields; with the preset `small`, its epochs."""
        if self.size not in SIZES:
            raise unknown_name("size", self.size, list(SIZES))
        if self.size == "small" and small is not None and small.epochs is not None:
            given = replace(given, epochs=small.epochs)
        return replace(given, **dict(self.train))


@dataclass(frozen=True)
class Cell:
    """One model of the grid, to be trained with one seed, and what is asked of it."""

    corpus: CorpusSpec
    model: ModelSpec
    seed: int
    train: TrainSpec
    probes: tuple[ProbeSpec, ...]
    masking: Masking | None = None

    @property
    def title(self) -> str:
        return f"{self.corpus.title} {self.recipe.title}"

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.model, self.train, self.seed, masking=self.masking)

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
        """Whether no cell can be done here: all failed elsewhere."""
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
    _check_given(study, cells, choice)
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, list(PRECISIONS))
    return Grid(study, cells, data_dir, precision, lenient=corpora is None)


def _check_given(study: Study, cells: list[Cell], choice: Choice) -> None:
    """Parameters of a probe that no cell asks for would be passed over in silence."""
    asked = {probe.name for cell in cells for probe in cell.probes}
    for name in choice.probe_params:
        if name not in asked:
            raise unknown_name(f"probe of these cells of {study.name}", name, sorted(asked))


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


@dataclass(frozen=True)
class Shard:
    """Number `number` of `of`, counted from 1."""

    number: int
    of: int

    def holds(self, cell: Cell) -> bool:
        """By the cell's hash: every cell is in one shard, whatever else is in the grid."""
        return int(cell.name.rpartition("-")[2], 16) % self.of == self.number - 1

    def cut(self, plan: Grid) -> Grid:
        """The plan with this shard's cells only."""
        return replace(plan, cells=[cell for cell in plan.cells if self.holds(cell)])


def shard(text: str) -> Shard:
    """From `2/8`."""
    number, _, of = text.partition("/")
    plain = all(part.isdecimal() and len(part) < 10 for part in (number, of))
    if not plain or not 1 <= int(number) <= int(of):
        raise HeedfulError(f"--shard is {text!r}: write i/n with i from 1 to n, such as 2/8.")
    return Shard(int(number), int(of))
