"""Several audits side by side: one measure of every explanation, with intervals over texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from heedful.auditing.result import Audit
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics.bootstrap import bootstrap_means
from heedful.verdict.card import escape

LOWER_IS_BETTER = frozenset({"sufficiency", "deletion_auc", "flip_share", "flip_censored"})
COLUMNS = ["audit", "explanation", "measure", "operator", "mean", "low", "high", "n"]


def compare(
    audits: Mapping[str, Audit], measure: str, operator: str | None = None, seed: int = 0
) -> pd.DataFrame:
    """One row per audit and explanation, the best mean first. Texts of one cluster are
    averaged and drawn together; 95% intervals."""
    parts = [_means(name, each, measure, operator, seed) for name, each in audits.items()]
    table = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    if table.empty:
        known = sorted({str(m) for each in audits.values() for m in each.rows["measure"]})
        raise unknown_name("measure", measure, known)
    return table


def _means(name: str, audit: Audit, measure: str, operator: str | None, seed: int) -> pd.DataFrame:
    rows = audit.rows
    rows = rows[(rows["model"] == "base") & (rows["measure"] == measure)]
    operators = sorted({str(each) for each in rows["operator"]})
    if operator is not None and rows.size and operator not in operators:
        raise unknown_name("operator", operator, operators)
    if operator is None and len(operators) > 1:
        raise HeedfulError(
            f"{measure} was measured with {', '.join(operators)}: choose one with --operator."
        )
    if operator is not None:
        rows = rows[rows["operator"] == operator]
    if measure == "flip_share":
        rows = _never_is_all(rows, audit.rows)
    wide = rows.pivot_table(
        index="cluster", columns="explanation", values="value", aggfunc="mean", dropna=False
    )
    if wide.empty:
        return pd.DataFrame(columns=COLUMNS)
    values = wide.to_numpy(dtype=np.float64)
    found = bootstrap_means(values, seed)
    table = pd.DataFrame(
        {
            "audit": name,
            "explanation": [str(each) for each in wide.columns],
            "measure": measure,
            "operator": operators[0] if operator is None else operator,
            "mean": np.nanmean(values, axis=0),
            "low": found.low,
            "high": found.high,
            "n": np.isfinite(values).sum(axis=0),
        }
    )
    up = measure in LOWER_IS_BETTER
    return table.sort_values("mean", ascending=up, kind="stable").reset_index(drop=True)


def _never_is_all(rows: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    """A decision that never flips counts as all words: censored, not dropped."""
    place = ["example", "explanation", "operator"]
    censored = every[(every["model"] == "base") & (every["measure"] == "flip_censored")]
    never = rows.merge(censored[[*place, "value"]], on=place, how="left", suffixes=("", "_never"))
    return never.assign(value=never["value"].mask(never["value_never"] == 1.0, 1.0))


def to_markdown(table: pd.DataFrame) -> str:
    """Explanations down, the best first; audits across: mean [low, high]."""
    audits = list(dict.fromkeys(table["audit"]))
    cell = {
        (
            row["audit"],
            row["explanation"],
        ): f"{row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for row in table.to_dict("records")
    }
    up = bool(set(table["measure"]) & LOWER_IS_BETTER)
    order = table.groupby("explanation")["mean"].mean().sort_values(ascending=up).index
    lines = [
        "| explanation | " + " | ".join(escape(each) for each in audits) + " |",
        "|---|" + "---|" * len(audits),
        *(
            f"| {escape(str(name))} | "
            + " | ".join(cell.get((each, name), "–") for each in audits)
            + " |"
            for name in order
        ),
    ]
    return "\n".join(lines)
