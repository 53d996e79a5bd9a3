"""Write a report: a page, or a folder with it, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.report.audit_evidence import AuditEvidence, audit_of_folder, audit_of_run
from heedful.report.charts import render
from heedful.report.evidence import Evidence, expected_probes, gather, measured, papers_of
from heedful.report.figures import FIGURES, TABLES_ONLY
from heedful.report.figures.distributions import measures_of_experiment
from heedful.report.formats import to_json, to_latex
from heedful.report.page import MOST_TEXTS, Case, audit_figures, page
from heedful.report.panels import Figure
from heedful.report.readable import Readable, readable
from heedful.report.sheet import check_packages
from heedful.report.study_chapter import Content
from heedful.report.summaries import lines_by_paper
from heedful.report.tables import published_beside_measured
from heedful.store import (
    FileKind,
    Run,
    Store,
    begins,
    check_file,
    check_folder,
    output_folder,
    refusals,
    to_csv,
    write_file,
)

PAGE = "page.html"
PAGES = (".html", ".htm")
REPORT = "report"
"""The kind of folder."""
_HEAD = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
PAGE_FILE = FileKind(
    "a page of Heedful", begins(f'{_HEAD}<meta name="generator" content="Heedful '), joins=True
)
"""Every page begins so (`templates/base.html`)."""


def kind_of(out: Path) -> FileKind | str:
    """The page alone, or a folder."""
    return PAGE_FILE if out.suffix.lower() in PAGES else REPORT


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
    most: int = MOST_TEXTS,
) -> ReportFiles:
    """The page of study, model, probe and audit runs, and of `folders` that audits left. Where
    `out` ends in .html that is all; else a folder with `figures/*.svg` and `tables/*` too."""
    check_packages()
    kind = kind_of(out)  # anything but an older page or report is not ours to replace
    if isinstance(kind, FileKind):
        check_file(out, kind)
    else:
        check_folder(out, kind)
    case = gather_case(store, runs, folders)
    verdicts = [audit.verdict.headline for audit in case.audits]
    summary = (*verdicts, *(case.study.lines if case.study else ()))
    with refusals(f"write the report to {out}", "make room or give another place with -o"):
        html = page(case, most)
        if isinstance(kind, FileKind):
            write_file(out, html)
            return ReportFiles(out.parent, out, (), (), summary)
        write_folder(case, html, out)
    figures, tables = (tuple(sorted((out / part).iterdir())) for part in ("figures", "tables"))
    return ReportFiles(out, out / PAGE, figures, tables, summary)


def gather_case(store: Store, runs: Sequence[Run], folders: Sequence[Path] = ()) -> Case:
    """Audits by themselves, all else as the evidence of one study."""
    audits = [audit_of_run(run) for run in runs if run.kind == "audit"]
    audits = _once([*audits, *map(audit_of_folder, folders)])
    others = [run for run in runs if run.kind != "audit"]
    if audits and not others:
        return Case(audits)
    evidence = gather(store, others)
    frames = {paper: published_beside_measured(evidence, paper) for paper in papers_of(evidence)}
    content = Content(
        evidence,
        lines_by_paper(evidence),
        {paper: readable(frame, paper, evidence) for paper, frame in frames.items()},
        drawn_figures(evidence),
        frames,
    )
    return Case(audits, content)


def _once(audits: Sequence[AuditEvidence]) -> list[AuditEvidence]:
    """An audit that is named twice, perhaps by its key and by its folder, is one."""
    seen: dict[Any, AuditEvidence] = {}
    for number, each in enumerate(audits):
        seen.setdefault((each.facts.key or number, len(each.rows)), each)
    return list(seen.values())


def chosen_figures(evidence: Evidence) -> list[str]:
    """Those whose probes were run, and those whose probes the study should have run."""
    known = set(evidence.cells["probe"]) | expected_probes(evidence)
    return [name for name in FIGURES if known.intersection(FIGURES[name].needs)]


def drawn_figures(evidence: Evidence) -> list[Figure]:
    """The figures of a report; an experiment without one gets a histogram of each measure."""
    figures = [FIGURES[name].make(evidence) for name in chosen_figures(evidence)]
    known = {*TABLES_ONLY, *(need for name in FIGURES for need in FIGURES[name].needs)}
    for experiment in sorted(set(evidence.cells["probe"]) - known):
        figures += measures_of_experiment(evidence, experiment)
    return figures


def write_folder(case: Case, html: str, out: Path) -> None:
    """Whole or not at all; an older report makes way."""
    with output_folder(out, REPORT) as building:
        for part in ("figures", "tables"):
            (building / part).mkdir()
        _put(building / PAGE, html)
        if case.study is not None:
            _write_study(case.study, building)
        for number, audit in enumerate(case.audits):
            name = f"audit_{number + 1}" if len(case.audits) > 1 else "audit"
            _put(building / "tables" / f"{name}.csv", to_csv(audit.rows))
            for figure in audit_figures(audit):
                _put(building / "figures" / f"{name}_{figure.name}.svg", render(figure.spec()))


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
