"""Numbers with intervals: a property's from a verdict, a score's over seeds and texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from heedful.verdict import Statement

_HALF = float(stats.norm.ppf(0.975))  # errors in half of a 95% interval


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
