"""The map of the papers' tables and figures: every printed number is in it, and what it names is
there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tools.trials import arguments

from heedful.experiments import PROBES
from heedful.report import FIGURES
from heedful.studies import STUDIES, printed_corpora, printed_papers, published
from paper_tables.tables_and_figures import PAPERS, PARTS, Part, tables_and_figures
from paper_tables.trials import TRIALS

HERE = Path(__file__).parent.parent
OF_REPORT = {
    "table1_corpora", "table5_corpora", "table1", "table2", "table3", "table4", "table6",
    "table2_gradient", "table2_leave_one_out", "uniform", "seeds", "guides", "frontier",
    "decoders", "models", "averages",
}  # fmt: skip
"""What `readable` names its tables; its own tests see that it does."""


def test_the_committed_page_is_what_the_list_says() -> None:
    page = (HERE / "docs/tables-and-figures.md").read_text(encoding="utf8")
    assert page == tables_and_figures()


def test_every_paper_has_parts_in_its_own_order() -> None:
    papers = [paper.key for paper in PAPERS]
    assert list(dict.fromkeys(part.paper for part in PARTS)) == papers
    assert {*STUDIES} <= {*papers}


@pytest.mark.parametrize("paper", printed_papers())
def test_every_table_with_published_numbers_is_on_the_map(paper: str) -> None:
    known = {part.number for part in PARTS if part.paper == paper}
    numbers = {str(table).partition("/")[0] for table in published(paper)["table"]}
    numbers |= set(printed_corpora(paper)["table"])
    named = {f"{'Table' if number.isdigit() else 'Figure'} {number.removeprefix('fig')}"
             for number in numbers}  # fmt: skip
    assert named <= known


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.paper} {part.number}")
def test_what_a_part_names_is_there(part: Part) -> None:
    assert part.here or part.missing
    assert {*part.tables} <= OF_REPORT and {*part.figures} <= {*FIGURES}
    assert {*part.probes} <= {*PROBES}
    if part.paper in STUDIES and (part.tables or part.figures):
        asked = {p.name for s in STUDIES[part.paper].make().settings for p in s.probes}
        asked |= {name for name in PROBES if name in part.command.partition("--probes ")[2]}
        needs = {name for figure in part.figures for name in FIGURES[figure].needs}
        assert {*part.probes, *needs} <= asked
    if part.command.startswith("python -m tools.trials"):
        assert arguments(shlex.split(part.command)[3:]).trial in TRIALS


def test_figures_are_named_as_the_report_names_them() -> None:
    """A figure that says which paper's it is stands with that paper."""
    for name in FIGURES:
        for paper in re.findall(r"[a-z]+20\d\d", FIGURES[name].paper or ""):
            drawn = {figure for part in PARTS if part.paper == paper for figure in part.figures}
            commands = {part.command for part in PARTS if part.paper == paper}
            assert name in drawn or any(f"-{name}" in command for command in commands), name
