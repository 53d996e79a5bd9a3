"""What the full grid of all studies consists of: by the studies' own settings and roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from bench.cost_corpora import SIZES, Corpus, dimension, kind
from bench.gpu_texts import Made, Shape, made
from heedful.corpora import at_a_quarter
from heedful.experiments import Evidence
from heedful.models import build
from heedful.runner import Cell, Recipe, compared, grid, unfit
from heedful.specs import ModelSpec, ProbeSpec, TermSpec
from heedful.store import canonical
from heedful.studies import STUDIES

FEW = 4


@dataclass(frozen=True)
class Asked:
    """A probe of one model on one corpus."""

    corpus: str
    model: ModelSpec
    probe: ProbeSpec


@dataclass
class Needs:
    """What several cells or studies need is there once; `studies` says who asked first."""

    cells: dict[str, int] = field(default_factory=dict)
    models: dict[tuple[str, Recipe], str] = field(default_factory=dict)
    probes: dict[str, tuple[str, Asked]] = field(default_factory=dict)


@cache
def needs(*names: str) -> Needs:
    """Every study, or those named, in full: all their corpora, models, seeds and probes."""
    found = Needs()
    for name in names or STUDIES:
        plan = grid(STUDIES[name].make())
        found.cells[name] = len(plan.cells)
        for cell in plan.cells:
            _add(found, name, cell)
    return found


def _add(found: Needs, study: str, cell: Cell) -> None:
    corpus, seen = cell.corpus.name, _shown(cell.corpus.name, cell.model)
    recipes = [cell.recipe]
    for probe in cell.probes:
        if unfit(probe.name, seen) is None:
            recipes += compared(cell.recipe, probe, seen).values()
            key = canonical({"c": corpus, "m": cell.model, "s": cell.seed, "p": probe})
            found.probes.setdefault(key, (study, Asked(corpus, cell.model, probe)))
    for recipe in recipes:
        for each in _with_teachers(recipe):
            found.models.setdefault((corpus, each), study)


def _with_teachers(recipe: Recipe | None) -> Iterator[Recipe]:
    while recipe is not None:
        yield recipe
        recipe = recipe.teacher


@cache
def _shown(corpus: str, model: ModelSpec) -> Evidence:
    """A model that has learned nothing, and four texts of the corpus's kind: what fits it."""
    return evidence(standing_in(corpus, FEW, 6, 50), model)


def standing_in(corpus: str, texts: int, length: int, vocabulary: int, train: int = FEW) -> Made:
    """Made-up texts with the classes and marks of a corpus, and the lengths that are asked."""
    size: Corpus = SIZES[corpus]
    second = {"single": 0, "pair": min(size.second, length)}.get(kind(corpus), length)
    shape = Shape(
        kind(corpus), length, second, vocabulary, dimension(corpus), size.classes, size.marks
    )
    return made(shape, {"train": train, "dev": max(FEW, size.classes), "test": texts})


def evidence(data: Made, spec: ModelSpec, device: str = "cpu") -> Evidence:
    model = build(spec, data.vectors, data.classes, 0).to(device).eval()
    test = data.split("test")
    return Evidence(
        {"base": model},
        at_a_quarter(test) if data.task == "generation" else test,
        0,
        device,
        task=data.task,
        whole=test,
        words=data.words,
        training=data.split("train"),
    )


def trained_alike(model: ModelSpec) -> ModelSpec:
    """Models that take as long to train have the same: weights of terms, edits and (of one
    text and of pairs) the kind of attention change nothing to speak of."""
    terms = tuple(TermSpec(term.name, 1.0, term.params) for term in model.terms)
    return replace(_alike(model), terms=terms, goal=model.goal)


def probed_alike(model: ModelSpec) -> ModelSpec:
    """Nor does a trained model know by what loss it was trained. Narrow models of pairs are
    taken to be as slow as wide ones."""
    plain = replace(_alike(model), terms=(), goal="labels")
    return replace(plain, hidden=None, decoder="query") if model.family == "pair" else plain


def _alike(model: ModelSpec) -> ModelSpec:
    attention = "additive" if model.family in ("one_sequence", "pair") else model.attention
    return replace(model, attention=attention, train_edit="", blind=False, dropout=0.0)
