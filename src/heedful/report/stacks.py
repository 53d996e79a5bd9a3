"""The task's score after permuting the first or the last so many layers of a group.

The probe `layers` names its numbers `score:<group>:<end>=<count>`; all layers of a group are
listed once, among those from the first on.
"""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

COLUMNS = ["corpus", "model", "group", "end", "count", "mean", "low", "high", "n", "seeds"]
_NAME = re.compile(r"score:(.*):(first|last)=(\d+)", re.DOTALL)


def curves(together: pd.DataFrame) -> pd.DataFrame:
    """One line per corpus, model, group, end and number of layers, from none to all."""
    table = together[(together["probe"] == "layers") & (together["group"] == "all")]
    lines = [
        line
        for _, part in table.groupby(["corpus", "model"], sort=False)
        for line in _with_ends(_named(part), part[part["measure"] == "score"])
    ]
    by = ["corpus", "model", "group", "end", "count"]
    return pd.DataFrame(lines, columns=COLUMNS).sort_values(by, key=_order, ignore_index=True)


def _order(column: pd.Series) -> pd.Series:
    """Layers by number; names as they come."""
    return column if column.name == "count" else pd.Series(pd.factorize(column)[0])


def _named(part: pd.DataFrame) -> list[dict[str, Any]]:
    found = []
    for line in part.to_dict("records"):
        match = _NAME.fullmatch(str(line["measure"]))
        if match:
            place = {"group": match[1], "end": match[2], "count": int(match[3])}
            found.append({str(key): value for key, value in line.items()} | place)
    return found


def _with_ends(lines: list[dict[str, Any]], untouched: pd.DataFrame) -> list[dict[str, Any]]:
    """Both curves of a group begin at the untouched score and end with all its layers."""
    start = [{str(k): v for k, v in line.items()} for line in untouched.to_dict("records")]
    groups = dict.fromkeys(line["group"] for line in lines)
    for group in groups:
        own = [line for line in lines if line["group"] == group]
        whole = max(own, key=lambda line: line["count"])
        lines = [*lines, {**whole, "end": "last"}]
        lines += [
            {**line, "group": group, "end": end, "count": 0}
            for line in start[:1]
            for end in ("first", "last")
        ]
    return lines
