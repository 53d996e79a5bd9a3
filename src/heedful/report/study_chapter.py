"""Studies and probes as a part of a page: five lines, published beside measured, figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from heedful.report.charts import Charts
from heedful.report.evidence import Evidence, expected_probes
from heedful.report.extra import need
from heedful.report.figures.figure import Figure
from heedful.report.formats import to_html
from heedful.report.heatmaps import heatmaps
from heedful.report.readable import Readable
from heedful.report.sheet import piece
from heedful.store import Run
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


class Limit(NamedTuple):
    """Said where one of the probes was run; where it names none, always."""

    probes: frozenset[str]
    title: str
    text: str


LIMITS = (
    Limit(
        frozenset({"permutation", "adversarial", "erasure", "flips", "importance_sets"}),
        "Interventions hold the states fixed",
        "Shuffled, erased or adversarial weights are applied to the hidden states of the original "
        "run. No training produced them, and a trained model might never.",
    ),
    Limit(
        frozenset({"correlation"}),
        "Erasure leaves the training distribution",
        "A text without one of its words may be unlike anything the model has seen; its effect is "
        "not only the word’s importance.",
    ),
    Limit(
        frozenset({"adversarial"}),
        "Exact adversaries saturate with length",
        "The largest possible distance nears its maximum on long texts whatever the model, mostly "
        "with all weight on one or two words. Read it beside the equally spread-out one.",
    ),
    Limit(
        frozenset({"correlation"}),
        "A significant fraction measures length",
        "On long texts a tiny τ is already significant. It is printed because the paper prints "
        "it; read τ itself and the quarters of length.",
    ),
    Limit(
        frozenset({"correlation"}),
        "τ has a ceiling below 1",
        "Gradients and leaving out do not agree fully with each other either. Low τ alone does "
        "not show that attention is wrong.",
    ),
    Limit(
        frozenset({"importance_sets"}),
        "Decisions that never flip are kept",
        "They are counted as not yet flipped, for every ranking on the same texts. Removing "
        "everything is not counted as a flip.",
    ),
    Limit(
        frozenset({"substitution"}),
        "Replaced attention may take away an input",
        "Where the second text reaches the prediction through attention alone, uniform weights "
        "remove it; a fall of the score then shows that, not that the weights explain.",
    ),
    Limit(
        frozenset({"layers"}),
        "Permuting a layer changes all later ones",
        "Later attention is recomputed from changed states unless it is held at its old weights; "
        "neither isolates a layer.",
    ),
    Limit(
        frozenset({"detector"}),
        "A flag is about the tokens that were named",
        "It compares attention and importance on those tokens only, and says that attention hides "
        "what the model relies on, not that somebody meant it to.",
    ),
    Limit(
        frozenset(),
        "Intervals",
        "With one seed they are bootstrap intervals over texts and say nothing about another "
        "training run; with several, Student’s t over seeds. ± is the spread between texts.",
    ),
)


def limits(evidence: Evidence) -> list[Limit]:
    """Those that concern the probes found."""
    found = set(evidence.cells["probe"])
    return [limit for limit in LIMITS if not limit.probes or limit.probes & found]


VERSIONS = ("heedful", "python", "torch", "numpy")
"""Of what a run was made with, the parts that are safe and useful to print."""


def provenance(evidence: Evidence) -> list[dict[str, str]]:
    """One line per run behind the report: first those asked for, then what they rest on."""
    return [
        {
            "key": run.key,
            "piece": _piece(run),
            "digest": run.digest,
            "made_with": _made_with(run),
        }
        for run in _runs(evidence)
    ]


def _runs(evidence: Evidence) -> Iterator[Run]:
    cells = evidence.cells
    keys = [run.key for run in evidence.runs]
    for column in ("corpus_run", "model_run", "run"):
        keys += [str(key) for key in cells[column] if key]
    for key in dict.fromkeys(keys):
        if evidence.store.has(key):
            yield evidence.store.open(key)


def _piece(run: Run) -> str:
    facts = run.facts
    number = f" v{facts['version']}" if "version" in facts else ""
    seed = f" seed {facts['seed']}" if "seed" in facts else ""
    return f"{facts.get('piece', run.kind)}{number}{seed}"


def _made_with(run: Run) -> str:
    made = run.record.made_with
    return ", ".join(f"{name} {made[name]}" for name in VERSIONS if name in made)
