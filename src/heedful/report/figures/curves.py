"""Curves over layers, quarters of length and penalties, and over the tokens of one text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pandas as pd

from heedful.entries import figure
from heedful.report.evidence import Evidence, lines_of
from heedful.report.figures.multiples import Words, by_corpus, painted
from heedful.report.panels import (
    CLASSES,
    GREY,
    HEIGHT,
    KINDS,
    WIDTH,
    Figure,
    Group,
    Panel,
    class_colour,
)
from heedful.report.sheet import need
from heedful.store import Run
from heedful.studies import dataset_name

COLUMNS = ["corpus", "model", "group", "end", "count", "mean", "low", "high", "n", "seeds"]
NAME = r"(?s)^score:(?P<group>.*):(?P<end>first|last)=(?P<count>\d+)$"


def curves(together: pd.DataFrame) -> pd.DataFrame:
    """One line per corpus, model, group, end and number of layers, from none to all. Both curves of
    a group begin at the untouched score and end with all its layers."""
    cells, by = ["corpus", "model"], ["corpus", "model", "group"]
    scores = lines_of(together, "layers")
    names = scores["measure"].str.extract(NAME).dropna()
    permuted = scores.drop(columns="group").join(names, how="inner").astype({"count": int})
    most = permuted.groupby(by, sort=False)["count"].transform("max")
    every = permuted[permuted["count"] == most].drop_duplicates(by).assign(end="last")
    untouched = scores[scores["measure"] == "score"].drop_duplicates(cells).drop(columns="group")
    start = permuted[by].drop_duplicates().merge(untouched, on=cells).assign(count=0)
    parts = [permuted, every, start.assign(end="first"), start.assign(end="last")]
    table = pd.concat(parts, ignore_index=True)[COLUMNS]
    return table.sort_values([*by, "end", "count"], key=_order, ignore_index=True)


def _order(column: pd.Series) -> pd.Series:
    """Layers by number; names as they come."""
    return column if column.name == "count" else pd.Series(pd.factorize(column)[0])


ENDS = {
    "first": ("from the first layer on", KINDS["exact"]),
    "last": ("from the last layer on", KINDS["search"]),
}
LAYERS = Words(
    "layers",
    "Attention permuted layer after layer (vashishth2019, Figure 4)",
    "The task’s score with its 95% interval when attention is permuted in so many layers of one "
    "group. A curve that falls at once: the group’s attention is needed in that layer already. "
    "Attention of later layers is computed anew from what the permuted ones give.",
    "The score under permuted layers",
)


@figure("layers", paper="vashishth2019, Figure 4")
def layers(evidence: Evidence) -> Figure:
    """The score after permuting the first or last so many layers, by group."""
    table = curves(evidence.together)
    return by_corpus(LAYERS, table[table["mean"].notna()], tuple(ENDS.values()), _layers_panels)


def _layers_panels(part: pd.DataFrame) -> Iterator[Panel]:
    top = 1.05 * float(part[["mean", "high"]].max().max())
    scale = {"domain": [0, max(top, 1e-6)], "nice": False}
    for (model, group), cell in part.groupby(["model", "group"], sort=False):
        data = cell[["count", "mean", "low", "high"]].assign(colour=painted(cell["end"], ENDS))
        first = cell[cell["end"] == "first"]["mean"]
        says = (
            f"Score of {model}, layers of {group} permuted from the first on: "
            f"{first.iloc[0]:.2f} with none, {first.iloc[-1]:.2f} with all {len(first) - 1}."
        )
        chart = _curves(data, ("count:O", "layers permuted"), ("score", scale), opacity=0.6)
        yield Panel(f"{model} · {group}", chart, says)


def _curves(
    data: pd.DataFrame, across: tuple[str, str], up: tuple[str, dict[str, Any]], **rule: Any
) -> Any:
    """A line for each colour, with intervals; `across` is a column and its title, `up` the title
    of the means and their scale."""
    alt = need("altair")
    title, scale = up[0], alt.Scale(**up[1])
    base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(
        x=alt.X(across[0], title=across[1], axis=alt.Axis(labelAngle=0)),
        color=alt.Color("colour:N", scale=None),
    )
    rules = base.mark_rule(strokeWidth=2, **rule).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    line = base.mark_line(point={"size": 40}, strokeWidth=1.5)
    return rules + line.encode(y=alt.Y("mean:Q", title=title, scale=scale))


MEASURES = {
    "tau_gradient": ("attention × gradients", KINDS["exact"]),
    "tau_loo": ("attention × leaving out", KINDS["search"]),
    "tau_gradient_loo": ("gradients × leaving out", GREY),
}
LENGTH = Words(
    "tau_length",
    "Agreement by length of text",
    "Average τ with its 95% interval in the four quarters of text length, shortest first. "
    "Grey: how far gradients and leaving out agree with each other.",
    "τ by length",
)


@figure("correlation")
def tau_length(evidence: Evidence) -> Figure:
    """Average τ in the four quarters of text length, with intervals."""
    table = evidence.together.dropna(subset="mean")
    table = table[table["measure"].isin(list(MEASURES)) & table["group"].str.startswith("length=")]
    return by_corpus(LENGTH, table, tuple(MEASURES.values()), _length_panels)


def _length_panels(part: pd.DataFrame) -> Iterator[Panel]:
    for model, cell in part.groupby("model", sort=False):
        quarter, colour = (
            cell["group"].str.removeprefix("length="),
            painted(cell["measure"], MEASURES),
        )
        data = cell.assign(quarter=quarter, colour=colour)
        data = data[["quarter", "colour", "mean", "low", "high"]]
        scale = {"domain": [min(0.0, float(data["low"].min())), 1.0]}
        chart = _curves(data, ("quarter:N", "quarter of length"), ("average τ", scale))
        yield Panel(str(model), chart, f"Average τ by length for {model}.")


LINES = {
    "accuracy": ("accuracy", KINDS["search"]),
    "accuracy:control": ("accuracy, never shown the tokens", KINDS["matched"]),
    "mass": ("attention on the tokens", KINDS["exact"]),
}
DECEPTION = Words(
    "deception",
    "Attention kept off the tokens a model needs (pruthi2020)",
    "Share of right decisions and share of attention on impermissible tokens, each with its 95% "
    "interval, by λ, the weight of the penalty in training; λ = 0 is the honest model. Attention "
    "that falls to nothing while accuracy stays shows that attention can be made to hide what a "
    "model relies on, where a model that was never shown these tokens is worse. For generation, "
    "the next word after a quarter of the target.",
    "Attention on impermissible tokens",
)
TERM = re.compile(r"\+impermissible([0-9.e+-]*[0-9])")


@figure("deception", paper="pruthi2020")
def deception(evidence: Evidence) -> Figure:
    """Accuracy and attention on impermissible tokens by the penalty's weight."""
    table = by_weight(evidence.together)
    return by_corpus(DECEPTION, table, tuple(LINES.values()), _deception_panels)


def by_weight(together: pd.DataFrame) -> pd.DataFrame:
    """A line per corpus, model without its penalty (`stem`), `weight` and measure."""
    cells = lines_of(together, "deception", *LINES).dropna(subset="mean")
    names = cells["model"].astype(str)
    return cells.assign(stem=names.map(stem), weight=names.map(weight))


def stem(model: str) -> str:
    """A model's name without the penalty."""
    return TERM.sub("", model)


def weight(model: str) -> float:
    """λ, by the model's name."""
    found = TERM.search(model)
    return float(found.group(1)) if found else 0.0


def _deception_panels(part: pd.DataFrame) -> Iterator[Panel]:
    for model, cell in part.groupby("stem", sort=False):
        colour = painted(cell["measure"], LINES)
        data = cell[["weight", "mean", "low", "high"]].assign(colour=colour)
        scale = {"domain": [0, 1], "nice": False}
        chart = _curves(data, ("weight:O", "λ"), ("share", scale), opacity=0.6)
        yield Panel(str(model), chart, f"{model}, {_by_lambda(cell)}.")


def _by_lambda(cell: pd.DataFrame) -> str:
    parts = []
    for value, lines in cell.sort_values("weight").groupby("weight"):
        means = dict(zip(lines["measure"], lines["mean"], strict=True))
        shown = [f"{LINES[name][0]} {means[name]:.2f}" for name in LINES if name in means]
        parts.append(f"λ = {value:g}: {', '.join(shown)}")
    return "; ".join(parts)


MOST_TOKENS = 24
"""Tokens of a text; of a longer one, the first so many."""
WIDEST_TOKEN = 16
TOKEN_MEASURE = "token_probability"


@dataclass(frozen=True)
class Reading:
    """A model's: the predicted class's probability by each token, and by the text. `attention` is
    empty where it is not known."""

    label: str
    attention: str
    by_token: tuple[float, ...]
    final: float

    @property
    def variant(self) -> str:
        """The model's name without the attention."""
        return self.label.replace(f"-{self.attention}", "", 1) if self.attention else self.label

    @property
    def panel(self) -> str:
        return self.attention or "all models"


@dataclass(frozen=True)
class Typical:
    tokens: tuple[str, ...]
    readings: tuple[Reading, ...]


Choose = Callable[[list[pd.DataFrame]], str | None]
"""Picks a text by the rows of each model."""


def typical(
    evidence: Evidence, cells: pd.DataFrame, choose: Choose | None = None
) -> Typical | None:
    """A text of the models on one corpus, the one in the middle or a chosen one; None where there
    is no text that all of them read right."""
    first = cells.sort_values("seed", kind="stable").drop_duplicates("label").sort_index()
    runs = {
        str(cell["label"]): evidence.store.open(str(cell["run"])) for _, cell in first.iterrows()
    }
    rows = {label: _rows(run) for label, run in runs.items() if run.has("maps.parquet")}
    example = (choose or _middle)(list(rows.values()))
    if example is None:
        return None
    corpus, corpus_run = (str(first[name].iloc[0]) for name in ("corpus", "corpus_run"))
    readings = []
    for label, lines in rows.items():
        maps = runs[label].table("maps")
        own = maps[(maps["example"] == example) & (maps["map"] == TOKEN_MEASURE)]
        by_token = tuple(map(float, own["scores"].iloc[0][:MOST_TOKENS]))
        specs = evidence.model_specs(corpus, label)
        attention, final = specs[0].attention if specs else "", lines["confidence"][example]
        readings.append(Reading(label, attention, by_token, float(final)))
    words = evidence.words(corpus_run, [example]).get(example, [])
    tokens = zip_longest(range(1, len(readings[0].by_token) + 1), words, fillvalue="")
    return Typical(tuple(f"{n} {word[:WIDEST_TOKEN]}" for n, word in tokens if n), tuple(readings))


def _rows(run: Run) -> pd.DataFrame:
    """One line for each text: of its rows, the first."""
    rows = run.table("rows")
    return rows[rows["measure"] == TOKEN_MEASURE].drop_duplicates("example").set_index("example")


def _read_right(rows: list[pd.DataFrame]) -> pd.DataFrame:
    """By text, in the order of their names, each model's mean over tokens: only what all of them
    read right has one."""
    means = pd.concat([each["value"] for each in rows], axis=1, join="inner").dropna()
    return means.sort_index()


def _short(rows: list[pd.DataFrame]) -> pd.DataFrame:
    """Those that can be shown whole, where there are any."""
    means = _read_right(rows)
    short = means[rows[0]["length"].reindex(means.index) <= MOST_TOKENS]
    return short if len(short) else means


def _middle(rows: list[pd.DataFrame]) -> str | None:
    """Short texts first; the means of equal ones are told apart by their names."""
    if not rows:
        return None
    some = _short(rows).iloc[:, 0]
    ordered = some.sort_values(kind="stable")
    return str(ordered.index[(len(ordered) - 1) // 2]) if len(ordered) else None


TOKENS = Words(
    "token_curves",
    "The predicted class by one token alone (tutek2020, Figure 2)",
    "Probability of the predicted class with all attention on one token; dashed: the model’s own "
    "prediction. Where a curve stays near its dashed line, any attention gives that prediction; "
    "where it is high on few tokens, attention has to be on them. One text for each corpus, read "
    "right by all models shown and in the middle by the first model’s mean over tokens; of a long "
    "one, its beginning. First seed.",
    "Probability of the predicted class by single tokens",
    "The probe of single tokens was not run.",
)


@figure("token_probability", paper="tutek2020, Figure 2")
def token_curves(evidence: Evidence) -> Figure:
    """Probability of the predicted class by each token of one text, by model."""
    cells = evidence.cells[evidence.cells["probe"] == "token_probability"]
    texts = (
        (str(corpus), typical(evidence, part))
        for corpus, part in cells.groupby("corpus", sort=False)
    )
    groups = (
        _token_group(dataset_name(corpus), text) for corpus, text in texts if text is not None
    )
    return TOKENS.figure(groups, wide=True)


def _confidences(rows: list[pd.DataFrame]) -> pd.DataFrame:
    """How sure each model is of the texts to choose from."""
    index = _short(rows).index
    return pd.concat([each["confidence"].reindex(index) for each in rows], axis=1)


def _first(ordered: pd.Series) -> str | None:
    """The text with the largest value; equal ones by their names."""
    return None if ordered.empty else str(ordered.sort_index().idxmax())


def _one_word(rows: list[pd.DataFrame]) -> str | None:
    return _first(-_short(rows).mean(axis=1))


def _clear(rows: list[pd.DataFrame]) -> str | None:
    return _first(_confidences(rows).min(axis=1))


def _long(rows: list[pd.DataFrame]) -> str | None:
    return _first(rows[0]["length"].reindex(_read_right(rows).index))


def _unclear(rows: list[pd.DataFrame]) -> str | None:
    return _first(-_confidences(rows).max(axis=1))


def _surer(rows: list[pd.DataFrame]) -> str | None:
    """None where no text is surer for all the others than for the first model."""
    sure = _confidences(rows)
    lead = sure.iloc[:, 1:].min(axis=1) - sure.iloc[:, 0]
    return _first(lead[lead > 0])


EXAMPLES: Mapping[str, Choose] = {
    "few words decide (Figure 3)": _one_word,
    "all models are sure (Figure 4)": _clear,
    "the longest text (Figure 5)": _long,
    "all models are unsure (Figure 6)": _unclear,
    "surer than the first model (Figure 7)": _surer,
}
"""As tutek2020 has them: chosen there by hand, here by rule."""
MORE_TOKENS = Words(
    "token_examples",
    "The predicted class by one token alone, five texts (tutek2020, Figures 3 to 7)",
    "As above, for other texts that all models shown classify correctly: the one with the lowest "
    "mean over its tokens; those with the highest and the lowest confidence; the beginning of the "
    "longest; and the one of which all others are surest against the first model. The paper chose "
    "its texts by hand.",
    "Probability of the predicted class by single tokens",
    "The probe of single tokens was not run.",
)


@figure("token_probability", paper="tutek2020, Figures 3 to 7")
def token_examples(evidence: Evidence) -> Figure:
    """Probability of the predicted class by each token of five texts chosen by rule."""
    cells = evidence.cells[evidence.cells["probe"] == "token_probability"]
    texts = (
        (f"{dataset_name(str(corpus))}: {words}", typical(evidence, part, choose))
        for corpus, part in cells.groupby("corpus", sort=False)
        for words, choose in EXAMPLES.items()
    )
    groups = (_token_group(title, text) for title, text in texts if text is not None)
    return MORE_TOKENS.figure(groups, wide=True)


def _token_group(title: str, text: Typical) -> Group:
    variants = list(dict.fromkeys(reading.variant for reading in text.readings))[: len(CLASSES)]
    colours = {variant: class_colour(place) for place, variant in enumerate(variants)}
    shown = [reading for reading in text.readings if reading.variant in colours]
    panels = []
    for panel in dict.fromkeys(reading.panel for reading in shown):
        some = [reading for reading in shown if reading.panel == panel]
        panels.append(
            Panel(panel, token_chart(text.tokens, some, colours), _token_says(panel, some))
        )
    return Group(title, tuple(colours.items()), tuple(panels))


def token_chart(
    tokens: Sequence[str], readings: Sequence[Reading], colours: Mapping[str, str]
) -> Any:
    """A curve over the tokens for each reading, in its variant's colour, and its text dashed."""
    alt = need("altair")
    points = pd.DataFrame(
        {"token": token, "p": p, "final": reading.final, "colour": colours[reading.variant]}
        for reading in readings
        for token, p in zip(tokens, reading.by_token, strict=True)
    )
    colour = alt.Color("colour:N", scale=None)
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("token:N", sort=None, title=None, axis=alt.Axis(labelAngle=-55, labelLimit=110))
    base = alt.Chart(points, width=2 * WIDTH, height=HEIGHT)
    line = base.mark_line(point={"size": 22}, strokeWidth=1.6)
    line = line.encode(x=x, y=alt.Y("p:Q", title="probability", scale=scale), color=colour)
    final = base.mark_rule(strokeDash=[4, 3], opacity=0.6)
    return line + final.encode(y=alt.Y("final:Q", scale=scale), color=colour)


def _token_says(panel: str, readings: Sequence[Reading]) -> str:
    means = "; ".join(
        f"{reading.variant} {sum(reading.by_token) / len(reading.by_token):.2f} on average, "
        f"{reading.final:.2f} for the text"
        for reading in readings
    )
    return f"{TOKENS.about}, {panel}: {means}."
