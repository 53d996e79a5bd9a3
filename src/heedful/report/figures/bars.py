"""Dots and bars by model: published beside measured (τ of jain2019's Table 2, attention replaced),
conicity of the attended states and attention by kind of word (mohankumar2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pandas as pd

from heedful.entries import figure
from heedful.report.evidence import Evidence, lines_of
from heedful.report.figures.multiples import Words, by_corpus, painted
from heedful.report.panels import CLASSES, GREY, KINDS, Figure, Panel, named_rows, on_axis
from heedful.report.sheet import need
from heedful.report.tables import Place, Printed, places, printed, published_beside_measured
from heedful.studies import CONDITIONS

NAMES = {"tau_gradient": "attention × gradients", "tau_loo": "attention × leaving out"}
PAPER, SLIDES, MEASURED = "#d2781a", GREY, KINDS["exact"]
LEGEND = (("measured, 95% interval", MEASURED), ("paper", PAPER))
PUBLISHED = Words(
    "published",
    "Published beside measured",
    "Average Kendall τ by model and predicted class (0, 1). Dot and bar: measured here with its "
    "95% interval; diamond and ring: the two printed versions, where the paper gives them.",
    "τ",
    "No τ was measured.",
)


@figure("correlation", paper="jain2019, Table 2")
def published(evidence: Evidence) -> Figure:
    """Every τ of jain2019's Table 2, published and measured, with intervals."""
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
    numbers = ["measured", "low", "high", "published_paper", "published_slides"]
    data = cells.assign(row=cells["model"] + " · " + cells["class"])[["row", *numbers]]
    least = min(0.0, float(data[numbers].min().min()))
    at, base = (
        on_axis("x", "average τ", domain=[least, 1.0]),
        named_rows(data, "row", 17, grid=True),
    )
    bar = base.mark_rule(strokeWidth=3, opacity=0.5, color=MEASURED)
    slides = base.mark_point(size=45, strokeWidth=1.6, color=SLIDES)
    paper = base.mark_point(shape="diamond", size=60, strokeWidth=1.8, color=PAPER)
    dot = base.mark_point(filled=True, size=55, opacity=1, color=MEASURED)
    return alt.layer(
        bar.encode(x=at("low"), x2="high"),
        slides.encode(x=at("published_slides")),
        paper.encode(x=at("published_paper")),
        dot.encode(x=at("measured")),
    )


OF_F1 = "tutek2020"
PAPERS = ("vashishth2019", OF_F1)
SUBSTITUTION = Words(
    "substitution",
    "Attention replaced (vashishth2019, Tables 1 to 3, Figure 1; tutek2020, Table 1)",
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


@figure("substitution", paper="vashishth2019, Tables 1 to 3; tutek2020, Table 1")
def substitution(evidence: Evidence) -> Figure:
    """Change of the score with attention replaced, published beside measured."""
    every = [(place, changes(evidence.together, place, paper)) for place, paper in _where(evidence)]
    tables = [(place, table) for place, table in every if len(table)]
    panels = (
        (
            place.corpus,
            Panel(
                place.model,
                _substitution_chart(table, *_reach(tables, place.score)),
                _says(place, table),
            ),
        )
        for place, table in tables
    )
    return SUBSTITUTION.of_panels(panels, LEGEND, wide=True)


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
    cells = lines_of(together, "substitution").dropna(subset="mean")
    cells = cells[(cells["corpus"] == place.corpus) & (cells["model"] == place.label)]
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
    at = on_axis("x", "change, points", domain=[low, high], nice=False)
    base = named_rows(table, "row", 19)
    bar = base.mark_bar(size=10, opacity=0.5, color=MEASURED)
    line = base.mark_rule(strokeWidth=2, color=MEASURED)
    marks = base.transform_filter("isValid(datum.printed)").mark_point(
        shape="diamond", size=60, strokeWidth=1.8, opacity=1, color=PAPER
    )
    return (
        bar.encode(x=at("mean"))
        + line.encode(x=at("low"), x2="high:Q")
        + marks.encode(x=at("printed"))
    )


def _says(place: Place, table: pd.DataFrame) -> str:
    parts = "; ".join(f"{line.row} {line.mean:+.1f}" for line in table.itertuples())
    return f"Change of {place.score} with attention replaced, {place.model}: {parts}."


COLOUR = KINDS["exact"]
STATES_LEGEND = (("mean over texts, 95% interval", COLOUR),)
CONICITY = Words(
    "conicity",
    "Conicity of the attended states (mohankumar2020)",
    "Mean |cosine| of a text’s states with their mean. At 1 all states lie on one line, and it "
    "hardly matters which of them is attended; states that differ give attention something to "
    "choose from.",
    "Conicity",
)


@figure("conicity", paper="mohankumar2020")
def conicity(evidence: Evidence) -> Figure:
    """Conicity of the attended states, by model."""
    return by_corpus(CONICITY, conicity_table(evidence.together), STATES_LEGEND, _conicity_panels)


def conicity_table(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus and model."""
    lines = lines_of(together, "conicity", "conicity").dropna(subset="mean")
    return lines[["corpus", "model", "mean", "low", "high"]]


def _conicity_panels(part: pd.DataFrame) -> Iterator[Panel]:
    at = on_axis("x", "conicity", domain=[0, 1], nice=False)
    base = named_rows(part[["model", "mean", "low", "high"]], "model")
    bar = base.mark_bar(size=11, opacity=0.55, color=COLOUR).encode(x=at("mean"))
    line = base.mark_rule(strokeWidth=2, color=COLOUR).encode(x=at("low"), x2="high:Q")
    means = zip(part["model"], part["mean"], strict=True)
    says = "; ".join(f"{model} {mean:.2f}" for model, mean in means)
    yield Panel("conicity", bar + line, f"Conicity: {says}.")


PARTS_KINDS = {
    "punctuation": ("punctuation", CLASSES[4]),
    "function": ("function words", CLASSES[1]),
    "content": ("other words", CLASSES[0]),
}
EVEN = "even attention"
PARTS = Words(
    "parts_of_speech",
    "Attention by kind of word (mohankumar2020)",
    "Share of a text’s attention on punctuation, on function words and on the others, averaged "
    "over texts. Even attention has each kind’s share of the tokens: a longer bar for other "
    "words than there is attention that looks for content. Corpora prepared without punctuation "
    "have none.",
    "Attention by kind of word",
)


@figure("parts_of_speech", paper="mohankumar2020")
def parts_of_speech(evidence: Evidence) -> Figure:
    """Share of attention on punctuation, function words and the rest, by model."""
    found = parts_table(evidence.together)
    return by_corpus(PARTS, found, tuple(PARTS_KINDS.values()), _parts_panels)


def parts_table(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus, model (even attention among them) and kind, with the places where its
    part of the bar begins and ends."""
    measured = lines_of(together, "parts_of_speech").dropna(subset="mean")
    lines: list[tuple[Any, ...]] = []
    for corpus, cells in measured.groupby("corpus", sort=False):
        bars = [(model, "mass", part) for model, part in cells.groupby("model", sort=False)]
        for model, what, part in (*bars, (EVEN, "share", bars[0][2])):
            means = dict(zip(part["measure"], part["mean"], strict=True))
            values = [means.get(f"{what}:{kind}", 0.0) for kind in PARTS_KINDS]
            ends = list(accumulate(values, initial=0.0))
            bar = zip(PARTS_KINDS, values, ends, ends[1:], strict=False)
            lines += [(corpus, model, *kind) for kind in bar]
    return pd.DataFrame(lines, columns=["corpus", "model", "kind", "value", "start", "end"])


def _parts_panels(part: pd.DataFrame) -> Iterator[Panel]:
    alt = need("altair")
    data = part[["model", "value", "start", "end"]]
    data = data.assign(colour=painted(part["kind"], PARTS_KINDS))
    start = on_axis("x", "share of attention", domain=[0, 1], nice=False)("start")
    colour = alt.Color("colour:N", scale=None)
    chart = named_rows(data, "model").mark_bar(size=12).encode(x=start, x2="end:Q", color=colour)
    bars = [
        f"{model}: "
        + ", ".join(
            f"{PARTS_KINDS[kind][0]} {value:.2f}"
            for kind, value in zip(bar["kind"], bar["value"], strict=True)
        )
        for model, bar in part.groupby("model", sort=False)
    ]
    yield Panel("share of attention", chart, f"Attention by kind of word. {'; '.join(bars)}.")
