"""Write a report: a page, or a folder with it, whole or not at all."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audits import audit_of_folder, audit_of_run
from heedful.report.evidence import Evidence, gather
from heedful.report.extra import need
from heedful.report.figures import FIGURES
from heedful.report.formats import to_csv, to_json, to_latex
from heedful.report.measured import measured
from heedful.report.page import MOST, Case, page
from heedful.report.readable import Readable, readable
from heedful.report.studied import expected_probes, papers_of
from heedful.report.study_chapter import Content
from heedful.report.summary import lines_by_paper
from heedful.report.svg import render
from heedful.report.tables import published_beside_measured
from heedful.store import Run, Store

PAGE = "page.html"
PAGES = (".html", ".htm")
OURS = {PAGE, "figures", "tables"}


@dataclass(frozen=True)
class ReportFiles:
    """What was written, and the lines to print beside it."""

    folder: Path
    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]
    summary: tuple[str, ...]


def build_report(
    store: Store,
    runs: Sequence[Run],
    out: Path,
    folders: Sequence[Path] = (),
    most: int = MOST,
) -> ReportFiles:
    """The page of study, model, probe and audit runs, and of `folders` that audits left. Where
    `out` ends in .html that is all; else a folder with `figures/*.svg` and `tables/*` too."""
    for package in ("altair", "vl_convert", "jinja2"):
        need(package)
    alone = check_target(out)
    case = gather_case(store, runs, folders)
    building = out.parent / f".{out.name}.{uuid.uuid4().hex[:12]}.writing"
    try:
        _make(building)
        _put(building / PAGE, page(case, most))
        if alone:
            (building / PAGE).replace(out)
        else:
            _write_beside(case, building)
            _replace(building, out)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return _files(out, alone, case)


def gather_case(store: Store, runs: Sequence[Run], folders: Sequence[Path] = ()) -> Case:
    """Audits by themselves, all else as the evidence of one study."""
    audits = _once(
        [
            *(audit_of_run(run) for run in runs if run.kind == "audit"),
            *(audit_of_folder(folder) for folder in folders),
        ]
    )
    others = [run for run in runs if run.kind != "audit"]
    if audits and not others:
        return Case(audits)
    evidence = gather(store, others)
    frames = {paper: published_beside_measured(evidence, paper) for paper in papers_of(evidence)}
    content = Content(
        evidence,
        lines_by_paper(evidence),
        {paper: readable(frame, paper, evidence) for paper, frame in frames.items()},
        [FIGURES[name].make(evidence) for name in chosen_figures(evidence)],
        frames,
    )
    return Case(audits, content)


def _once(audits: Sequence[AuditEvidence]) -> list[AuditEvidence]:
    """An audit that is named twice, perhaps by its key and by its folder, is one."""
    seen: dict[Any, AuditEvidence] = {}
    for number, each in enumerate(audits):
        seen.setdefault((each.facts.get("key", number), len(each.rows)), each)
    return list(seen.values())


def _write_beside(case: Case, folder: Path) -> None:
    """Figures and tables, for whoever wants files."""
    if case.study is not None:
        _write_study(case.study, folder)
    for number, audit in enumerate(case.audits):
        suffix = f"_{number + 1}" if len(case.audits) > 1 else ""
        _put(folder / "tables" / f"audit{suffix}.csv", to_csv(audit.rows))


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


def _files(out: Path, alone: bool, case: Case) -> ReportFiles:
    verdicts = [str(each.verdict["headline"]) for each in case.audits]
    lines = [*verdicts, *(case.study.lines if case.study else ())]
    if alone:
        return ReportFiles(out.parent, out, (), (), tuple(lines))
    figures, tables = (tuple(sorted((out / part).iterdir())) for part in ("figures", "tables"))
    return ReportFiles(out, out / PAGE, figures, tables, tuple(lines))


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
            f"the report cannot be written in {folder.parent}: {error.strerror}."
        ) from error


def check_target(out: Path) -> bool:
    """Whether the page alone is wanted. An older page or report is replaced; anything else in
    the way is not ours to remove."""
    alone = out.suffix.lower() in PAGES
    (_check_page if alone else _check_folder)(out)
    return alone


def _check_page(out: Path) -> None:
    if out.is_dir():
        raise HeedfulError(f"{out} is a folder: give another name for the page.")
    if not out.parent.is_dir():
        raise HeedfulError(f"there is no folder {out.parent}: make it first, or give another.")


def _check_folder(out: Path) -> None:
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
