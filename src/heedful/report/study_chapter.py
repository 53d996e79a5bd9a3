"""Studies and probes as a part of a page: five lines, published beside measured, figures, and words
coloured by attention beside an adversary's (as jain2019's Figure 1).

The most striking texts are shown and, against cherry-picking, random ones. Texts of corpora are
hostile: they leave here as plain strings, the template escapes them, and control and direction
characters are shown as what they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heedful.report.charts import Charts
from heedful.report.evidence import Evidence, expected_probes
from heedful.report.formats import number, to_html, visible
from heedful.report.panels import Figure
from heedful.report.readable import Readable
from heedful.report.sheet import need, piece
from heedful.store import Run
from heedful.studies import dataset_name

PARTS = ("verdict", "examples", "papers", "methods")


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
    """The HTML of what a study adds to the chapters of a page."""
    evidence, markup = content.evidence, need("markupsafe").Markup
    tables = [(paper, one) for paper, some in content.tables.items() for one in some]
    notes = [note for _, one in tables if "Note" in one.table for note in one.table["Note"]]
    given = {
        "summary": content.summary,
        "limits": limits(evidence),
        "tables": [_table(paper, one, markup) for paper, one in tables],
        "several": len(content.summary) > 1,
        "subset": any("subset" in note for note in notes),
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
    lines = []
    for run in _runs(evidence):
        made = run.record.made_with
        versions = ", ".join(f"{name} {made[name]}" for name in VERSIONS if name in made)
        key, digest = run.key, run.digest
        lines.append({"key": key, "piece": _piece(run), "digest": digest, "made_with": versions})
    return lines


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


STRIKING, RANDOM, SEED = 6, 3, 0
DISTANCES = ("jsd_exact", "jsd_search", "jsd_entropy_matched")
PLACE = ["site", "head", "query"]
FAVOURITE = "bilstm-additive"


SHOWN = 48
"""Tokens shown of one text; of a longer one, the stretch with the most weight."""

TITLES = {
    "attention": "the model’s attention",
    "adversary": "an adversary’s",
    "adversary_entropy_matched": "an adversary’s, as spread out",
}


@dataclass(frozen=True)
class Token:
    text: str
    weight: float

    @property
    def shade(self) -> str:
        """0–100; the root keeps small weights visible."""
        return f"{100 * math.sqrt(min(max(self.weight, 0.0), 1.0)):.0f}"


@dataclass(frozen=True)
class Map:
    title: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class HeatMap:
    heading: str
    why: str
    facts: str
    maps: tuple[Map, ...]
    cut: str


def heatmaps(evidence: Evidence) -> list[HeatMap]:
    """About nine texts over all corpora, from one model per corpus: those with the largest
    adversarial distance, and a few drawn at random."""
    cells = list(_adversarial_cells(evidence))
    share = max(1, len(cells))
    counts = max(1, round(STRIKING / share)), max(1, round(RANDOM / share))
    return [heat for cell in cells for heat in _of_cell(evidence, cell, *counts)]


def _adversarial_cells(evidence: Evidence) -> Iterator[dict[Any, Any]]:
    """The adversarial cell to show per corpus: the debate's usual model, first seed."""
    table = evidence.cells[evidence.cells["probe"] == "adversarial"]
    has_maps = [evidence.store.open(str(key)).has("maps.parquet") for key in table["run"]]
    table = table[pd.Series(has_maps, index=table.index, dtype=bool)]
    for _, part in table.groupby("corpus", sort=False):
        ordered = part.assign(other=part["model"] != FAVOURITE).sort_values(
            ["other", "model", "seed"], kind="stable"
        )
        yield ordered.iloc[0].to_dict()


def _of_cell(
    evidence: Evidence, cell: dict[Any, Any], striking: int, random: int
) -> Iterator[HeatMap]:
    run, corpus = evidence.store.open(str(cell["run"])), str(cell["corpus"])
    rows, maps = of_first(run.table("rows"), run.table("maps"))
    wide = rows.pivot_table(index="example", columns="measure", values="value", sort=True)
    measure = next((name for name in DISTANCES if name in wide), None)
    if measure is None:
        return
    ranked = wide[measure].dropna().sort_values(ascending=False, kind="stable")
    top = list(ranked.index[:striking])
    rest = sorted(set(ranked.index) - set(top))
    drawn = [rest[at] for at in np.random.default_rng(SEED).permutation(len(rest))[:random]]
    words = evidence.words(str(cell["corpus_run"]), [*top, *drawn])
    classes, predicted = evidence.label_names(corpus), rows.groupby("example")["predicted"].first()
    heading = f"{dataset_name(corpus)} · {cell['label']}"
    for name in (*top, *drawn):
        shown = _maps(maps[maps["example"] == name], words.get(name, []))
        if shown is not None:
            label = int(predicted[name])
            facts = [f"predicted {visible(classes.get(label, f'class {label}'))}"]
            facts += _facts(wide.loc[name])
            why = "largest distance" if name in top else "drawn at random"
            yield HeatMap(heading, why, " · ".join(facts), *shown)


def _maps(lines: pd.DataFrame, words: list[str]) -> tuple[tuple[Map, ...], str] | None:
    """A text's maps and which of its words they show; None where words or weights are missing."""
    known = dict(zip(lines["map"], lines["scores"], strict=True))
    scores = {name: np.asarray(known[name], dtype=float) for name in TITLES if name in known}
    if not words or "attention" not in scores or {len(s) for s in scores.values()} != {len(words)}:
        return None
    start, stop = _window(list(scores.values()))
    maps = tuple(
        Map(TITLES[name], tuple(map(Token, words[start:stop], score[start:stop])))
        for name, score in scores.items()
    )
    return maps, f"tokens {start + 1}–{stop} of {len(words)}" if stop - start < len(words) else ""


def of_first(rows: pd.DataFrame, maps: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of several heads or queries the first one's weights are shown, and its numbers beside."""
    if maps.empty:
        return rows.iloc[:0], maps
    first = maps[PLACE].iloc[0]
    rows, maps = (each[(each[PLACE] == first).all(axis=1)] for each in (rows, maps))
    return rows[rows["example"].isin(maps["example"])], maps


def _window(scores: list[Any]) -> tuple[int, int]:
    length = len(scores[0])
    if length <= SHOWN:
        return 0, length
    total = np.nan_to_num(np.sum(scores, axis=0))
    sums = np.convolve(total, np.ones(SHOWN), mode="valid")
    start = int(sums.argmax())
    return start, start + SHOWN


def _facts(values: pd.Series) -> Iterator[str]:
    for measure, words in (
        ("tvd_adversary", "Δŷ of the adversary"),
        ("tvd_entropy_matched", "Δŷ as spread out"),
        ("jsd_exact", "distance (exact)"),
        ("jsd_search", "distance (search)"),
        ("jsd_entropy_matched", "distance (as spread out)"),
    ):
        digits = 3 if measure.startswith("tvd") else 2
        if pd.notna(values.get(measure)):
            yield f"{words} {number(float(values[measure]), digits)}"
