"""A report as a folder: the page, and beside it figures and tables for whoever wants files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from heedful.report.audit_figures import audit_figures
from heedful.report.formats import to_json, to_latex
from heedful.report.measured import measured
from heedful.report.page import Case
from heedful.report.readable import Readable
from heedful.report.study_chapter import Content
from heedful.report.svg import render
from heedful.report.target import PAGE, REPORT
from heedful.store import output_folder, to_csv


def write_folder(case: Case, html: str, out: Path) -> None:
    """Whole or not at all; an older report makes way."""
    with output_folder(out, REPORT) as building:
        for part in ("figures", "tables"):
            (building / part).mkdir()
        _put(building / PAGE, html)
        _write_beside(case, building)


def _write_beside(case: Case, folder: Path) -> None:
    if case.study is not None:
        _write_study(case.study, folder)
    for number, audit in enumerate(case.audits):
        suffix = f"_{number + 1}" if len(case.audits) > 1 else ""
        _put(folder / "tables" / f"audit{suffix}.csv", to_csv(audit.rows))
        for figure in audit_figures(audit):
            _put(folder / "figures" / f"audit{suffix}_{figure.name}.svg", render(figure.spec()))


def _write_study(content: Content, folder: Path) -> None:
    evidence = content.evidence
    for paper, frame in content.frames.items():
        prefix = f"{paper}_" if len(content.frames) > 1 else ""
        _tables(frame, content.tables[paper], paper, folder / "tables", prefix)
    _put(folder / "tables" / "measured.csv", to_csv(measured(evidence)))
    _put(folder / "tables" / "measured_over_seeds.csv", to_csv(evidence.together))
    _put(folder / "tables" / "skipped.csv", to_csv(evidence.skipped))
    for figure in content.figures:
        if figure.groups:
            _put(folder / "figures" / f"{figure.name}.svg", render(figure.spec()))


def _tables(
    frame: pd.DataFrame, tables: list[Readable], paper: str, folder: Path, prefix: str
) -> None:
    numbers = sorted(set(frame["table"]))
    for number in numbers:
        _put(folder / f"{prefix}table{number}.csv", to_csv(frame[frame["table"] == number]))
    for one in tables:
        _put(folder / f"{prefix}{one.name}.tex", to_latex(one.table))
    name = f"{paper}, {_listed(numbers)}" if numbers else paper
    _put(folder / f"{prefix}published_beside_measured.json", to_json(frame, name))


def _listed(numbers: list[str]) -> str:
    """`Tables 1 and 2`."""
    most, last = ", ".join(numbers[:-1]), numbers[-1]
    return f"Tables {most} and {last}" if most else f"Table {last}"


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf8", newline="\n")
