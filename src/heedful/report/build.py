"""Write a report: a folder that is there whole or not at all."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from heedful.errors import HeedfulError
from heedful.report.evidence import Evidence, gather
from heedful.report.extra import need
from heedful.report.figures import FIGURES
from heedful.report.formats import to_csv, to_json, to_latex
from heedful.report.measured import measured
from heedful.report.page import Content, page
from heedful.report.readable import Readable, readable
from heedful.report.studied import expected_probes, papers_of
from heedful.report.summary import lines_by_paper
from heedful.report.svg import render
from heedful.report.tables import published_beside_measured
from heedful.store import Run, Store

OURS = {"page.html", "figures", "tables"}


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
    papers = papers_of(evidence)
    frames = {paper: published_beside_measured(evidence, paper) for paper in papers}
    tables = {paper: readable(frame, paper, evidence) for paper, frame in frames.items()}
    for paper, frame in frames.items():
        prefix = f"{paper}_" if len(papers) > 1 else ""
        _tables(frame, tables[paper], paper, folder / "tables", prefix)
    _put(folder / "tables" / "measured.csv", to_csv(measured(evidence)))
    _put(folder / "tables" / "measured_over_seeds.csv", to_csv(evidence.together))
    _put(folder / "tables" / "skipped.csv", to_csv(evidence.skipped))
    figures = [FIGURES[name].make(evidence) for name in chosen_figures(evidence)]
    for figure in figures:
        if figure.groups:
            _put(folder / "figures" / f"{figure.name}.svg", render(figure.spec()))
    content = Content(lines_by_paper(evidence), tables, figures)
    _put(folder / "page.html", page(evidence, content))
    return content.lines


def chosen_figures(evidence: Evidence) -> list[str]:
    """Those whose probes were run, and those whose probes the study should have run."""
    known = set(evidence.cells["probe"]) | expected_probes(evidence)
    return [name for name in FIGURES if known.intersection(FIGURES[name].needs)]


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
