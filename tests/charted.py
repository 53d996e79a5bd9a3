"""One of every chart that a report can have, and a page with some of them.

Names are hostile on purpose: wherever one is shown, it is shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
from markupsafe import Markup

from heedful.report import (
    FIGURES,
    ROLES,
    Axes,
    Charts,
    Drawn,
    Evidence,
    Figure,
    Group,
    Positions,
    Sheet,
    asset,
    bundle,
    chosen_figures,
    dot_domain,
    dot_plot,
    gather,
    line_panel,
)
from heedful.report import figure as repair_figure
from heedful.report.figures.curves import Reading, token_chart
from heedful.report.panels import Panel
from heedful.report.sheet import _environment
from heedful.specs import ModelSpec
from test_report_fake import Fake, fake_study
from test_report_mohankumar import evidence as of_mohankumar
from test_report_wiegreffe import evidence as of_wiegreffe
from test_report_wiegreffe import together as table_of_wiegreffe

ROWS = (
    ("a", "0.41 ± 0.20"),
    ("=1+1", "−0.30 ± 0.10"),
    ("c", "undefined"),
    ("<b>d</b>", "1,200"),
    ("e", "<0.001"),
)
BODY = """{% extends "base.html" %}{% from "chart.html" import chart %}
{% block title %}charts{% endblock %}{% block body %}<main id="main"><h1>Charts</h1>
{% for figure in figures %}<section class="card"><h2>{{ figure.title }}</h2>
{% for group in figure.groups %}<div class="group">
<ul class="legend">{% for name, colour in group.legend %}<li>
<span class="swatch" style="background:{{ colour }}"></span>{{ name }}</li>{% endfor %}</ul>
<div class="panels">{% for each in group.charts %}
<figure><figcaption>{{ each.title }}</figcaption>{{ chart(each) }}</figure>
{% endfor %}</div></div>{% endfor %}</section>{% endfor %}
<section class="card"><div class="scroll" tabindex="0" role="region" aria-label="Some numbers">
<table><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody>
{% for name, value in rows %}
<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>{% endfor %}
</tbody></table></div></section></main>{% endblock %}"""
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
BLUE, ORANGE = "#3f88c5", "#d2781a"
PAPERS = {
    "jain2019": (ModelSpec("bilstm", "additive"),),
    "serrano2019": (ModelSpec("bigru", "additive", family="hierarchical"),),
    "vashishth2019": (ModelSpec("bilstm", "general", family="seq2seq"),),
}


def every_figure(root: Path) -> dict[str, Figure]:
    """By name; those of an audit and a repair beside the report's own."""
    found: dict[str, Figure] = {}
    for paper, specs in PAPERS.items():
        report = (("task", "generation"),) if paper == "vashishth2019" else ()
        fake = Fake(("sst",), texts=40, paper=paper, specs=specs, report=report)
        store, run = fake_study(root / paper, fake)
        found |= _drawn(gather(store, [run]))
    for name in ("conicity", "parts_of_speech"):
        found[name] = FIGURES[name].make(of_mohankumar(root / "nothing"))
    found["frontier"] = FIGURES["frontier"].make(of_wiegreffe())
    found["imitation"] = FIGURES["imitation"].make(_beside_each_other())
    for name in ("input_reduction", "fragility"):
        found[name] = FIGURES[name].make(_measured(name))
    found["deception"] = FIGURES["deception"].make(_told_off())
    found["token_curves"] = _alone("token_curves", _tokens())
    return found | {figure.name: figure for figure in (_dots(), _lines(), _repair())}


def panels(figures: dict[str, Figure]) -> Iterator[tuple[str, Panel]]:
    for figure in figures.values():
        for g, group in enumerate(figure.groups):
            for p, panel in enumerate(group.panels):
                yield f"{figure.name}-{g}-{p}", panel


def templated(source: str, **content: Any) -> str:
    """A template that may use those of the report."""
    return str(_environment().from_string(source).render(**content))


def page(root: Path, names: tuple[str, ...]) -> Path:
    """A page under the real policy with these figures and a table, written beside its data."""
    sheet, charts, every = Sheet(), Charts(), every_figure(root / "made")
    figures = shown({name: every[name] for name in names}, charts)
    charts.finish(sheet)
    script, theme = bundle("page"), bundle("theme")
    style = "".join(map(asset, ("colours.css", "page.css", "charts.css")))
    blobs = {name: Markup(text) for name, text in sheet._blobs.items()}
    path = root / "page.html"
    content = {"figures": figures, "rows": ROWS, "blobs": blobs, "version": "0"}
    scripts = {"script": Markup(script), "theme": Markup(theme)}
    fixed = {"csp": sheet._policy(script, theme), "style": Markup(style), **scripts}
    path.write_text(templated(BODY, **content, **fixed), encoding="utf8")
    return path


def shown(figures: dict[str, Figure], charts: Charts) -> list[dict[str, Any]]:
    """What a template is given."""
    drawn: dict[str, Drawn] = {name: charts.draw(panel, name) for name, panel in panels(figures)}
    return [
        {
            "title": figure.name,
            "groups": [
                {
                    "legend": group.legend,
                    "charts": [drawn[f"{figure.name}-{g}-{p}"] for p in range(len(group.panels))],
                }
                for g, group in enumerate(figure.groups)
            ],
        }
        for figure in figures.values()
    ]


def _drawn(evidence: Evidence) -> dict[str, Figure]:
    figures = {name: FIGURES[name].make(evidence) for name in chosen_figures(evidence)}
    return {name: figure for name, figure in figures.items() if figure.groups}


def _alone(name: str, panel: Panel) -> Figure:
    legend = (("first", BLUE), ("second", ORANGE))
    return Figure(name, name, "", (Group("", legend, (panel,)),))


def _told_off() -> Evidence:
    lines = [
        {"model": model, "measure": measure, "mean": mean, "low": mean - 0.1, "high": mean + 0.1}
        for model, mean in (("a", 0.5), ("a+impermissible0.1", 0.2))
        for measure in ("accuracy", "mass")
    ]
    table = pd.DataFrame(lines).assign(corpus="sst", probe="deception", group="all")
    return cast(Evidence, SimpleNamespace(together=table))


def _tokens() -> Panel:
    readings = [Reading(name, "", (0.2, 0.9), p) for name, p in (("first", 0.8), ("second", 0.7))]
    tokens = ("1 good", f"2 {HOSTILE}")
    chart = token_chart(tokens, readings, {"first": BLUE, "second": ORANGE})
    return Panel("tokens", chart, "what single tokens say")


def _dots() -> Figure:
    names, count = ["attention", HOSTILE, "lrp"], 3
    numbers = {
        "position": [0.2, 0.9, np.nan],
        "low": [0.1, 0.7, np.nan],
        "high": [0.3, 1.7, np.nan],
    }
    table = pd.DataFrame({"explanation": names, **numbers, "n": [60] * count})
    one = Positions("aopc", "mask", table.assign(role=["trial", "best", "other"]))
    panel = dot_plot(one, names, dot_domain([one]))
    legend = tuple((name, colour) for name, colour, _ in ROLES.values())
    return Figure("dots", "dots", "", (Group("", legend, (panel,)),))


def _beside_each_other() -> Evidence:
    one = table_of_wiegreffe()
    shift = {name: one[name] + 0.08 for name in ("mean", "low", "high")}
    both = pd.concat([one, one.assign(model=HOSTILE, **shift)], ignore_index=True)
    return cast(Evidence, SimpleNamespace(together=both))


def _measured(probe: str) -> Evidence:
    """A measure of it, of two models."""
    measures = {"input_reduction": "share_attention", "fragility": "tau_attack_attention"}
    line = table_of_wiegreffe().head(1).assign(probe=probe, group="all", mean=0.4, low=0.3)
    line = line.assign(high=0.5, measure=measures[probe])
    both = pd.concat([line, line.assign(model=HOSTILE)], ignore_index=True)
    return cast(Evidence, SimpleNamespace(together=both))


def _lines() -> Figure:
    roles = {"a": ("first", BLUE, "circle"), "b": ("second", ORANGE, "square")}
    table = pd.DataFrame({"at": [0, 1, 0, 1], "line": list("aabb"), "mean": [0.1, 0.2, 0.3, 0.5]})
    table = table.assign(low=table["mean"] - 0.05, high=table["mean"] + 0.05)
    panel = line_panel("lines", table, roles, Axes("layers shuffled", "accuracy", 1.0, 0.4))
    return _alone("lines", panel)


def _repair() -> Figure:
    quantity = {"accuracy": 0.9, "sufficiency": 0.4}
    lines = [
        {"method": method, "quantity": name, "estimate": value + gain, "low": value, "high": 1.0}
        for method, gain in (("base", 0.0), (HOSTILE, 0.05))
        for name, value in quantity.items()
    ]
    return repair_figure(pd.DataFrame(lines).assign(lower_is_better=False), 0.02)
