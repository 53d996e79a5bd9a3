"""One table, written four ways: text, HTML, LaTeX, JSON; as CSV by `store/csv_jsonl.py`.

Names of corpora, models and classes come from outside; every format escapes them.
"""

from __future__ import annotations

import html
import json
import unicodedata
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.display import visible
from heedful.store import NUMBER

SCHEMA_VERSION = 1
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "τ": r"$\tau$", "±": r"$\pm$", "−": "$-$",
}  # fmt: skip


def to_text(table: pd.DataFrame) -> str:
    """Aligned columns for a terminal; numbers to the right, no markup."""
    if table.empty:
        return "(nothing measured)"
    cells = [[str(name) for name in table.columns], *_texts(table)]
    numeric = [_numeric(column) for column in zip(*cells[1:], strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def to_html(table: pd.DataFrame) -> str:
    """A bare `<table>`; numeric cells carry the class `n`."""
    lines = _texts(table)
    numeric = [_numeric(column) for column in zip(*lines, strict=True)]
    head = _line("th", [str(name) for name in table.columns], numeric or [False] * table.shape[1])
    body = "".join(_line("td", line, numeric) for line in lines)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def to_latex(table: pd.DataFrame) -> str:
    """A booktabs tabular, ready for `\\input`."""
    lines = _texts(table)
    columns = zip(*lines, strict=True) if lines else [()] * len(table.columns)
    layout = "".join("r" if _numeric(column) else "l" for column in columns)
    rows = [_latex_row([str(name) for name in table.columns]), r"\midrule", *map(_latex_row, lines)]
    top, bottom = rf"\begin{{tabular}}{{{layout}}}", r"\end{tabular}"
    return "\n".join([top, r"\toprule", *rows, r"\bottomrule", bottom, ""])


def to_json(table: pd.DataFrame, name: str) -> str:
    """`{"schema_version": 1, "table": …, "rows": […]}`; what is undefined is null."""
    rows = [
        {str(key): _plain(value) for key, value in line.items()}
        for line in table.to_dict("records")
    ]
    value = {"schema_version": SCHEMA_VERSION, "table": name, "rows": rows}
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def latex_escape(text: str) -> str:
    """Text as LaTeX prints it: no command survives, nor does a control character."""
    kept = (char for char in text if not unicodedata.category(char).startswith("C"))
    return "".join(_LATEX.get(char, char) for char in kept)


def _latex_row(line: list[str]) -> str:
    """After the `\\\\` of the row before, a bracket or a star would be an option of it."""
    guard = "{}" if line and line[0].startswith(("[", "*")) else ""
    return guard + " & ".join(map(latex_escape, line)) + r" \\"


def _line(tag: str, texts: list[str], numeric: list[bool]) -> str:
    kinds = [' class="n"' if right else "" for right in numeric]
    cells = zip(texts, kinds, strict=True)
    parts = (f"<{tag}{kind}>{html.escape(visible(text))}</{tag}>" for text, kind in cells)
    return f"<tr>{''.join(parts)}</tr>"


def _texts(table: pd.DataFrame) -> list[list[str]]:
    return [[_text(value) for value in line] for line in table.itertuples(index=False)]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3f}"
    return "" if value is None else str(value)


def _numeric(column: tuple[str, ...]) -> bool:
    filled = [text for text in column if text]
    return bool(filled) and all(NUMBER.fullmatch(text) for text in filled)


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
