"""Box plots of what is removed until the decision flips, one ranking a line.

All rankings cover the same texts: those that never flip are part of the quantiles (Kaplan
and Meier's), and where a quantile is never reached the box goes to the end.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import Figure, Group, Panel
from heedful.report.figures.panels import Words
from heedful.report.figures.style import INK, KINDS, LABELS, WIDTH
from heedful.report.rankings import RANKINGS, Removed, removals
from heedful.studies import dataset_name

QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
COLOUR = KINDS["exact"]
LEGEND = (("half of the texts; the tick is the median, the line 5% to 95%", COLOUR),)


def boxes(evidence: Evidence, kind: str, words: Words, title: str) -> Figure:
    """A group per corpus, a panel per model."""
    groups: dict[str, list[Panel]] = {}
    for (corpus, label), found in removals(evidence, kind):
        chart = _panel(quantiles(found), title)
        says = f"{words.about}, {label}: {_says(found)}."
        groups.setdefault(dataset_name(corpus), []).append(Panel(label, chart, says))
    missing = "" if groups else f"{words.about} was not measured."
    parts = tuple(Group(name, LEGEND, tuple(panels)) for name, panels in groups.items())
    return Figure(words.name, words.title, words.caption, parts, missing)


def quantiles(found: dict[str, Removed]) -> pd.DataFrame:
    """A line per ranking; `reached` is the median, undefined where fewer than half flip."""
    lines = [
        {
            "ranking": RANKINGS[name],
            **{q: removed.quantile(at) for q, at in QUANTILES.items()},
            "never": f"never {100 * removed.never.mean():.0f}%",
        }
        for name, removed in found.items()
    ]
    table = pd.DataFrame(lines, columns=["ranking", *QUANTILES, "never"])
    table.insert(3, "reached", table["q50"])
    return table.fillna(dict.fromkeys(QUANTILES, 1.0))


def _panel(table: pd.DataFrame, title: str) -> Any:
    alt = need("altair")
    scale = alt.Scale(domain=[0, 1], nice=False)
    y = alt.Y("ranking:N", title=None, sort=None, axis=alt.Axis(labelLimit=LABELS))
    base = alt.Chart(table, width=WIDTH, height={"step": 20}).encode(y=y)

    def at(name: str) -> Any:
        return alt.X(f"{name}:Q", title=title, scale=scale)

    line = base.mark_rule(strokeWidth=1.5, color=COLOUR).encode(x=at("q05"), x2="q95:Q")
    box = base.mark_bar(size=11, opacity=0.55, color=COLOUR).encode(x=at("q25"), x2="q75:Q")
    tick = base.transform_filter("isValid(datum.reached)").mark_tick(
        thickness=2.5, size=14, color=INK
    )
    words = base.mark_text(align="left", fontSize=9).encode(x=alt.value(WIDTH + 4), text="never:N")
    return alt.layer(line, box, tick.encode(x=at("reached")), words)


def _says(found: dict[str, Removed]) -> str:
    parts = []
    for name, removed in found.items():
        median = removed.quantile(0.5)
        reached = f"median {median:.2f}" if median == median else "median not reached"
        parts.append(f"{RANKINGS[name]} {reached}, never {100 * removed.never.mean():.0f}%")
    return "; ".join(parts)
