"""What a repair leaves: a table, a picture, a page, and the chosen model ready to be loaded."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from heedful.repair.methods import BASE
from heedful.report import check_packages
from heedful.store import Run, Store, output_folder, refusals, store_of, to_csv, write_file
from heedful.verdict import Statement

_HALF = float(stats.norm.ppf(0.975))  # errors in half of a 95% interval


RULE = (
    "A method is dominated in a property where another one has at least its score and at least "
    "its property, and one of the two lies beyond its interval."
)
LOWER = frozenset({"uniqueness"})
"""Properties of which less is better: another attention should be near."""
PROPERTY = "importance"
COLUMNS = [
    "method", "quantity", "estimate", "low", "high", "lower_is_better", "decision",
    "dominated_by", "note",
]  # fmt: skip
REPAIR = "repair"
"""The kind of folder."""
MODEL = "model"
"""The folder of the chosen model: a small store with its run and its corpus."""


@dataclass(frozen=True)
class Estimate:
    """`low` and `high` are one-sided bounds at alpha, as in a verdict; NaN is "there is none",
    and `why` says why."""

    value: float
    low: float
    high: float
    why: str = ""


def of_statement(statement: Statement) -> Estimate:
    there = not math.isnan(statement.estimate)
    why = "" if there else statement.blocked or str(statement.decision).lower()
    return Estimate(statement.estimate, statement.low, statement.high, why)


def of_scores(summaries: Sequence[pd.DataFrame], score: str, alpha: float) -> Estimate:
    """The mean over seeds. Seeds and texts both add to its error; since all seeds have the same
    texts, the texts' part does not shrink with their number."""
    lines = [dict(table[table["measure"] == score].iloc[0]) for table in summaries]
    values = np.array([float(line["mean"]) for line in lines])
    ends = [(float(line["low"]), float(line["high"])) for line in lines]
    texts = float(np.mean([(high - low) / (2 * _HALF) for low, high in ends]))
    return spread(values, texts, alpha)


def spread(values: np.ndarray, texts: float, alpha: float) -> Estimate:
    """`texts` is the error over texts. Degrees of freedom are Satterthwaite's, of which the
    texts have as good as infinitely many; with one seed there is no part of the seeds. No score
    is below 0 or above 1."""
    count, mean = len(values), float(values.mean())
    seeds = float(values.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
    whole = math.hypot(texts, seeds)
    freedom = (count - 1) * (whole / seeds) ** 4 if seeds > 0 else math.inf
    half = float(stats.t.ppf(1 - alpha, freedom)) * whole
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half))


def dominated_by(scores: Mapping[str, Estimate], found: Mapping[str, Estimate], name: str) -> str:
    """The first method that dominates this one, or nothing. Properties are such that more is
    better (`upwards`)."""
    mine = scores[name], found[name]
    for other in found:
        theirs = scores[other], found[other]
        level = all(b.value >= a.value for a, b in zip(mine, theirs, strict=True))
        beyond = any(b.value > a.high for a, b in zip(mine, theirs, strict=True))
        if other != name and level and beyond:
            return other
    return ""


def upwards(name: str, found: Estimate) -> Estimate:
    """Turned so that more is better."""
    if name not in LOWER:
        return found
    return Estimate(-found.value, -found.high, -found.low, found.why)


@dataclass(frozen=True)
class Choice:
    """The method that is taken, and one sentence on what is gained and what it costs."""

    method: str
    sentence: str


def rule(within: float, score: str) -> str:
    return (
        f"The model with the best {PROPERTY} among those whose {score} is no more than "
        f"{100 * within:g} points below the base's; of equals the one named first."
    )


def choose(
    scores: Mapping[str, Estimate], faithful: Mapping[str, Estimate], within: float, score: str
) -> Choice:
    """The base takes part. A method without that number cannot be taken."""
    least = scores[BASE].value - within - 1e-9  # exactly so many points less is still within
    enough = [name for name in scores if scores[name].value >= least]
    known = [name for name in enough if not math.isnan(faithful[name].value)]
    best = max(known, key=lambda name: faithful[name].value, default=BASE)
    return Choice(best, _sentence(best, scores, faithful, within, score))


def _sentence(
    best: str,
    scores: Mapping[str, Estimate],
    faithful: Mapping[str, Estimate],
    within: float,
    score: str,
) -> str:
    points = f"{100 * within:g} points of {score}"
    if math.isnan(faithful[best].value):
        return f"No model has a {PROPERTY} that could be measured here, so the base is kept."
    if best == BASE:
        return (
            f"No method has a better {PROPERTY} than the base ({faithful[BASE].value:.2f}) within "
            f"{points} of it, so the base is kept."
        )
    paid = _paid(100 * (scores[BASE].value - scores[best].value), score)
    return f"{best} {_gain(faithful[BASE], faithful[best])}, and {paid}."


def _paid(points: float, score: str) -> str:
    if round(points, 1) == 0:
        return f"costs no {score}"
    return f"{'costs' if points > 0 else 'gains'} {abs(points):.1f} points of {score}"


def _gain(base: Estimate, best: Estimate) -> str:
    if math.isnan(base.value):
        return f"has a {PROPERTY} of {best.value:.2f}, where the base's could not be measured"
    step = f"from {base.value:.2f} to {best.value:.2f}"
    sure = "beyond both intervals" if best.low > base.high else "but the intervals overlap"
    return f"gains {best.value - base.value:.2f} in {PROPERTY} ({step}, {sure})"


@dataclass(frozen=True)
class Entrant:
    """A method, its model by name, what it does, and the trained models, a seed each."""

    method: str
    model: str
    does: str
    runs: tuple[Run, ...]

    @property
    def best(self) -> Run:
        """The seed that did best on dev, which no score and no audit has seen."""
        return max(self.runs, key=lambda run: float(run.table("history")["dev_score"].max()))


@dataclass(frozen=True)
class Repair:
    table: pd.DataFrame
    entrants: tuple[Entrant, ...]
    chosen: Choice
    facts: Mapping[str, Any]

    @property
    def model(self) -> Run:
        """The chosen method's model: of its seeds the best on dev."""
        return next(each for each in self.entrants if each.method == self.chosen.method).best

    def as_parts(self) -> dict[str, Any]:
        """Plain values and the table, for the page, which knows no torch."""
        return {
            "table": self.table,
            "methods": [
                {
                    "method": each.method,
                    "model": each.model,
                    "does": each.does,
                    "runs": [run.key for run in each.runs],
                }
                for each in self.entrants
            ],
            "chosen": self.chosen.method,
            "sentence": self.chosen.sentence,
            "facts": dict(self.facts),
        }

    def save(self, folder: str | Path) -> Path:
        """`repair.csv` and the chosen model, whole or not at all; then they are drawn, as
        `repair.svg` and `repair.html`. An earlier repair makes way."""
        out = Path(folder)
        check_packages()
        refused = refusals(f"write the repair to {out}", "make room or give another folder with -o")
        with refused:
            with output_folder(out, REPAIR) as building:
                self._write(building)
            self._draw(out)
        return out

    def _write(self, folder: Path) -> None:
        taken = Store(folder / MODEL)
        for run in (upstream(self.model), self.model):
            taken.adopt(run.path)
        shutil.rmtree(folder / MODEL / "scratch", ignore_errors=True)
        (folder / "repair.csv").write_text(to_csv(self.table), encoding="utf8", newline="\n")

    def _draw(self, folder: Path) -> None:
        from heedful.report import repair_page, repair_svg

        parts = {**self.as_parts(), "load": load_line(folder / MODEL, self.model)}
        write_file(folder / "repair.svg", repair_svg(parts))
        write_file(folder / "repair.html", repair_page(parts))


def upstream(run: Run) -> Run:
    """The corpus of a model, which it cannot be opened without."""
    return store_of(run).open(run.source("corpus"))


def load_line(store: str | Path, run: Run) -> str:
    """Python that opens a model."""
    opened = f"heedful.store_at({str(store)!r}).open({run.key!r})"
    return f"import heedful; model = heedful.restored({opened})"
