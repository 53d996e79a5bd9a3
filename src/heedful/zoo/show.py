"""The zoo's findings for people: lines for a terminal, or Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from heedful.store.outputs import FileKind, begins
from heedful.zoo.result import LEAST_RIGHT, ZooResult

TITLE = "# The planted zoo"
TABLES = FileKind("a page of `heedful zoo`", begins(f"{TITLE}\n"))


def to_text(result: ZooResult) -> str:
    """What a terminal shows: whether the promises are kept, and the verdicts by kind."""
    titles = list(result.tables())[:2]
    parts = [*_summary(result)]
    for title in titles:
        table = result.tables()[title]
        if not table.empty:
            parts += ["", title, *_aligned(_cells(table))]
    return "\n".join(parts)


def to_markdown(result: ZooResult) -> str:
    """Everything, as a page."""
    parts = [TITLE, "", *(f"{line}  " for line in _summary(result))]
    for title, table in result.tables().items():
        if not table.empty:
            head, *rows = _cells(table)
            rule = ["---"] * len(head)
            parts += ["", f"## {title}", ""]
            parts += [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    wrong = result.verdicts[~result.verdicts["right"]]
    if not wrong.empty:
        parts += ["", "## Not right", ""]
        parts += [
            f"- {name}: {decision}"
            for name, decision in zip(wrong["exhibit"], wrong["decision"], strict=True)
        ]
    return "\n".join([*parts, ""])


def _summary(result: ZooResult) -> list[str]:
    kept = "the promises are kept" if not result.broken else "a promise is broken"
    count = len(result.verdicts)
    first = (
        f"{count} planted models: {result.right:.1%} right (at least {LEAST_RIGHT:.0%} promised), "
        f"{result.swaps} swapped; {kept}."
    )
    return [first, *result.broken]


def _cells(table: pd.DataFrame) -> list[list[str]]:
    body = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return [[str(name) for name in table.columns], *body]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "?" if value != value else f"{value:.2f}"
    return str(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
