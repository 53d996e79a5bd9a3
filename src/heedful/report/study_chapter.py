"""Studies and probes as a part of a page: five lines, published beside measured, figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.report.charts import Charts
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure
from heedful.report.formats import to_html
from heedful.report.heatmaps import heatmaps
from heedful.report.limits import limits
from heedful.report.provenance import provenance
from heedful.report.readable import Readable
from heedful.report.sheet import piece
from heedful.report.studied import expected_probes
from heedful.studies import dataset_name

PARTS = ("lines", "evidence", "print")


@dataclass(frozen=True)
class Content:
    """What studies and probes found, ready made: a chapter only lays out. Lines and tables are
    by paper."""

    evidence: Evidence
    summary: dict[str, list[str]]
    tables: dict[str, list[Readable]]
    figures: list[Figure]
    frames: dict[str, pd.DataFrame]
    """What the tables were made of."""

    @property
    def lines(self) -> list[str]:
        return [line for lines in self.summary.values() for line in lines]


def study_chapter(content: Content, charts: Charts) -> dict[str, str]:
    """The HTML of the lines on top, the tables and figures, and the small print."""
    evidence, markup = content.evidence, need("markupsafe").Markup
    given = {
        "summary": content.summary,
        "limits": limits(evidence),
        "tables": [
            _table(paper, one, markup) for paper, some in content.tables.items() for one in some
        ],
        "several": len(content.summary) > 1,
        "subset": any(table["Note"].str.contains("subset").any() for table in _noted(content)),
        "texts": "adversarial" in expected_probes(evidence) | set(evidence.cells["probe"]),
        "figures": [_figure(figure, charts) for figure in content.figures],
        "heatmaps": heatmaps(evidence),
        "skipped": evidence.skipped.to_dict("records"),
        "provenance": provenance(evidence),
    }
    return {part: piece(f"study_{part}.html", **given) for part in PARTS}


def scope(evidence: Evidence) -> str:
    """What was looked at: corpora, models, seeds."""
    cells = evidence.cells
    corpora = ", ".join(dataset_name(str(name)) for name in cells["corpus"].unique())
    models, seeds = cells["model"].nunique(), cells["seed"].nunique()
    return (
        f"{corpora}; {models} model{'s' * (models != 1)}, {seeds} seed{'s' * (seeds != 1)}; "
        f"intervals are over {'seeds' if seeds > 1 else 'examples'}"
    )


def _table(paper: str, one: Readable, markup: Any) -> dict[str, Any]:
    """Without the columns that have nothing to say."""
    filled = [column for column in one.table if (one.table[column] != "").any()]
    html = markup(to_html(one.table.loc[:, filled]))
    return {"paper": paper, "title": one.title, "caption": one.caption, "html": html}


def _noted(content: Content) -> list[pd.DataFrame]:
    tables = (one.table for some in content.tables.values() for one in some)
    return [table for table in tables if "Note" in table]


def _figure(figure: Figure, charts: Charts) -> dict[str, Any]:
    groups = [
        {
            "title": group.title,
            "legend": group.legend,
            "panels": [
                {"title": panel.title, "chart": charts.draw(panel, f"{figure.name}-{g}-{p}")}
                for p, panel in enumerate(group.panels)
            ],
        }
        for g, group in enumerate(figure.groups)
    ]
    words = {"name": figure.name, "title": figure.title, "caption": figure.caption}
    return {**words, "missing": figure.missing, "wide": figure.wide, "groups": groups}
