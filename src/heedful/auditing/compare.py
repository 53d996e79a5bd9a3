"""Several audits side by side: one measure of every explanation, with intervals over texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from heedful.auditing.result import Audit
from heedful.errors import HeedfulError, unknown_name
from heedful.metrics.bootstrap import bootstrap_means

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
        raise HeedfulError(f"{measure} was measured with {', '.join(operators)}: choose one.")
    if operator is not None:
        rows = rows[rows["operator"] == operator]
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
    return table.sort_values("mean", ascending=False, kind="stable").reset_index(drop=True)


def to_markdown(table: pd.DataFrame) -> str:
    """Explanations down, audits across: mean [low, high]."""
    audits = list(dict.fromkeys(table["audit"]))
    cell = {
        (
            row["audit"],
            row["explanation"],
        ): f"{row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        for row in table.to_dict("records")
    }
    order = table.groupby("explanation")["mean"].mean().sort_values(ascending=False).index
    lines = [
        "| explanation | " + " | ".join(audits) + " |",
        "|---|" + "---|" * len(audits),
        *(
            f"| {name} | " + " | ".join(cell.get((each, name), "–") for each in audits) + " |"
            for name in order
        ),
    ]
    return "\n".join(lines)
