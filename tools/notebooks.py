"""Runs the notebooks and writes their outputs back: `python -m tools.notebooks`.

A small runner instead of a kernel: cells share one namespace; what they print and display, and the
value of their last line, become outputs. It runs in an empty folder, so no path of this machine
appears. Outputs too large for a file that people read keep their still picture.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "notebooks"
LARGEST = 200_000
"""Characters of HTML that are kept in a notebook."""
BADGE = "[Open in Colab]"
COLAB = "https://colab.research.google.com"

Output = dict[str, Any]


def main(arguments: list[str]) -> None:
    chosen = [Path(each).resolve() for each in arguments] or sorted(NOTEBOOKS.glob("*.ipynb"))
    for path in chosen:
        found = executed(badged(json.loads(path.read_text(encoding="utf8")), path.name))
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def badged(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    """With the line that opens it in Colab, below its title: at the repository that pyproject.toml
    declares, and without one at the file itself, which Colab takes as an upload."""
    first, *others = notebook["cells"]
    title, blank, *text = first["source"]
    if text[0].startswith(BADGE):
        text = text[2:]
    titled = {**first, "source": [title, blank, badge(name), "\n", *text]}
    return {**notebook, "cells": [titled, *others]}


def badge(name: str) -> str:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    found = re.fullmatch(
        r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?",
        declared.get("urls", {}).get("Repository", ""),
    )
    if found:
        return f"{BADGE}({COLAB}/github/{found[1]}/blob/main/notebooks/{name})\n"
    return f"{BADGE}({name}): download this file and upload it at [Colab]({COLAB}/#upload).\n"


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


def _run(source: str, namespace: dict[str, Any], count: int) -> list[Output]:
    body = ast.parse(source, f"<cell {count}>").body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    quiet = contextlib.redirect_stderr(io.StringIO())
    with contextlib.redirect_stdout(printed), quiet, _notebook() as displayed:
        exec(compile(ast.Module(body, []), f"<cell {count}>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), namespace)
    stream = {"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())}
    shown = [*([stream] if printed.getvalue() else []), *displayed]
    return shown if value is None else [*shown, _result(value, count)]


@contextlib.contextmanager
def _notebook() -> Iterator[list[Output]]:
    """What a cell displays; outputs that change, as a progress bar's, leave nothing."""
    displayed: list[Output] = []

    def publish(data: dict[str, str], **changes: Any) -> None:
        if not changes:
            kept = {"output_type": "display_data", "metadata": {}, "data": _kept(data)}
            displayed.append(kept)

    shell = SimpleNamespace(kernel=object(), display_pub=SimpleNamespace(publish=publish))
    library = {"IPython": SimpleNamespace(get_ipython=lambda: shell)}
    before = {name: sys.modules[name] for name in library if name in sys.modules}
    sys.modules.update(library)  # type: ignore[arg-type]
    try:
        yield displayed
    finally:
        for name in library:
            del sys.modules[name]
        sys.modules.update(before)


def _result(value: Any, count: int) -> Output:
    """In all formats that the value knows."""
    facts = {"output_type": "execute_result", "metadata": {}, "execution_count": count}
    bundle = getattr(value, "_repr_mimebundle_", None)
    if bundle is not None:
        return {**facts, "data": _kept(bundle())}
    draw = getattr(value, "_repr_html_", None)
    html = {"text/html": draw()} if draw is not None else {}
    return {**facts, "data": _kept({"text/plain": repr(value), **html})}


def _kept(bundle: dict[str, str]) -> dict[str, Any]:
    """Texts by lines, and no page where its picture says enough."""
    kept = {kind: text for kind, text in bundle.items() if len(text) <= LARGEST}
    return {kind: text if kind == "image/png" else _lines(text) for kind, text in kept.items()}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1:])
