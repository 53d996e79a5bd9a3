"""A line about permuting self-attention layer after layer."""

from __future__ import annotations

import pandas as pd

from heedful.report.display import number
from heedful.report.stacks import curves
from heedful.report.wording import ENOUGH, texts_of


def layers_line(together: pd.DataFrame) -> str:
    """Each group's score with none and with all of its layers permuted."""
    found = curves(together)
    if found.empty:
        return "Attention permuted layer after layer: not measured."
    firm = found[(texts_of(found) >= ENOUGH) & found["low"].notna()]
    if firm.empty:
        return f"Attention permuted layer after layer: inconclusive, fewer than {ENOUGH} texts."
    said = [
        f"{group} {_number(part.iloc[0])} to {_number(part.iloc[-1])}"
        for (_, _, group), part in firm[firm["end"] == "first"].groupby(
            ["corpus", "model", "group"], sort=False
        )
    ]
    return (
        f"All layers of a group permuted, the score goes: {'; '.join(said)} "
        f"(n {int(texts_of(firm).max()):,})."
    )


def _number(line: pd.Series) -> str:
    digits = 1 if line["high"] > 1 else 2
    low, high = number(line["low"], digits), number(line["high"], digits)
    return f"{number(line['mean'], digits)} ({low} to {high})"
