"""The table of a repair as people read it: methods down, the score and properties across."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from heedful.report.audit_numbers import DASH, bounds, plain, shown

NAMES = {"accuracy": "accuracy", "f1": "F1", "roc_auc": "ROC-AUC"}
BASE = "base"
Line = Mapping[str, Any]


def quantities(table: pd.DataFrame) -> list[str]:
    """The score first, then the properties that were measured on some model."""
    known = table[table["estimate"].notna()]
    return [str(name) for name in dict.fromkeys(known["quantity"])]


def unmeasured(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Properties that no model has, each with the reason."""
    there = quantities(table)
    missing = table[~table["quantity"].isin(there)].drop_duplicates("quantity")
    pairs = zip(missing["quantity"], missing["note"], strict=True)
    return [(str(name), str(why) or "not measured") for name, why in pairs]


def named(quantity: str) -> str:
    return NAMES.get(quantity, plain(quantity))


def lines(table: pd.DataFrame, chosen: str) -> list[dict[str, Any]]:
    """One line per method, a cell per quantity."""
    columns = quantities(table)
    return [
        {
            "method": method,
            "tags": _tags(method, chosen),
            "cells": [_cell(part[quantity]) for quantity in columns],
        }
        for method, part in by_method(table).items()
    ]


def text_lines(table: pd.DataFrame, chosen: str) -> list[str]:
    """The same for a terminal; `*` marks what is dominated."""
    head = ["method", *(named(name) for name in quantities(table))]
    rows = [head, *(_text(line) for line in lines(table, chosen))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def by_method(table: pd.DataFrame) -> dict[str, dict[str, Line]]:
    """The lines of the table by method and quantity."""
    found: dict[str, dict[str, Line]] = {}
    for line in table.to_dict("records"):
        named = {str(key): value for key, value in line.items()}
        found.setdefault(str(line["method"]), {})[str(line["quantity"])] = named
    return found


def _cell(line: Line) -> dict[str, str]:
    if math.isnan(line["estimate"]):
        return {"value": DASH, "bounds": "", "by": "", "title": str(line["note"])}
    by = str(line["dominated_by"])
    return {
        "value": shown(line["estimate"]),
        "bounds": bounds(line["low"], line["high"]),
        "by": by,
        "title": f"dominated by {by}" if by else "",
    }


def _text(line: Mapping[str, Any]) -> list[str]:
    cells: Sequence[Mapping[str, str]] = line["cells"]
    name = " ".join([line["method"], *(f"({tag})" for tag in line["tags"])])
    return [name, *(_joined(cell) for cell in cells)]


def _joined(cell: Mapping[str, str]) -> str:
    inside = f" ({cell['bounds']})" if cell["bounds"] else ""
    return f"{cell['value']}{'*' * bool(cell['by'])}{inside}"


def _tags(method: str, chosen: str) -> list[str]:
    return ["chosen"] if method == chosen else []
