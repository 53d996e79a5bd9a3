"""What was measured, as one tidy table, and what several seeds say together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
from scipy import stats

if TYPE_CHECKING:
    from heedful.report.evidence import Evidence

OVER_EXAMPLES = "over examples"
OVER_SEEDS = "over seeds"
COLUMNS = ["corpus", "model", "seed", "probe", "measure", "group"]
NUMBERS = ["mean", "sd", "median", "low", "high", "n", "undefined"]
CONFIDENCE = 0.95


def measured(evidence: Evidence) -> pd.DataFrame:
    """One line per corpus, model, seed, probe, measure and group."""
    return tidy(evidence.summaries)


def tidy(summaries: pd.DataFrame) -> pd.DataFrame:
    """Summaries under the names of their cells."""
    named = summaries.assign(model=summaries["label"])
    return named.reindex(columns=[*COLUMNS, *NUMBERS])


def over_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Seeds put together. One seed keeps its bootstrap interval, which is over examples;
    several give the mean over seeds and Student's t-interval, which is over seeds."""
    keys = [name for name in COLUMNS if name != "seed"]
    lines = [
        {**dict(zip(keys, key, strict=True)), **_together(part)}
        for key, part in table.groupby(keys, sort=False)
    ]
    names = [*keys, *NUMBERS, "seeds", "seed_sd", "interval"]
    return pd.DataFrame(lines, columns=names)


def _together(part: pd.DataFrame) -> dict[str, Any]:
    counts = {"n": int(part["n"].sum()), "undefined": int(part["undefined"].fillna(0).sum())}
    defined = part[part["mean"].notna()]
    if len(defined) <= 1:
        line = (defined if len(defined) else part).iloc[0]
        numbers = {name: float(line[name]) for name in ("mean", "sd", "median", "low", "high")}
        once = {"seeds": len(defined), "seed_sd": math.nan, "interval": OVER_EXAMPLES}
        return {**numbers, **counts, **once}
    mean, sd = float(defined["mean"].mean()), float(defined["mean"].std(ddof=1))
    low, high = t_interval(mean, sd, len(defined))
    numbers = {
        "mean": mean,
        "sd": float(defined["sd"].mean()),  # the spread of texts within a seed, as papers print
        "median": float(defined["median"].mean()),
        "low": low,
        "high": high,
    }
    return {**numbers, **counts, "seeds": len(defined), "seed_sd": sd, "interval": OVER_SEEDS}


def t_interval(mean: float, sd: float, count: int) -> tuple[float, float]:
    """Student's interval of a mean of `count` values; it has no width if they are all equal."""
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * sd / math.sqrt(count)
    return mean - half, mean + half
