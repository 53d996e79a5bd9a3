"""`heedful report`: one self-contained page, figures and tables from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heedful.cli.options import DEFAULT_STORE, JsonOption, StoreOption, open_store
from heedful.cli.outputs import Output, check_outputs
from heedful.cli.terminal import page_line, show, show_json

Runs = Annotated[
    list[str],
    typer.Argument(help="Keys of study, model, probe or audit runs, or folders of audits."),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="page.html for the page alone, else a folder.")
]


def report(
    runs: Runs,
    out: Out = Path("heedful-report"),
    examples: Annotated[
        int, typer.Option(help="Texts that can be looked through in the page.", min=0, max=100_000)
    ] = 500,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Write one page for all runs; into a folder also figures (SVG) and tables (CSV, LaTeX, JSON).
    Needs no torch."""
    from heedful.report import build_report, kind_of, names_folder

    check_outputs(Output("-o", out, kind_of(out)), store=store)
    folders = [Path(each) for each in runs if names_folder(each)]
    place = open_store(store)
    found = [place.resolve(key) for key in runs if not names_folder(key)]
    files = build_report(place, found, out, folders, examples)
    if as_json:
        written = [str(path) for path in (files.page, *files.figures, *files.tables)]
        show_json("report", {"files": written, "summary": list(files.summary)})
        return
    for line in files.summary:
        show(line)
    show(page_line(files.page))
