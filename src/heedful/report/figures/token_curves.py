"""What each token of one text says alone, model beside model (tutek2020, Figure 2).

The text is chosen by rule, against cherry-picking: one that all models read right, the middle
one by the first model's mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.entries import ReportFigure, by_name
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import CLASSES, HEIGHT, WIDTH, Figure, Group, Panel, class_colour
from heedful.report.formats import visible
from heedful.store import Run
from heedful.studies import dataset_name

SHOWN = 24
"""Tokens of a text; of a longer one, the first so many."""
WIDEST = 16
MEASURE = "token_probability"


@dataclass(frozen=True)
class Reading:
    """A model's: the predicted class's probability by each token, and by the text."""

    label: str
    by_token: tuple[float, ...]
    final: float


@dataclass(frozen=True)
class Typical:
    tokens: tuple[str, ...]
    readings: tuple[Reading, ...]


def typical(evidence: Evidence, cells: pd.DataFrame) -> Typical | None:
    """Of the models on one corpus; None where there is no text that all of them read right."""
    first = cells.sort_values("seed", kind="stable").drop_duplicates("label").sort_index()
    runs = {
        str(cell["label"]): evidence.store.open(str(cell["run"])) for _, cell in first.iterrows()
    }
    rows = {label: _rows(run) for label, run in runs.items() if run.has("maps.parquet")}
    example = _middle(list(rows.values()))
    if example is None:
        return None
    readings = tuple(_reading(label, runs[label], of, example) for label, of in rows.items())
    count = len(readings[0].by_token)
    words = _words(evidence, str(first["corpus_run"].iloc[0]), example, count)
    return Typical(tuple(f"{n} {word}" for n, word in enumerate(words, 1)), readings)


def _rows(run: Run) -> pd.DataFrame:
    """One line for each text: of its rows, the first."""
    rows = run.table("rows")
    return rows[rows["measure"] == MEASURE].drop_duplicates("example").set_index("example")


def _middle(rows: list[pd.DataFrame]) -> str | None:
    """Short texts first; the means of equal ones are told apart by their names."""
    if not rows:
        return None
    means = pd.concat([each["value"] for each in rows], axis=1, join="inner").dropna()
    short = means[rows[0]["length"].reindex(means.index) <= SHOWN]
    some = (short if len(short) else means).sort_index().iloc[:, 0]
    ordered = some.sort_values(kind="stable")
    return str(ordered.index[(len(ordered) - 1) // 2]) if len(ordered) else None


def _reading(label: str, run: Run, rows: pd.DataFrame, example: str) -> Reading:
    maps = run.table("maps")
    own = maps[(maps["example"] == example) & (maps["map"] == MEASURE)]
    by_token = tuple(float(p) for p in own["scores"].iloc[0][:SHOWN])
    return Reading(label, by_token, float(rows["confidence"][example]))


def _words(evidence: Evidence, corpus_run: str, example: str, count: int) -> list[str]:
    """As they stand in the text; nothing where the corpus was not carried along."""
    if not corpus_run or not evidence.store.has(corpus_run):
        return [""] * count
    table = evidence.store.open(corpus_run).table("examples")
    line: dict[Any, Any] = table[table["example"] == example].iloc[0].to_dict()
    spans = list(zip(line["starts_a"], line["ends_a"], strict=True))[:count]
    words = [visible(str(line["text_a"])[start:end])[:WIDEST] for start, end in spans]
    return words + [""] * (count - len(words))


TITLE = "The predicted class by one token alone (tutek2020, Figure 2)"
CAPTION = (
    "Probability of the predicted class with all attention on one token; dashed: the model’s own "
    "prediction. Where a curve stays near its dashed line, any attention gives that prediction; "
    "where it is high on few tokens, attention has to be on them. One text for each corpus, read "
    "right by all models shown and in the middle by the first model’s mean over tokens; of a long "
    "one, its beginning. First seed."
)


def token_curves(evidence: Evidence) -> Figure:
    cells = evidence.cells[evidence.cells["probe"] == "token_probability"]
    groups = [
        group
        for corpus, part in cells.groupby("corpus", sort=False)
        for group in _groups(evidence, str(corpus), part)
    ]
    missing = "" if groups else "What single tokens say was not measured."
    return Figure("token_curves", TITLE, CAPTION, tuple(groups), missing, wide=True)


@dataclass(frozen=True)
class Curve:
    """One model's: its name without the attention, which is the panel's."""

    variant: str
    attention: str
    reading: Reading


def _groups(evidence: Evidence, corpus: str, cells: pd.DataFrame) -> Iterator[Group]:
    text = typical(evidence, cells)
    if text is None:
        return
    curves = [_curve(evidence, corpus, reading) for reading in text.readings]
    variants = list(dict.fromkeys(curve.variant for curve in curves))[: len(CLASSES)]
    colours = {variant: class_colour(place) for place, variant in enumerate(variants)}
    panels = [
        Panel(attention, _panel(text, some, colours), _says(attention, some))
        for attention in dict.fromkeys(curve.attention for curve in curves)
        if (some := [c for c in curves if c.attention == attention and c.variant in colours])
    ]
    yield Group(dataset_name(corpus), tuple(colours.items()), tuple(panels))


def _curve(evidence: Evidence, corpus: str, reading: Reading) -> Curve:
    specs = evidence.model_specs(corpus, reading.label)
    attention = str(specs[0]["attention"]) if specs else ""
    variant = reading.label.replace(f"-{attention}", "", 1) if attention else reading.label
    return Curve(variant, attention or "all models", reading)


def _panel(text: Typical, curves: list[Curve], colours: dict[str, str]) -> Any:
    alt = need("altair")
    points = pd.DataFrame(
        {"token": token, "p": p, "final": curve.reading.final, "colour": colours[curve.variant]}
        for curve in curves
        for token, p in zip(text.tokens, curve.reading.by_token, strict=True)
    )
    size = {"width": 2 * WIDTH, "height": HEIGHT}
    colour = alt.Color("colour:N", scale=None)
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("token:N", sort=None, title=None, axis=alt.Axis(labelAngle=-55, labelLimit=110))
    base = alt.Chart(points, **size)
    line = base.mark_line(point={"size": 22}, strokeWidth=1.6)
    line = line.encode(x=x, y=alt.Y("p:Q", title="probability", scale=scale), color=colour)
    final = base.mark_rule(strokeDash=[4, 3], opacity=0.6)
    return line + final.encode(y=alt.Y("final:Q", scale=scale), color=colour)


def _says(attention: str, curves: list[Curve]) -> str:
    means = "; ".join(
        f"{one.variant} {sum(one.reading.by_token) / len(one.reading.by_token):.2f} on average, "
        f"{one.reading.final:.2f} for the text"
        for one in curves
    )
    return f"Probability of the predicted class by single tokens, {attention}: {means}."


ENTRIES = by_name(
    ReportFigure(
        name="token_curves",
        description="Probability of the predicted class by each token of one text, by model.",
        make=token_curves,
        paper="tutek2020, Figure 2",
        needs=("token_probability",),
    ),
)
