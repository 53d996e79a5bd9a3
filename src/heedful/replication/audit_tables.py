"""An audit's statements and its ranking of explanations, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

SHOWN = ("property", "estimate", "low", "high", "threshold", "p above", "p below", "decision")


def properties(statements: list[Mapping[str, Any]]) -> pd.DataFrame:
    lines = [
        (
            each["property"],
            *(number(each[name]) for name in ("estimate", "low", "high", "threshold")),
            *(_p(each, name) for name in ("p_above", "p_below")),
            each["decision"].lower(),
            str(each["n"]),
        )
        for each in statements
    ]
    return pd.DataFrame(lines, columns=[*SHOWN, "texts"])


def ranking(ranked: list[Mapping[str, Any]]) -> pd.DataFrame:
    lines = [
        (
            each["explanation"],
            *(number(each[name]) for name in ("position", "low", "high", "behind")),
            "yes" if each["tied"] else "no",
            str(each["measures"]),
        )
        for each in ranked
    ]
    names = ["explanation", "position", "low", "high", "behind", "as good", "measures"]
    return pd.DataFrame(lines, columns=names)


def _p(each: Mapping[str, Any], name: str) -> str:
    """Only where something was decided by it."""
    if each["decision"] not in ("SUPPORTED", "NOT SUPPORTED", "INCONCLUSIVE") or each["blocked"]:
        return ""
    return f"{each[name]:.4f}" if each[name] >= 0.0001 else "< 0.0001"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
