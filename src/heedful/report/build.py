"""Write a report: a page, or a folder with it, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audits import audit_of_folder, audit_of_run
from heedful.report.evidence import Evidence, gather
from heedful.report.extra import check_packages
from heedful.report.figures import FIGURES
from heedful.report.folder import write_folder
from heedful.report.page import MOST, Case, page
from heedful.report.readable import readable
from heedful.report.studied import expected_probes, papers_of
from heedful.report.study_chapter import Content
from heedful.report.summary import lines_by_paper
from heedful.report.tables import published_beside_measured
from heedful.report.target import PAGE, check_target
from heedful.store import Run, Store, refusals, write_file


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
    check_packages()
    alone = check_target(out)
    case = gather_case(store, runs, folders)
    with refusals(f"write the report to {out}", "make room or give another place with -o"):
        if alone:
            write_file(out, page(case, most))
        else:
            write_folder(case, page(case, most), out)
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
