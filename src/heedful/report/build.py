"""Write a report: a folder that is there whole or not at all."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from heedful.errors import HeedfulError
from heedful.report.display import correlations, scores
from heedful.report.evidence import Evidence, gather
from heedful.report.extra import need
from heedful.report.figures import FIGURES
from heedful.report.figures.figure import Figure
from heedful.report.formats import to_csv, to_json, to_latex
from heedful.report.measured import measured
from heedful.report.page import Content, page
from heedful.report.summary import five_lines
from heedful.report.svg import render
from heedful.report.tables import published_beside_measured
from heedful.store import Run, Store

OURS = {"page.html", "figures", "tables"}
PAPER = "jain2019"


@dataclass(frozen=True)
class ReportFiles:
    """What was written, and the five lines to print beside it."""

    folder: Path
    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]
    summary: tuple[str, ...]


def build_report(store: Store, runs: list[Run], out: Path) -> ReportFiles:
    """Write `page.html`, `figures/*.svg` and `tables/*` for study, model or probe runs."""
    for package in ("altair", "vl_convert", "jinja2"):
        need(package)
    check_target(out)
    evidence = gather(store, runs)
    building = out.parent / f".{out.name}.{uuid.uuid4().hex[:12]}.writing"
    try:
        _make(building)
        summary = _write(evidence, building)
        _replace(building, out)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return ReportFiles(
        out,
        out / "page.html",
        tuple(sorted((out / "figures").iterdir())),
        tuple(sorted((out / "tables").iterdir())),
        tuple(summary),
    )


def _write(evidence: Evidence, folder: Path) -> list[str]:
    frame = published_beside_measured(evidence, PAPER)
    readable = {
        "table1": scores(frame),
        "table2_gradient": correlations(frame, "tau_gradient", evidence),
        "table2_leave_one_out": correlations(frame, "tau_loo", evidence),
    }
    _tables(evidence, frame, readable, folder / "tables")
    figures: list[Figure] = [FIGURES[name].make(evidence) for name in FIGURES]
    for figure in figures:
        if figure.groups:
            _put(folder / "figures" / f"{figure.name}.svg", render(figure.spec()))
    content = Content(five_lines(evidence), readable, figures, PAPER)
    _put(folder / "page.html", page(evidence, content))
    return content.summary


def _tables(
    evidence: Evidence, frame: pd.DataFrame, readable: dict[str, pd.DataFrame], folder: Path
) -> None:
    for number in sorted(set(frame["table"])):
        _put(folder / f"table{number}.csv", to_csv(frame[frame["table"] == number]))
    for name, table in readable.items():
        if len(table):
            _put(folder / f"{name}.tex", to_latex(table))
    _put(folder / "measured.csv", to_csv(measured(evidence)))
    _put(folder / "measured_over_seeds.csv", to_csv(evidence.together))
    _put(folder / "skipped.csv", to_csv(evidence.skipped))
    _put(folder / "published_beside_measured.json", to_json(frame, f"{PAPER}, Tables 1 and 2"))


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf8", newline="\n")


def _make(folder: Path) -> None:
    try:
        for part in ("figures", "tables"):
            (folder / part).mkdir(parents=True)
    except OSError as error:
        raise HeedfulError(
            f"cannot write the report beside {folder.parent}: {error.strerror}."
        ) from error


def check_target(out: Path) -> None:
    """An older report is replaced; anything else in the way is not ours to remove."""
    if out.exists() and not out.is_dir():
        raise HeedfulError(f"{out} is a file: give a folder for the report.")
    if out.is_dir():
        others = sorted(path.name for path in out.iterdir() if path.name not in OURS)
        if others:
            raise HeedfulError(
                f"the folder {out} holds other things ({others[0]}): give a new one for the report."
            )


def _replace(building: Path, out: Path) -> None:
    if not out.exists():
        building.rename(out)
        return
    old = building.with_suffix(".old")
    out.rename(old)
    try:
        building.rename(out)
    except OSError:
        old.rename(out)
        raise
    shutil.rmtree(old)
