"""Run the benchmark, model by model; each model's rows are on disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from heedful.benchmark.cases import FEW, Case
from heedful.benchmark.measure import Effort, measured, version
from heedful.benchmark.rows import joined, read
from heedful.progress import Progress, duration, silent
from heedful.store import to_csv, write_text

TEXTS_A_SECOND = 60.0
"""On one core, all measures and verdicts together; right to a factor of two."""
EACH = 12.0
"""Seconds for training a model and finding out what is true of it."""


def estimate(cases: Sequence[Case], done: int = 0) -> str:
    """What will be run, and about how long that takes."""
    seconds = sum(EACH + case.texts / TEXTS_A_SECOND for case in cases)
    texts = sum(case.texts for case in cases)
    before = f" ({done} models are measured already)" if done else ""
    return f"{len(cases)} models, {texts:,} texts: about {duration(seconds)} on one core{before}"


def run(
    cases: Sequence[Case],
    file: Path | None = None,
    effort: Effort = Effort(),
    progress: Progress = silent,
    announce: Callable[[str], None] = lambda line: None,
) -> pd.DataFrame:
    """With a file, models whose rows are there are not measured again: run the same command again
    to resume. Rows of other models in the file stay; those of another version are replaced."""
    there = read(file) if file is not None and file.is_file() and file.stat().st_size else None
    tables = {} if there is None else dict(_by_model(there))
    waiting = [case for case in cases if not _done(tables, case, effort)]
    announce(estimate(waiting, len(cases) - len(waiting)))
    started = time.perf_counter()
    for number, case in enumerate(waiting):
        progress(case.name, number, len(waiting))
        tables[case.name] = measured(case, _effort(case, effort))
        if file is not None:
            write_text(file, to_csv(joined(list(tables.values()))))
    progress("benchmark", len(waiting), len(waiting))
    announce(f"measured in {duration(time.perf_counter() - started)}")
    return joined([tables[case.name] for case in cases])


def _effort(case: Case, effort: Effort) -> Effort:
    """A control is there for its verdict alone."""
    return Effort(effort.subsamples, 0) if case.texts <= FEW else effort


def _by_model(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    groups = rows.groupby(["part", "kind", "seed"], sort=False)
    return [(f"{part}-{kind}-{seed}", group) for (part, kind, seed), group in groups]


def _done(tables: dict[str, pd.DataFrame], case: Case, effort: Effort) -> bool:
    if case.name not in tables:
        return False
    last = tables[case.name][tables[case.name]["score"] == "seconds"]
    wanted = version(_effort(case, effort))
    return bool(((last["n"] == case.texts) & (last["detail"] == wanted)).any())
