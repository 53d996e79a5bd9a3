"""Published beside measured at a glance: τ of jain2019's Table 2, and attention replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from heedful.entries import ReportFigure, by_name
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import (
    KINDS,
    LABELS,
    WIDTH,
    Figure,
    Group,
    Panel,
    Words,
    by_corpus,
)
from heedful.report.tables import Place, Printed, places, printed, published_beside_measured
from heedful.studies import CONDITIONS, dataset_name

NAMES = {"tau_gradient": "attention × gradients", "tau_loo": "attention × leaving out"}
PAPER, SLIDES, MEASURED = "#d2781a", "#8a8f98", KINDS["exact"]
LEGEND = (("measured, 95% interval", MEASURED), ("paper", PAPER))
PUBLISHED = Words(
    "published",
    "Published beside measured",
    "Average Kendall τ by model and predicted class (0, 1). Dot and bar: measured here with its "
    "95% interval; diamond and ring: the two printed versions, where the paper gives them.",
    "τ",
    "No τ was measured.",
)


def published(evidence: Evidence) -> Figure:
    frame = published_beside_measured(evidence)
    frame = frame[frame["metric"].isin(list(NAMES)) & frame["measured"].notna()]
    legend = (*LEGEND, ("slides", SLIDES))
    return by_corpus(PUBLISHED, frame, legend, _panels, "dataset", wide=True)


def _panels(part: pd.DataFrame) -> Iterator[Panel]:
    for metric, name in NAMES.items():
        cells = part[part["metric"] == metric]
        if len(cells):
            mean = f"measured {cells['measured'].mean():.2f} on average"
            says = f"τ of {name}: {len(cells)} cells, {mean}."
            yield Panel(name, _published_chart(cells), says)


def _published_chart(cells: pd.DataFrame) -> Any:
    alt = need("altair")
    data = cells.assign(row=cells["model"] + " · " + cells["class"])
    numbers = ["row", "measured", "low", "high", "published_paper", "published_slides"]
    least = min(0.0, float(data[numbers[1:]].min().min()))
    scale = alt.Scale(domain=[least, 1.0])
    y = alt.Y("row:N", title=None, sort=None, axis=alt.Axis(grid=True, labelLimit=LABELS))
    base = alt.Chart(data[numbers], width=WIDTH, height={"step": 17}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title="average τ", scale=scale)

    bar = base.mark_rule(strokeWidth=3, opacity=0.5, color=MEASURED).encode(x=at("low"), x2="high")
    dot = base.mark_point(filled=True, size=55, opacity=1, color=MEASURED).encode(x=at("measured"))
    paper = base.mark_point(shape="diamond", size=60, strokeWidth=1.8, color=PAPER)
    slides = base.mark_point(size=45, strokeWidth=1.6, color=SLIDES)
    return alt.layer(
        bar, slides.encode(x=at("published_slides")), paper.encode(x=at("published_paper")), dot
    )


OF_F1 = "tutek2020"
PAPERS = ("vashishth2019", OF_F1)
SUBSTITUTION = Words(
    "substitution",
    "Attention replaced (vashishth2019, Tables 1 to 3; tutek2020, Table 1)",
    "Change of the score when attention is replaced in training too, or afterwards only, in "
    "points of per cent or of BLEU; panels of one unit share a scale. Bar and line: measured here "
    "with its 95% interval; diamond: printed by the paper, where corpus and model are the same. A "
    "short bar says that the task can be done without these weights; a long one, with the "
    "context-only decoder of two texts, also that the second text is gone.",
    "The score with attention replaced",
)
WORDS = {
    "uniform:train+infer": "uniform, in training too",
    "uniform:infer": "uniform, afterwards",
    "random:train+infer": "random, in training too",
    "random:infer": "random, afterwards",
    "permute:infer": "shuffled, afterwards",
}


def substitution(evidence: Evidence) -> Figure:
    every = [(place, changes(evidence.together, place, paper)) for place, paper in _where(evidence)]
    found = [(place, table) for place, table in every if len(table)]
    groups: dict[str, list[Panel]] = {}
    for place, table in found:
        chart = _substitution_chart(table, *_reach(found, place.score))
        panel = Panel(place.model, chart, _says(place, table))
        groups.setdefault(dataset_name(place.corpus), []).append(panel)
    drawn = tuple(Group(name, LEGEND, tuple(panels)) for name, panels in groups.items())
    missing = "" if drawn else SUBSTITUTION.missing
    return Figure(
        SUBSTITUTION.name, SUBSTITUTION.title, SUBSTITUTION.caption, drawn, missing, wide=True
    )


def _where(evidence: Evidence) -> list[tuple[Place, Printed]]:
    """Each model as the paper names it that it is read against."""
    found: dict[tuple[str, str], tuple[Place, Printed]] = {}
    for name in [paper for paper in PAPERS if paper in evidence.papers] or PAPERS[:1]:
        paper = printed(name)
        for place in places(evidence, name, paper):
            fits = (place.score == "f1") == (name == OF_F1)
            key = (place.corpus, place.label)
            found[key] = (place, paper) if fits else found.get(key, (place, paper))
    return list(found.values())


def changes(together: pd.DataFrame, place: Place, paper: Printed) -> pd.DataFrame:
    """A line per replacement: the change and what the paper prints, in points."""
    cells = together[
        (together["probe"] == "substitution")
        & (together["corpus"] == place.corpus)
        & (together["model"] == place.label)
        & (together["group"] == "all")
        & together["mean"].notna()
    ]
    numbers = {str(line["measure"]): line for line in cells.to_dict("records")}
    scale = 1.0 if place.score == "bleu" else 100.0
    lines = [
        {
            "row": WORDS[when],
            **{name: scale * numbers[f"delta:{when}"][name] for name in ("mean", "low", "high")},
            "printed": _printed(paper, place, when),
        }
        for when in CONDITIONS
        if f"delta:{when}" in numbers
    ]
    return pd.DataFrame(lines, columns=["row", "mean", "low", "high", "printed"])


def _printed(paper: Printed, place: Place, when: str) -> float:
    """Not for a substitute: it is other data."""
    if place.substitute:
        return float("nan")
    cell = (place.asked, "all", place.named, f"delta_{place.score}:{when}")
    values = (paper.value(table, "paper", cell)[0] for table in paper.tables)
    return next((value for value in values if value == value), float("nan"))


def _reach(found: list[tuple[Place, pd.DataFrame]], score: str) -> tuple[float, float]:
    """One scale for all panels of one unit; zero is always on it."""
    alike = [table for place, table in found if (place.score == "bleu") == (score == "bleu")]
    numbers = pd.concat(alike)[["mean", "low", "high", "printed"]]
    return min(0.0, float(numbers.min().min())) - 1.0, max(0.0, float(numbers.max().max())) + 1.0


def _substitution_chart(table: pd.DataFrame, low: float, high: float) -> Any:
    alt = need("altair")
    scale = alt.Scale(domain=[low, high], nice=False)
    y = alt.Y("row:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS))
    base = alt.Chart(table, width=WIDTH, height={"step": 19}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title="change, points", scale=scale)

    bar = base.mark_bar(size=10, opacity=0.5, color=MEASURED).encode(x=at("mean"))
    line = base.mark_rule(strokeWidth=2, color=MEASURED).encode(x=at("low"), x2="high:Q")
    marks = base.transform_filter("isValid(datum.printed)").mark_point(
        shape="diamond", size=60, strokeWidth=1.8, opacity=1, color=PAPER
    )
    return alt.layer(bar, line, marks.encode(x=at("printed")))


def _says(place: Place, table: pd.DataFrame) -> str:
    parts = "; ".join(f"{line.row} {line.mean:+.1f}" for line in table.itertuples())
    return f"Change of {place.score} with attention replaced, {place.model}: {parts}."


ENTRIES = by_name(
    ReportFigure(
        name="published",
        description="Every τ of jain2019's Table 2, published and measured, with intervals.",
        make=published,
        paper="jain2019, Table 2",
        needs=("correlation",),
    ),
    ReportFigure(
        name="substitution",
        description="Change of the score with attention replaced, published beside measured.",
        make=substitution,
        paper="vashishth2019, Tables 1 to 3; tutek2020, Table 1",
        needs=("substitution",),
    ),
)
