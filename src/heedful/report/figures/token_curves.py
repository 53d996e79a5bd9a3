"""What each token of one text says alone, model beside model (tutek2020, Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.style import CLASSES, HEIGHT, WIDTH, class_colour
from heedful.report.one_text import Reading, Typical, typical
from heedful.studies import dataset_name

TITLE = "The predicted class by one token alone (tutek2020, Figure 2)"
CAPTION = (
    "Probability of the predicted class with all attention on one token; dashed: the model’s own "
    "prediction. Where a curve stays near its dashed line, any attention gives that prediction; "
    "where it is high on few tokens, attention has to be on them. One text for each corpus, read "
    "right by all models shown and in the middle by the first model’s mean over tokens; of a long "
    "one, its beginning. First seed."
)


def make(evidence: Evidence) -> Figure:
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


PIECE = Piece(
    name="token_curves",
    description="Probability of the predicted class by each token of one text, by model.",
    make=make,
    paper="tutek2020, Figure 2",
    needs=("token_probability",),
)
