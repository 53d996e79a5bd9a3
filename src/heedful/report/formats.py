"""Numbers, names and tables as text. A table is written as text, HTML, LaTeX or JSON.

Names of corpora, models and classes come from outside; every format escapes them.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from typing import Any

import numpy as np
import pandas as pd

from heedful.store import NUMBER

MINUS = "\N{MINUS SIGN}"


def visible(text: str) -> str:
    """Control, format and unassigned characters spelled out, so that none can act."""
    return "".join(
        f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char).startswith("C") else char
        for char in text
    )


def number(value: float, digits: int = 2, signed: bool = False) -> str:
    """A number to so many decimals with a real minus; nothing for an undefined one."""
    if value is None or not math.isfinite(value):
        return ""
    rounded = round(value, digits) + 0.0  # no "-0.00"
    return f"{rounded:{'+' if signed else ''}.{digits}f}".replace("-", MINUS)


def with_sd(value: float, sd: float, digits: int = 2) -> str:
    """`0.41 ± 0.20`; without the sd where none is known."""
    text, spread = number(value, digits), number(sd, digits)
    return f"{text} ± {spread}" if text and spread else text


def interval(low: float, high: float, digits: int = 2) -> str:
    left, right = number(low, digits), number(high, digits)
    return f"{left} to {right}" if left and right else ""


DASH = "–"
LONGEST = 80


def finite(value: Any) -> float:
    """A number, or NaN for everything that is none."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return math.nan
    try:
        found = float(value)
    except (TypeError, ValueError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def shown(value: Any, digits: int | None = None) -> str:
    """Two digits after the point, three for small numbers."""
    found = finite(value)
    if digits is None and 0 < found < 0.0005:
        return "<0.001"
    small = 0 < abs(found) < 0.1
    return number(found, digits if digits is not None else 2 + small) or DASH


def percent(value: Any) -> str:
    found = finite(value)
    return DASH if math.isnan(found) else f"{found:.0%}".replace("-", MINUS)


def bounds(low: Any, high: Any) -> str:
    """`0.20 to 0.45`; a dash where there is no interval."""
    left, right = shown(low), shown(high)
    return DASH if left == right == DASH else f"{left} to {right}"


def with_bounds(value: Any, low: Any, high: Any) -> str:
    """`0.31 (0.20 to 0.45)`."""
    return f"{shown(value)} ({bounds(low, high)})"


def of_texts(count: int) -> str:
    return f"{count} text{'s' * (count != 1)}"


def milliseconds(value: Any) -> str:
    found = finite(value)
    if math.isnan(found):
        return DASH
    return f"{found:.0f}" if found >= 10 else f"{found:.2g}"


def weight(value: float) -> str:
    """The score of a word: small ones are named as such."""
    if math.isnan(value):
        return "cut off"
    if 0 < abs(value) < 0.0005:
        return f"{MINUS * (value < 0)}<0.001"
    return number(value, 3)


def clipped(text: Any, longest: int = LONGEST) -> str:
    """One line of text of a bearable length."""
    flat = re.sub(r"\s+", " ", str(text)).strip()
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def plain(name: str) -> str:
    """`occlusion:operator=mask` as `occlusion (mask)`, underscores as spaces."""
    base, _, given = name.partition(":")
    inside = given.removeprefix("operator=").replace(",", ", ")
    return clipped(f"{base} ({inside})" if given else base).replace("_", " ")


SCHEMA_VERSION = 1
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "τ": r"$\tau$", "±": r"$\pm$", "−": "$-$",
}  # fmt: skip


def text_cells(table: pd.DataFrame) -> list[list[str]]:
    """The heading and the lines of a table, as people read them."""
    return [[str(name) for name in table.columns], *map(list, _texts(table))]


def to_text(table: pd.DataFrame) -> str:
    """Aligned columns for a terminal; numbers to the right, no markup."""
    if table.empty:
        return "(nothing measured)"
    cells = text_cells(table)
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
