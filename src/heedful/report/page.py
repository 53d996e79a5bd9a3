"""One self-contained page: no script, no network, readable on a phone and on paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from heedful.report.display import visible
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure
from heedful.report.formats import to_html
from heedful.report.heatmaps import heatmaps
from heedful.report.provenance import heedful_version, provenance
from heedful.report.svg import inline
from heedful.studies.published import dataset_name

CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Content:
    """What the page shows, ready made: it only lays out."""

    summary: list[str]
    tables: Mapping[str, pd.DataFrame]
    figures: list[Figure]
    paper: str


def page(evidence: Evidence, content: Content) -> str:
    """The HTML of a report."""
    jinja2, markup = need("jinja2"), need("markupsafe").Markup
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    source = files("heedful.report").joinpath("template.html").read_text(encoding="utf8")
    return str(
        environment.from_string(source).render(
            csp=CSP,
            title=", ".join(evidence.papers) or "runs",
            scope=scope(evidence),
            summary=content.summary,
            tables={name: markup(to_html(table)) for name, table in _filled(content.tables)},
            paper=content.paper,
            subset=any(table["Note"].str.contains("subset").any() for table in _noted(content)),
            figures=[_figure(figure, markup) for figure in content.figures],
            heatmaps=heatmaps(evidence),
            skipped=evidence.skipped.to_dict("records"),
            provenance=provenance(evidence),
            version=heedful_version(),
        )
    )


def scope(evidence: Evidence) -> str:
    """What was looked at: corpora, models, seeds."""
    cells = evidence.cells
    corpora = ", ".join(dataset_name(str(name)) for name in cells["corpus"].unique())
    models, seeds = cells["model"].nunique(), cells["seed"].nunique()
    return (
        f"{corpora}; {models} model{'s' * (models != 1)}, {seeds} seed{'s' * (seeds != 1)}; "
        f"intervals are over {'seeds' if seeds > 1 else 'examples'}"
    )


def _filled(tables: Mapping[str, pd.DataFrame]) -> list[tuple[str, pd.DataFrame]]:
    """Tables with something in them, without the columns that have nothing to say."""
    return [
        (name, table.loc[:, [column for column in table if (table[column] != "").any()]])
        for name, table in tables.items()
        if len(table)
    ]


def _noted(content: Content) -> list[pd.DataFrame]:
    return [table for table in content.tables.values() if "Note" in table and len(table)]


def _figure(figure: Figure, markup: Any) -> dict[str, Any]:
    groups = [
        {
            "title": group.title,
            "legend": group.legend,
            "panels": [
                {
                    "title": panel.title,
                    "svg": markup(inline(panel.spec(), f"{figure.name}-{g}-{p}", panel.says)),
                }
                for p, panel in enumerate(group.panels)
            ],
        }
        for g, group in enumerate(figure.groups)
    ]
    words = {"name": figure.name, "title": figure.title, "caption": figure.caption}
    return {**words, "missing": figure.missing, "groups": groups}
