"""ROAR: mask the words that an explanation names, train again, and see what is lost.

Hooker et al. 2019. Recursively (Madsen et al. 2022), each step explains the model of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.attributions import SALIENCIES
from heedful.data import Prepared, prepare
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics import RANDOM, ROAR_COLUMNS, racus
from heedful.progress import Progress, silent
from heedful.report import check_packages, roar_page, roar_svg
from heedful.runner import (
    Cell,
    EngineRequest,
    Grid,
    Machine,
    Masking,
    Reading,
    Recipe,
    Skipped,
    check_size,
    corpus_kind,
    grid,
    jobs,
    magnitudes,
    makespan,
    probed,
    run_elsewhere,
    trained,
    untrained,
)
from heedful.specs import CorpusSpec, ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Run, Store, output_folder, refusals, to_csv, write_file
from heedful.studies import Setting, Study

ROAR = "roar"
"""The kind of folder."""
RECURSIVE, ONCE = "recursive", "once"
"""Whether each step explains the model of the step before, or all steps the first model."""
USUAL_EXPLANATIONS = ("attention", "gradient", "gradient_input", "integrated_gradients")
STEPS = tuple(range(10, 100, 10))
SCORED = ProbeSpec("score")
SCORES = ("accuracy", "f1", "roc_auc")
ALL = 100
_FEW = 2


@dataclass(frozen=True)
class RoarWork:
    """`steps` are percentages of words. Random masking takes part whether it is named or not."""

    corpus: CorpusSpec
    model: ModelSpec
    explanations: tuple[str, ...] = USUAL_EXPLANATIONS
    steps: tuple[int, ...] = STEPS
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    train: TrainSpec = field(default_factory=TrainSpec)
    mode: str = RECURSIVE
    score: str = "accuracy"
    data_dir: Path | None = None
    engine: EngineRequest = field(default_factory=EngineRequest)

    def __post_init__(self) -> None:
        for name in self.explanations:
            if "layers" in SALIENCIES[name].needs:  # an unknown one is refused by name
                raise HeedfulError(
                    f"the explanation {name!r} follows tokens through the layers of a pretrained "
                    f"model, and ROAR trains models from scratch: leave it out."
                )
        if self.score not in SCORES:
            raise unknown_name("score", self.score, list(SCORES))
        if not self.steps or list(self.steps) != sorted({*self.steps} & {*range(1, ALL)}):
            raise HeedfulError(
                f"--steps are {', '.join(map(str, self.steps))}: give rising percentages from 1 to "
                f"99, such as 10,30,50."
            )
        if corpus_kind(self.corpus) == "generation":
            raise HeedfulError(
                f"{self.corpus.title} is for models that write, and ROAR needs a score of classes: "
                f"choose a corpus with classes."
            )

    @property
    def named(self) -> tuple[str, ...]:
        """The explanations that are compared with random masking."""
        return tuple(name for name in self.explanations if name != RANDOM)


@dataclass(frozen=True)
class Point:
    """A model on the curve of an explanation."""

    explanation: str
    percent: int
    cell: Cell


def draw(work: RoarWork, store: Store, progress: Progress = silent) -> tuple[Grid, list[Point]]:
    """The models, each once, and the curves they are on. An explanation that does not fit the model
    is refused before any is trained."""
    corpus = prepare(work.corpus, store, work.data_dir, progress)
    setting = Setting(corpus_kind(work.corpus), (), (work.model,), (SCORED,), work.train)
    study, seeds = Study(ROAR, 1, (setting,)), list(work.seeds)
    plan = grid(study, [work.corpus], seeds=seeds, data_dir=work.data_dir)
    check_size(len(plan.cells) * (len(work.named) + 1) * len(work.steps))
    sample = untrained(corpus, work.model, count=_FEW)
    for name in work.named:
        for _, batch in sample.batches(sample.data):
            magnitudes(sample.models["base"], batch, name)
    points = [point for base in plan.cells for point in _points(work, base)]
    cells = list({point.cell.name: point.cell for point in points}.values())
    return replace(plan, cells=cells, lenient=False), points


def _points(work: RoarWork, base: Cell) -> Iterator[Point]:
    """Of one seed. Random words are the same whatever model is explained, and nothing is left to
    explain where all are masked: such models are trained once."""

    def masked(explanation: str, percent: int, explained: Recipe) -> Cell:
        return replace(base, masking=Masking(explanation, percent, explained))

    for explanation in (RANDOM, *work.named):
        yield Point(explanation, 0, base)
        explained = base.recipe
        for percent in work.steps:
            cell = masked(explanation, percent, explained)
            yield Point(explanation, percent, cell)
            if explanation != RANDOM and work.mode == RECURSIVE:
                explained = cell.recipe
        yield Point(explanation, ALL, masked(RANDOM, ALL, base.recipe))


@dataclass(frozen=True)
class RoarCost:
    """All models, those that are still to be trained, and the seconds of these with their scores:
    of all together, and until the workers are done."""

    models: int
    missing: int
    seconds: float
    elapsed: float


def roar_cost(work: RoarWork, store: Store, machine: Machine) -> RoarCost:
    """One model is timed, and one explanation of each kind."""
    plan, _ = draw(work, store)
    todo = jobs([plan], store, machine)
    models = [job for job in todo if job.kind == "model"]
    missing = sum(not job.done for job in models)
    workers = work.engine.chosen(machine.device).pool.workers if work.engine.engine else 1
    seconds = sum(job.cost for job in todo)
    return RoarCost(len(models), missing, seconds, makespan(todo, workers))


def roar(
    work: RoarWork,
    store: Store,
    machine: Machine,
    progress: Progress = silent,
    announce: Callable[[str], None] = lambda line: None,
) -> Roar:
    """Whatever is in the store is not done again: started anew after a kill, it goes on."""
    plan, points = draw(work, store, progress)
    run_elsewhere(plan, work.engine, store, machine)
    scores = {}
    for number, cell in enumerate(plan.cells, 1):
        announce(f"[{number}/{len(plan.cells)}] {cell.title}")
        scores[cell.name] = _scored(plan, cell, store, machine, progress)
    lines = [
        (p.explanation, p.percent, p.cell.seed, scores[p.cell.name][work.score]) for p in points
    ]
    facts = {
        "corpus": work.corpus.title,
        "model": work.model.name,
        "mode": work.mode,
        "score": work.score,
        "majority": next(iter(scores.values()))["majority"],
        "seeds": list(work.seeds),
        "steps": list(work.steps),
        "epochs": work.train.epochs,
        "texts": len(Prepared(plan.corpus(plan.cells[0], store)).split("test")),
    }
    return Roar(pd.DataFrame(lines, columns=ROAR_COLUMNS), facts)


def _scored(
    plan: Grid, cell: Cell, store: Store, machine: Machine, progress: Progress
) -> dict[str, float]:
    """By measure, on the test split as the model sees it: with the same share of words masked."""
    corpus = plan.corpus(cell, store, progress)

    def run_of(recipe: Recipe) -> Run:
        return trained(store, corpus, recipe, machine, progress)

    reading = Reading(cell.seed, precision=plan.precision)
    ((_, run),) = probed(store, cell.recipe, cell.probes, reading, machine, run_of, progress)
    if isinstance(run, Skipped):
        raise HeedfulError(f"{cell.title} has no score: {run.reason}.")
    summary = run.table("summary")
    return dict(zip(summary["measure"], map(float, summary["mean"]), strict=True))


@dataclass(frozen=True)
class Roar:
    """The score of each model, by explanation, percentage and seed, and what was done."""

    rows: pd.DataFrame
    facts: Mapping[str, Any]

    @property
    def racu(self) -> pd.DataFrame:
        """RACU of each explanation."""
        return racus(self.rows)

    def save(self, folder: str | Path) -> Path:
        """`roar.csv`, whole or not at all; then it is drawn, as `roar.svg` and `roar.html`. An
        earlier one makes way."""
        out = Path(folder)
        check_packages()
        with refusals(f"write the curves to {out}", "make room or give another folder with -o"):
            with output_folder(out, ROAR) as building:
                text = to_csv(self.rows)
                (building / "roar.csv").write_text(text, encoding="utf8", newline="\n")
            write_file(out / "roar.svg", roar_svg(self.rows, self.facts))
            write_file(out / "roar.html", roar_page(self.rows, self.facts))
        return out
