"""The page of ROAR: the curves of retrained models, RACU, and the scores in numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from heedful.metrics import RANDOM, racus, roar_curves
from heedful.report.charts import Charts, render
from heedful.report.formats import DASH, bounds, shown
from heedful.report.panels import CLASSES, GREY, KINDS, Figure, Group, Panel
from heedful.report.repair_page import named
from heedful.report.sheet import Sheet, need

COLOURS = (*CLASSES[:4], CLASSES[5], *KINDS.values())
WIDTH, HEIGHT = 560, 300
MODES = {
    "recursive": "each step explains the model of the step before",
    "once": "all steps explain the first model",
}
WARNINGS = (
    "Which words are masked can tell the class, and a retrained model may learn that from the "
    "pattern. A curve above random masking can be such a leak, or a poor explanation.",
    "Words that say the same stand for each other: once one is masked, a model trained anew learns "
    "from the others.",
)


def roar_page(rows: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    """The HTML, from the rows and facts of a `Roar`."""
    sheet, charts = Sheet(), Charts()
    drawn = charts.draw_all([panel(rows, facts)], "roar")
    charts.finish(sheet)
    columns, *lines = score_cells(rows)
    return sheet.render(
        "roar.html",
        title=f"{'Recursive ' * (facts['mode'] == 'recursive')}ROAR",
        sentence=roar_sentence(rows),
        facts=facts,
        mode=MODES[facts["mode"]],
        warnings=roar_warnings(facts),
        panels=drawn,
        roles=[(name, colour, "circle") for name, colour in colours(rows).items()],
        racus=racu_cells(rows)[1:],
        columns=columns,
        lines=lines,
        score=named(facts["score"]),
    )


def roar_svg(rows: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    """The picture alone."""
    group = Group("", tuple(colours(rows).items()), (panel(rows, facts),))
    return render(Figure("roar", "What is lost when words are masked", "", (group,)).spec())


def roar_sentence(rows: pd.DataFrame) -> str:
    """The answer: which explanation's words are missed most, and whether that is clear."""
    table = racus(rows).dropna(subset="racu")
    if table.empty:
        return "RACU is undefined: masking random words loses nothing."
    best = max(table.to_dict("records"), key=lambda line: float(line["racu"]))
    ends = f" ({bounds(best['low'], best['high'])})" if not math.isnan(best["low"]) else ""
    said = f"the words of {best['explanation']} are missed most: RACU {shown(best['racu'])}{ends}"
    clear = [str(name) for name in table.loc[table["low"] > 0, "explanation"]]
    if table["low"].isna().all():
        return f"{said}; one seed has no interval."
    if not clear:
        return f"{said}; no explanation is clearly above random words."
    return f"{said}; clearly above random words: {', '.join(clear)}."


def roar_warnings(facts: Mapping[str, Any]) -> list[str]:
    """What a reader must know before believing the curves."""
    few = len(facts["seeds"]) < 3
    return [*WARNINGS, *["With fewer than three seeds intervals say little."] * few]


def racu_cells(rows: pd.DataFrame) -> list[list[str]]:
    """RACU by explanation, with a heading."""
    return [
        ["explanation", "RACU", "95% interval", "seeds"],
        *(
            [
                str(line["explanation"]),
                _number(line["racu"]),
                _interval(line["low"], line["high"]),
                str(line["seeds"]),
            ]
            for line in racus(rows).to_dict("records")
        ),
    ]


def score_cells(rows: pd.DataFrame) -> list[list[str]]:
    """Mean scores by explanation and percentage, with a heading."""
    curves = roar_curves(rows)
    return [
        ["explanation", *(f"{percent}%" for percent in curves["percent"].drop_duplicates())],
        *(
            [str(name), *map(shown, part["mean"])]
            for name, part in curves.groupby("explanation", sort=False)
        ),
    ]


def colours(rows: pd.DataFrame) -> dict[str, str]:
    """By explanation; random masking is grey."""
    others = [str(name) for name in dict.fromkeys(rows["explanation"]) if name != RANDOM]
    return {RANDOM: GREY, **{n: COLOURS[i % len(COLOURS)] for i, n in enumerate(others)}}


def panel(rows: pd.DataFrame, facts: Mapping[str, Any]) -> Panel:
    """A curve for each explanation, its interval over seeds, and what guessing scores."""
    alt, seen = need("altair"), colours(rows)
    table = roar_curves(rows)
    data = table.assign(colour=table["explanation"].map(seen))
    ends = data.dropna(subset=["low", "high"])
    low = min(float(data["mean"].min()), facts["majority"])
    scale = alt.Scale(domain=[low - 0.02, float(data["mean"].max()) + 0.02], nice=False)
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("percent:Q", title="words masked, %", axis=alt.Axis(values=[*range(0, 101, 10)])),
        color=alt.Color("colour:N", scale=None),
    )
    line = base.mark_line(point={"size": 40}, strokeWidth=1.8, clip=True).encode(
        y=alt.Y("mean:Q", title=named(facts["score"]), scale=scale)
    )
    guess = alt.Chart(alt.Data(values=[{"mean": facts["majority"]}])).mark_rule(
        strokeDash=[3, 3], color=GREY
    )
    chart = line + guess.encode(y=alt.Y("mean:Q", scale=scale))
    if len(ends):
        band = alt.Chart(ends).mark_rule(strokeWidth=2, opacity=0.45, clip=True)
        chart += band.encode(
            x="percent:Q",
            y=alt.Y("low:Q", scale=scale),
            y2="high:Q",
            color=alt.Color("colour:N", scale=None),
        )
    title = f"{named(facts['score'])} of {facts['model']} on {facts['corpus']}, retrained"
    return Panel(title, chart, roar_sentence(rows))


def _number(value: float) -> str:
    return DASH if math.isnan(value) else shown(value)


def _interval(low: float, high: float) -> str:
    return DASH if math.isnan(low) else bounds(low, high)
