"""Curves over layers, quarters of length and penalties."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.evidence import Evidence
from heedful.report.extra import need
from heedful.report.figures.figure import HEIGHT, KINDS, WIDTH, Figure, Group, Panel
from heedful.studies import dataset_name

COLUMNS = ["corpus", "model", "group", "end", "count", "mean", "low", "high", "n", "seeds"]
_NAME = re.compile(r"score:(.*):(first|last)=(\d+)", re.DOTALL)


def curves(together: pd.DataFrame) -> pd.DataFrame:
    """One line per corpus, model, group, end and number of layers, from none to all."""
    table = together[(together["probe"] == "layers") & (together["group"] == "all")]
    lines = [
        line
        for _, part in table.groupby(["corpus", "model"], sort=False)
        for line in _with_ends(_named(part), part[part["measure"] == "score"])
    ]
    by = ["corpus", "model", "group", "end", "count"]
    return pd.DataFrame(lines, columns=COLUMNS).sort_values(by, key=_order, ignore_index=True)


def _order(column: pd.Series) -> pd.Series:
    """Layers by number; names as they come."""
    return column if column.name == "count" else pd.Series(pd.factorize(column)[0])


def _named(part: pd.DataFrame) -> list[dict[str, Any]]:
    found = []
    for line in part.to_dict("records"):
        match = _NAME.fullmatch(str(line["measure"]))
        if match:
            place = {"group": match[1], "end": match[2], "count": int(match[3])}
            found.append({str(key): value for key, value in line.items()} | place)
    return found


def _with_ends(lines: list[dict[str, Any]], untouched: pd.DataFrame) -> list[dict[str, Any]]:
    """Both curves of a group begin at the untouched score and end with all its layers."""
    start = [{str(k): v for k, v in line.items()} for line in untouched.to_dict("records")]
    groups = dict.fromkeys(line["group"] for line in lines)
    for group in groups:
        own = [line for line in lines if line["group"] == group]
        whole = max(own, key=lambda line: line["count"])
        lines = [*lines, {**whole, "end": "last"}]
        lines += [
            {**line, "group": group, "end": end, "count": 0}
            for line in start[:1]
            for end in ("first", "last")
        ]
    return lines


ENDS = {
    "first": ("from the first layer on", KINDS["exact"]),
    "last": ("from the last layer on", KINDS["search"]),
}
LAYERS_TITLE = "Attention permuted layer after layer (vashishth2019)"
LAYERS_CAPTION = (
    "The task’s score with its 95% interval when attention is permuted in so many layers of one "
    "group. A curve that falls at once: the group’s attention is needed in that layer already. "
    "Attention of later layers is computed anew from what the permuted ones give."
)


def layers(evidence: Evidence) -> Figure:
    table = curves(evidence.together)
    table = table[table["mean"].notna()]
    groups = tuple(
        Group(dataset_name(str(corpus)), tuple(ENDS.values()), tuple(_layers_panels(part)))
        for corpus, part in table.groupby("corpus", sort=False)
    )
    missing = "" if groups else "The score under permuted layers was not measured."
    return Figure("layers", LAYERS_TITLE, LAYERS_CAPTION, groups, missing)


def _layers_panels(part: pd.DataFrame) -> list[Panel]:
    top = 1.05 * float(part[["mean", "high"]].max().max())
    return [
        Panel(
            f"{model} · {group}",
            _layers_panel(cell, top),
            _layers_says(str(model), str(group), cell),
        )
        for (model, group), cell in part.groupby(["model", "group"], sort=False)
    ]


def _layers_panel(cell: pd.DataFrame, top: float) -> Any:
    alt = need("altair")
    colours = {end: colour for end, (_, colour) in ENDS.items()}
    data = cell[["count", "mean", "low", "high"]].assign(colour=cell["end"].map(colours))
    scale = alt.Scale(domain=[0, max(top, 1e-6)], nice=False)
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("count:O", title="layers permuted", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    rules = base.mark_rule(strokeWidth=2, opacity=0.6)
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    y = alt.Y("mean:Q", title="score", scale=scale)
    return rules.encode(y=alt.Y("low:Q", scale=scale), y2="high:Q") + line.encode(y=y)


def _layers_says(model: str, group: str, cell: pd.DataFrame) -> str:
    first = cell[cell["end"] == "first"]["mean"]
    return (
        f"Score of {model}, layers of {group} permuted from the first on: "
        f"{first.iloc[0]:.2f} with none, {first.iloc[-1]:.2f} with all {len(first) - 1}."
    )


MEASURES = {
    "tau_gradient": ("attention × gradients", KINDS["exact"]),
    "tau_loo": ("attention × leaving out", KINDS["search"]),
    "tau_gradient_loo": ("gradients × leaving out", "#8a8f98"),
}
LENGTH_TITLE = "Agreement by length of text"
LENGTH_CAPTION = (
    "Average τ with its 95% interval in the four quarters of text length, shortest first. "
    "Grey: how far gradients and leaving out agree with each other."
)


def tau_length(evidence: Evidence) -> Figure:
    table = evidence.together
    kept = table[
        table["measure"].isin(list(MEASURES))
        & table["group"].str.startswith("length=")
        & table["mean"].notna()
    ]
    if kept.empty:
        missing = "τ by length was not measured."
        return Figure("tau_length", LENGTH_TITLE, LENGTH_CAPTION, (), missing)
    legend = tuple(MEASURES.values())
    groups = tuple(
        Group(dataset_name(str(corpus)), legend, tuple(_length_panels(part)))
        for corpus, part in kept.groupby("corpus", sort=False)
    )
    return Figure("tau_length", LENGTH_TITLE, LENGTH_CAPTION, groups)


def _length_panels(part: pd.DataFrame) -> list[Panel]:
    return [
        Panel(str(model), _length_panel(cell), f"Average τ by length for {model}.")
        for model, cell in part.groupby("model", sort=False)
    ]


def _length_panel(cell: pd.DataFrame) -> Any:
    alt = need("altair")
    data = pd.DataFrame(
        {
            "quarter": cell["group"].str.removeprefix("length="),
            "colour": cell["measure"].map({name: pair[1] for name, pair in MEASURES.items()}),
            **{name: cell[name] for name in ("mean", "low", "high")},
        }
    )
    scale = alt.Scale(domain=[min(0.0, float(data["low"].min())), 1.0])
    base = alt.Chart(data, width=WIDTH, height=130).encode(
        x=alt.X("quarter:N", title="quarter of length", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    rules = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    return rules + line.encode(y=alt.Y("mean:Q", title="average τ", scale=scale))


LINES = {
    "accuracy": ("accuracy", KINDS["search"]),
    "accuracy:control": ("accuracy, never shown the tokens", KINDS["matched"]),
    "mass": ("attention on the tokens", KINDS["exact"]),
}
DECEPTION_TITLE = "Attention kept off the tokens a model needs (pruthi2020)"
DECEPTION_CAPTION = (
    "Share of right decisions and share of attention on impermissible tokens, each with its 95% "
    "interval, by λ, the weight of the penalty in training; λ = 0 is the honest model. Attention "
    "that falls to nothing while accuracy stays shows that attention can be made to hide what a "
    "model relies on, where a model that was never shown these tokens is worse. For generation, "
    "the next word after a quarter of the target."
)
TERM = re.compile(r"\+impermissible([0-9.e+-]*[0-9])")


def deception(evidence: Evidence) -> Figure:
    table = by_weight(evidence.together)
    groups = tuple(
        Group(dataset_name(str(corpus)), tuple(LINES.values()), tuple(_deception_panels(part)))
        for corpus, part in table.groupby("corpus", sort=False)
    )
    missing = "" if groups else "Attention on impermissible tokens was not measured."
    return Figure("deception", DECEPTION_TITLE, DECEPTION_CAPTION, groups, missing)


def by_weight(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus, model without its penalty (`stem`), `weight` and measure."""
    cells = together[
        (together["probe"] == "deception")
        & (together["group"] == "all")
        & together["measure"].isin(list(LINES))
        & together["mean"].notna()
    ]
    names = cells["model"].astype(str)
    return cells.assign(stem=names.map(stem), weight=names.map(weight))


def stem(model: str) -> str:
    """A model's name without the penalty."""
    return TERM.sub("", model)


def weight(model: str) -> float:
    """λ, by the model's name."""
    found = TERM.search(model)
    return float(found.group(1)) if found else 0.0


def _deception_panels(part: pd.DataFrame) -> list[Panel]:
    return [
        Panel(str(model), _deception_panel(cell), _deception_says(str(model), cell))
        for model, cell in part.groupby("stem", sort=False)
    ]


def _deception_panel(cell: pd.DataFrame) -> Any:
    alt = need("altair")
    colours = {measure: colour for measure, (_, colour) in LINES.items()}
    data = cell[["weight", "mean", "low", "high"]].assign(colour=cell["measure"].map(colours))
    scale = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=alt.X("weight:O", title="λ", axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    rules = base.mark_rule(strokeWidth=2, opacity=0.6)
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    y = alt.Y("mean:Q", title="share", scale=scale)
    return rules.encode(y=alt.Y("low:Q", scale=scale), y2="high:Q") + line.encode(y=y)


def _deception_says(model: str, cell: pd.DataFrame) -> str:
    parts = []
    for value, lines in cell.sort_values("weight").groupby("weight"):
        means = dict(zip(lines["measure"], lines["mean"], strict=True))
        shown = [f"{LINES[name][0]} {means[name]:.2f}" for name in LINES if name in means]
        parts.append(f"λ = {value:g}: {', '.join(shown)}")
    return f"{model}, {'; '.join(parts)}."


PIECES = (
    Piece(
        name="layers",
        description="The score after permuting the first or last so many layers, by group.",
        make=layers,
        paper="vashishth2019",
        needs=("layers",),
    ),
    Piece(
        name="tau_length",
        description="Average τ in the four quarters of text length, with intervals.",
        make=tau_length,
        needs=("correlation",),
    ),
    Piece(
        name="deception",
        description="Accuracy and attention on impermissible tokens by the penalty's weight.",
        make=deception,
        paper="pruthi2020",
        needs=("deception",),
    ),
)
