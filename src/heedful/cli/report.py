"""`heedful report`: one self-contained page, figures and tables from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import DEFAULT_STORE, JsonOption, StoreOption, open_store
from heedful.cli.terminal import show, show_json


def report(
    runs: Annotated[list[str], typer.Argument(help="Keys of study, model or probe runs.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path(
        "heedful-report"
    ),
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Write page.html, figures (SVG) and tables (CSV, LaTeX, JSON). Needs no torch."""
    from heedful.report.build import build_report

    place = open_store(store)
    files = build_report(place, [place.resolve(key) for key in runs], out)
    if as_json:
        written = [str(path) for path in (files.page, *files.figures, *files.tables)]
        show_json("report", {"files": written, "summary": list(files.summary)})
        return
    for line in files.summary:
        show(line)
    show(f"page: {files.page}")
