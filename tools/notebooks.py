"""Runs the notebooks and writes their outputs back: `python tools/notebooks.py`.

A small runner instead of a kernel: cells share one namespace, what they print and the value of
their last line become outputs. It runs in an empty folder, so no path of this machine appears.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def main(arguments: list[str]) -> None:
    chosen = [Path(each).resolve() for each in arguments] or sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in chosen:
        found = executed(json.loads(path.read_text(encoding="utf8")))
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of this run; an error in a cell is raised."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                outputs = _run("".join(cell["source"]), namespace, count)
                cell = {**cell, "execution_count": count, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _run(source: str, namespace: dict[str, Any], count: int) -> list[dict[str, Any]]:
    body = ast.parse(source, f"<cell {count}>").body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(ast.Module(body, []), f"<cell {count}>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), namespace)
    stream = {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
    shown = [stream] if printed.getvalue() else []
    return shown if value is None else [*shown, _result(value, count)]


def _result(value: Any, count: int) -> dict[str, Any]:
    """As text, and as HTML where the value knows how."""
    data = {"text/plain": _lines(repr(value))}
    draw = getattr(value, "_repr_html_", None)
    if draw is not None:
        data["text/html"] = _lines(draw())
    if not isinstance(value, pd.DataFrame) and draw is not None:
        data["text/plain"] = [f"<{type(value).__name__}>"]
    facts = {"output_type": "execute_result", "metadata": {}, "execution_count": count}
    return {**facts, "data": data}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1:])
