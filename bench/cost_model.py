"""The cost model: what the full grid of all studies consists of, and costs as sums of constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import nnls

from bench.made_up_models import Made, Shape, made
from heedful.data import CORPORA, at_a_quarter, default_prepare
from heedful.experiments import Evidence
from heedful.models import build
from heedful.runner import Cell, Recipe, compared, grid, unfit
from heedful.specs import ModelSpec, ProbeSpec, TermSpec
from heedful.store import canonical
from heedful.studies import STUDIES

JAIN, SERRANO = "jain2019, table 1", "Serrano & Smith 2019, table 1; vocabulary assumed"
COUNTED = "counted by `heedful prepare`"


@dataclass(frozen=True)
class Corpus:
    """Texts of the splits, mean tokens of side a and side b, and what a model has to know."""

    train: int
    test: int
    length: int
    vocabulary: int
    second: int = 0
    classes: int = 2
    marks: tuple[str, ...] = ()
    source: str = JAIN


def dev(name: str) -> int:
    """Where a corpus brings none, the part that is cut off for it; else taken to be as large."""
    return round(SIZES[name].train * default_prepare(name).dev_fraction)


def dimension(name: str) -> int:
    return default_prepare(name).dimension


def kind(name: str) -> str:
    return CORPORA[name].kind


STORY = ("rationales",)
FORBIDDEN = ("impermissible",)
ALIGNED = ("alignment", "impermissible")
STORIES = f"{JAIN}; lengths {COUNTED}"
OCCUPATION = "test part counted, 20% of all; train taken to be 70%, its vocabulary assumed"
QUESTIONS = f"{JAIN}; questions Hermann et al. 2015"

SIZES: dict[str, Corpus] = {
    "sst": Corpus(6355, 1725, 19, 16_175),
    "imdb": Corpus(25_000, 4356, 179, 13_916),
    "adr": Corpus(16_385, 4123, 20, 8686),
    "20news": Corpus(1426, 334, 115, 8853),
    "agnews": Corpus(60_000, 3800, 36, 14_752),
    "diabetes": Corpus(7734, 1614, 1858, 22_316),
    "anemia": Corpus(5098, 1262, 2188, 19_743),
    "snli": Corpus(
        549_367, 9824, 14, 20_982, 8, 3, source=f"{JAIN}; hypotheses Bowman et al. 2015"
    ),
    "mnli": Corpus(
        392_702, 9815, 20, 40_000, 10, 3, source="Williams et al. 2018; vocabulary assumed"
    ),
    "cnn": Corpus(380_298, 3198, 761, 74_790, 13, 600, source=f"{QUESTIONS}; classes assumed"),
    "babi1": Corpus(10_000, 1000, 37, 25, 4, 6, STORY, STORIES),
    "babi2": Corpus(10_000, 1000, 94, 39, 5, 6, STORY, STORIES),
    "babi3": Corpus(10_000, 1000, 302, 40, 8, 6, STORY, STORIES),
    "yahoo": Corpus(1_400_000, 50_000, 104, 100_000, 0, 10, source=SERRANO),
    "imdb10": Corpus(122_121, 13_548, 395, 100_000, 0, 10, source=SERRANO),
    "amazon": Corpus(3_000_000, 650_000, 73, 100_000, 0, 5, source=SERRANO),
    "yelp": Corpus(650_000, 50_000, 125, 100_000, 0, 5, source=SERRANO),
    "multi30k": Corpus(29_000, 1000, 14, 7790, 14, source=COUNTED),
    "newscommentary": Corpus(242_770, 3000, 30, 16_000, 30, source="WMT16's page; lengths assumed"),
    "wmt13": Corpus(4_500_000, 3000, 30, 32_000, 30, source="WMT13's page; lengths assumed"),
    "deception": Corpus(1500, 500, 17, 94, marks=FORBIDDEN + STORY, source=COUNTED),
    "deception_occupation": Corpus(1500, 500, 22, 123, marks=FORBIDDEN + STORY, source=COUNTED),
    "pronoun": Corpus(9017, 1127, 22, 8710, marks=FORBIDDEN, source=COUNTED),
    "occupation": Corpus(17_629, 5037, 48, 12_000, marks=FORBIDDEN, source=OCCUPATION),
    "sst_wiki": Corpus(6920, 1821, 43, 14_957, marks=FORBIDDEN, source=COUNTED),
    "toy_copy": Corpus(4000, 500, 7, 104, 7, marks=ALIGNED, source=COUNTED),
    "toy_reverse": Corpus(4000, 500, 7, 104, 7, marks=ALIGNED, source=COUNTED),
    "toy_flip": Corpus(4000, 500, 7, 104, 7, marks=ALIGNED, source=COUNTED),
}


# Costs as sums of a few products, each with a constant that is measured and never negative.


SPREAD = 1 + 1 / 12
"""The mean square of lengths spread evenly by half of their mean, over the mean's square."""


@dataclass(frozen=True)
class Point:
    """Where a cost is measured or wanted: so many texts of a mean length (of side a, and of
    side b), in batches of so many, with vectors of so many words."""

    texts: int = 0
    length: int = 0
    second: int = 0
    batch: int = 0
    vocabulary: int = 0
    dimension: int = 0


FEATURES: Mapping[str, Callable[[Point], float]] = {
    "once": lambda p: 1.0,
    "step": lambda p: p.length + p.second,
    "text": lambda p: p.texts,
    "token": lambda p: (p.texts or p.batch) * (p.length + p.second),
    "pair": lambda p: (p.texts or p.batch) * SPREAD * p.length**2,
    "number": lambda p: p.vocabulary * p.dimension,
    "word": lambda p: p.batch * p.second * p.vocabulary,
}
UPDATE = ("once", "step", "token", "number")
UPDATE_WRITING = (*UPDATE, "word")
WORK = ("once", "step", "text", "token", "pair")
AUDIT = ("text", "token", "pair")
BYTES = ("once", "text", "token")
LINEAR = ("once", "text")


@dataclass(frozen=True)
class Fit:
    """A constant for each product."""

    constants: Mapping[str, float]

    def predict(self, point: Point) -> float:
        return sum(value * FEATURES[name](point) for name, value in self.constants.items())


def fit(measured: Sequence[tuple[Point, float]], features: Sequence[str]) -> Fit:
    """Relative errors count, so that small sizes count as much as large ones."""
    wanted = np.array([max(value, 1e-9) for _, value in measured])
    table = np.array([[FEATURES[name](point) for name in features] for point, _ in measured])
    scale = table.max(0).clip(1e-9)
    found, _ = nnls(table / scale / wanted[:, None], np.ones(len(wanted)))
    return Fit(dict(zip(features, (found / scale).tolist(), strict=True)))


def checked(known: Fit, point: Point, measured: float) -> dict[str, Any]:
    """A prediction beside what was measured at a size the constants have not seen."""
    predicted = known.predict(point)
    return {
        "at": asdict(point),
        "predicted": predicted,
        "measured": measured,
        "ratio": predicted / max(measured, 1e-12),
    }


# What the full grid of all studies consists of: by the studies' own settings and roles.


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
