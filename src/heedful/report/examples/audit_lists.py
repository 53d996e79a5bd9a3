"""Lists of numbers in an audit's tables, by text, kind and name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.examples.cell import Numbers


def by_text(
    table: pd.DataFrame, column: str, names: Sequence[str]
) -> dict[str, dict[tuple[str, str], Any]]:
    """By text, then by kind and name."""
    chosen = table[table["example"].isin(list(names))]
    found: dict[str, dict[tuple[str, str], Any]] = {}
    columns = (chosen[each] for each in ("example", "kind", column, "scores"))
    for example, kind, name, scores in zip(*columns, strict=True):
        found.setdefault(str(example), {})[str(kind), str(name)] = scores
    return found


def padded(scores: Any, size: int) -> Numbers:
    """Words at the end that were not read have no number."""
    numbers = np.full(size, np.nan)
    given = np.asarray(scores, dtype=np.float64)[:size]
    numbers[: len(given)] = given
    return numbers


def word_logits(kept: Mapping[tuple[str, str], Numbers], count: int) -> Numbers | None:
    """`[words, logits]`, where this text has all of them."""
    keys = [("logit", str(c)) for c in range(count)]
    if not keys or not all(key in kept for key in keys):
        return None
    return np.stack([kept[key] for key in keys], axis=1)


def curves_of(
    shown: Mapping[tuple[str, str], Any],
) -> tuple[dict[str, list[tuple[float, float]]], str]:
    """Points of each explanation's curve, and the operator that took words away."""
    removed = [(name, shares) for (kind, name), shares in shown.items() if kind == "removed"]
    if not removed:
        return {}, ""
    operator, shares = removed[0]
    curves = {
        name: [(float(x), float(y)) for x, y in zip(shares, values, strict=True)]
        for (kind, name), values in shown.items()
        if kind == "curve"
    }
    return curves, operator
