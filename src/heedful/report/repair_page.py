"""The page of a repair: what is gained, what it costs, the picture and the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.report.charts import Charts
from heedful.report.repair_dots import figure, panels, roles
from heedful.report.repair_numbers import lines, named, quantities, unmeasured
from heedful.report.sheet import Sheet
from heedful.report.svg import render
from heedful.verdict import QUESTIONS

CAREFUL = (
    "The model was chosen by the texts that are shown here, so its numbers are a little too good: "
    "audit it on other texts before relying on it.",
)
FEW = 3


def repair_page(parts: Mapping[str, Any]) -> str:
    """The HTML. `parts` are a repair's table, methods and facts as plain values."""
    table, facts = parts["table"], parts["facts"]
    score, *properties = quantities(table)
    sheet, charts = Sheet(), Charts()
    drawn = [
        {"title": one.title, "chart": charts.draw(one, f"repair-{i}")}
        for i, one in enumerate(panels(table, facts["within"]))
    ]
    charts.finish(sheet)
    return sheet.render(
        "repair.html",
        sentence=_capital(parts["sentence"]),
        chosen=parts["chosen"],
        scope=scope(facts),
        careful=careful(facts),
        load=parts["load"],
        facts=facts,
        score=named(score),
        level=f"{100 * (1 - facts['alpha']):.3g}%",
        roles=roles(table),
        panels=drawn,
        columns=[named(name) for name in (score, *properties)],
        questions=[(named(name), QUESTIONS.get(name, "")) for name in properties],
        lines=lines(table, parts["chosen"]),
        unmeasured=[(named(name), why) for name, why in unmeasured(table)],
        methods=parts["methods"],
    )


def repair_svg(parts: Mapping[str, Any]) -> str:
    """The picture alone."""
    return render(figure(parts["table"], parts["facts"]["within"]).spec())


def scope(facts: Mapping[str, Any]) -> list[str]:
    seeds = len(facts["seeds"])
    return [
        f"{facts['corpus']}",
        f"base model {facts['base']}",
        f"{seeds} seed{'s' * (seeds != 1)} of each model",
        f"{facts['texts']} texts of the test split audited",
    ]


def careful(facts: Mapping[str, Any]) -> list[str]:
    """What a reader must know before believing the picture."""
    seeds, found = len(facts["seeds"]), list(CAREFUL)
    if seeds == 1:
        found.insert(
            0,
            "Each model was trained once: there is no interval over seeds, all intervals are over "
            "texts alone, and another seed may turn the order round.",
        )
    elif seeds < FEW:
        found.insert(0, f"With {seeds} seeds intervals over seeds are very wide: more seeds help.")
    if facts["low"] <= facts["majority"]:
        found.insert(
            0,
            f"The base model's {facts['score']} is not clearly above that of always guessing the "
            f"commonest class ({facts['majority']:.2f}): it has learned next to nothing, and what "
            f"its attention does means little.",
        )
    if facts["width"] is not None:
        found.append(
            f"Some methods need states as wide as the embeddings ({facts['width']} numbers), so "
            f"all models have them, the base too (hidden size {facts['hidden']})."
        )
    return found


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
