"""What is lost where words are masked and a model is trained again. Without torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from heedful.entries import ANY, Entries, Measure, Metric
from heedful.metrics.summary import student

ENTRIES = Entries(Metric)
RANDOM = "random"
"""The explanation that others are compared with."""
ROAR_COLUMNS = ["explanation", "percent", "seed", "score"]
"""Of the scores of retrained models: a row for each percentage of masked words, from 0 to 100."""
CURVE_COLUMNS = ["explanation", "percent", "mean", "low", "high"]
RACU_COLUMNS = ["explanation", "racu", "low", "high", "seeds"]


@ENTRIES.entry(
    Measure(
        "relative area between the curves of random words and of an explanation's, retrained",
        True,
        signed=True,
        range=ANY,
    ),
    paper="madsen2022",
    formula="∫ (b(x) − p(x)) dx / ∫ (b(x) − b(1)) dx (trapezoids; x: share of words masked)",
    higher=(
        "models learn less from what is left than where random words are masked; 1 would be all "
        "that can be lost, and below 0 they learn more"
    ),
    cost="a training for each share of masked words",
    limits=(
        "A pattern of masks can tell the class, and another word can stand for a masked one: both "
        "lower it, whatever the explanation is worth. It is undefined where random masking loses "
        "nothing."
    ),
)
def racu(
    shares: Float[np.ndarray, " s"],
    explained: Float[np.ndarray, " s"],
    random: Float[np.ndarray, " s"],
) -> float:
    """Madsen et al. 2022: scores where the words an explanation names are masked (`explained`)
    and where random ones are, by the share that is masked, from none to all."""
    lost = float(np.trapezoid(random - random[-1], shares))
    between = float(np.trapezoid(random - explained, shares))
    return between / lost if lost > 0 else float("nan")


def roar_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean score by explanation and percentage, with its 95% interval over seeds."""
    lines = [
        (explanation, percent, *_over_seeds(list(part["score"])))
        for (explanation, percent), part in rows.groupby(["explanation", "percent"], sort=False)
    ]
    return pd.DataFrame(lines, columns=CURVE_COLUMNS)


def racus(rows: pd.DataFrame) -> pd.DataFrame:
    """RACU of each explanation but the random one: the mean over seeds and its 95% interval. Each
    seed is compared with the random masking of the same seed; those without a RACU are left out."""
    lines = []
    for explanation in dict.fromkeys(rows["explanation"]):
        if explanation == RANDOM:
            continue
        found = [
            racu(*_curves_of(part, str(explanation)))
            for _, part in rows.groupby("seed", sort=False)
        ]
        known = [value for value in found if not math.isnan(value)]
        lines.append((explanation, *_over_seeds(known), len(known)))
    return pd.DataFrame(lines, columns=RACU_COLUMNS)


def _curves_of(rows: pd.DataFrame, explanation: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares, scores of the explanation and random scores of one seed."""
    table = rows.pivot(index="percent", columns="explanation", values="score").sort_index()
    shares = table.index.to_numpy(dtype=float) / 100
    return shares, table[explanation].to_numpy(), table[RANDOM].to_numpy()


def _over_seeds(values: Sequence[float]) -> tuple[float, float, float]:
    """One seed has no interval."""
    if len(values) > 1:
        return student(values)
    return (values[0] if values else math.nan), math.nan, math.nan
