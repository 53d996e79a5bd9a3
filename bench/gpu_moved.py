"""How far an audit's numbers are from another one's on the same model and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from heedful.auditing import Audit
from heedful.verdict import Verdict

KEYS = ["model", "example", "explanation", "operator", "measure"]
SAME = 1e-6


def moved(first: Audit, other: Audit) -> dict[str, Any]:
    """Predictions, rankings of words, the measures of single texts and of all, decisions."""
    a, b = first.rows, other.rows
    predicted = [rows.groupby("example")["predicted"].first() for rows in (a, b)]
    return {
        "predictions_changed": float((predicted[0] != predicted[1]).mean()),
        "ranking": rankings(first.maps, other.maps),
        "measures": measures(a, b),
        "statements": statements(first.verdict, other.verdict),
    }


def rankings(first: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """Of each explanation the mean τ-b between its two rankings of a text's words: 1 says that
    not one pair changed places."""
    both = first.merge(other, on=["example", "explanation"], suffixes=("", "_other"))
    both["tau"] = [_tau(x, y) for x, y in zip(both["scores"], both["scores_other"], strict=True)]
    means = both.groupby("explanation")["tau"].mean()
    return {str(name): float(value) for name, value in means.items()}


def measures(first: pd.DataFrame, other: pd.DataFrame) -> dict[str, dict[str, float]]:
    """By measure: how far single values are apart on the mean, the largest difference of a mean
    over texts (of any explanation and operator), and the spread over texts to hold it against."""
    both = first.merge(other, on=KEYS, suffixes=("", "_other"))
    both = both[both["model"] == "base"].dropna(subset=["value", "value_other"])
    both["gap"] = both["value_other"] - both["value"]
    return {str(name): _gaps(some) for name, some in both.groupby("measure")}


def _gaps(some: pd.DataFrame) -> dict[str, float]:
    cells = some.groupby(["explanation", "operator"])
    return {
        "each": float(some["gap"].abs().mean()),
        "mean": float(cells["gap"].mean().abs().max()),
        "spread": float(cells["value"].std().mean()),
    }


def statements(first: Verdict, other: Verdict) -> dict[str, dict[str, Any]]:
    """By property what was decided and estimated, first and then."""
    pairs = {each.property: (each, other[each.property]) for each in first.statements}
    return {
        name: {
            "decisions": [str(each.decision) for each in pair],
            "estimates": [_number(each.estimate) for each in pair],
        }
        for name, pair in pairs.items()
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _tau(x: Any, y: Any) -> float:
    """Words that differ by rounding alone are tied; two texts without any order agree."""
    pair = [np.asarray(each, dtype=np.float64) for each in (x, y)]
    known = np.isfinite(pair[0]) & np.isfinite(pair[1])
    one, two = (np.round(each[known] / SAME) for each in pair)
    if len(one) < 2 or (np.ptp(one) == 0 and np.ptp(two) == 0):
        return 1.0
    found = kendalltau(one, two).statistic
    return 0.0 if np.isnan(found) else float(found)
