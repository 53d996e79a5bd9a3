"""Tables as text: aligned for a terminal, or Markdown."""

from __future__ import annotations

import pandas as pd


def aligned(table: pd.DataFrame) -> list[str]:
    rows = _cells(table)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def markdown(table: pd.DataFrame) -> str:
    head, *body = _cells(table)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))


def _cells(table: pd.DataFrame) -> list[list[str]]:
    body = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return [[str(name) for name in table.columns], *body]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "?" if value != value else f"{value:.2f}"
    return str(value)
