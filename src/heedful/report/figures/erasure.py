"""Erasing items from attention: one, or more and more until the decision flips (serrano2019)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from heedful.entries import figure
from heedful.metrics import SignTest, sign_test, survival
from heedful.report.evidence import KEYS, Evidence
from heedful.report.figures.multiples import Words, by_corpus, small_multiples
from heedful.report.formats import number
from heedful.report.panels import (
    INK,
    KINDS,
    WIDTH,
    Figure,
    Panel,
    dashed_line,
    named_rows,
    on_axis,
)
from heedful.report.sheet import need
from heedful.report.tables import published_beside_measured
from heedful.studies import FLIPS

ERASURE_WORDS = Words(
    "erasure",
    "The heaviest item or a random one (serrano2019, vashishth2019: Figures 3)",
    "Change of the output without the item of the largest weight less the change without a "
    "random other one (ΔJS), by the difference of their weights; darker: more texts. Below the "
    "dashed line the random item mattered more. If weights told importance, nothing would be "
    "below it, least of all to the right.",
    "Change of output, heaviest less random item",
)
MORE, LESS = KINDS["exact"], "#d2781a"
ERASURE_LEGEND = (("the heaviest matters more", MORE), ("the random one does", LESS))
ACROSS, UP = 24, 12
_HEIGHT = 150
_ROUNDING = 1e-12  # a divergence below it is none
_ROW = [*KEYS, "example", "site", "head", "query"]


@figure("erasure", paper="serrano2019, Figure 3; vashishth2019, Figure 3")
def erasure(evidence: Evidence) -> Figure:
    """ΔJS of the heaviest and a random item, by the difference of their weights."""
    rows = evidence.rows("erasure", ["js_difference", "weight_difference"])
    if len(rows):
        weights = rows[rows["measure"] == "weight_difference"].set_index(_ROW)["value"]
        rows = rows[rows["measure"] == "js_difference"]
        rows = rows.join(weights.rename("weight"), on=_ROW)
    draw = partial(_erasure_panel, step=_step(rows))
    return small_multiples(evidence, rows, ERASURE_WORDS, draw, ERASURE_LEGEND)


def cells(rows: pd.DataFrame, step: float) -> pd.DataFrame:
    """The filled cells of the grid, with their share of the fullest one."""
    value = rows["value"].to_numpy(dtype=float)
    up = np.floor(np.where(np.abs(value) < _ROUNDING, 0.0, value) / step).clip(-UP, UP - 1)
    right = np.floor(rows["weight"].to_numpy(dtype=float) * ACROSS).clip(0, ACROSS - 1)
    counts = pd.DataFrame({"right": right, "up": up}).value_counts().reset_index()
    return pd.DataFrame(
        {
            "left": counts["right"] / ACROSS,
            "right": (counts["right"] + 1) / ACROSS,
            "low": counts["up"] * step,
            "high": (counts["up"] + 1) * step,
            "shade": 0.12 + 0.88 * np.sqrt(counts["count"] / counts["count"].max()),
            "texts": counts["count"],
            "colour": np.where(counts["up"] < 0, LESS, MORE),
        }
    ).sort_values(["left", "low"], ignore_index=True)


def _step(rows: pd.DataFrame) -> float:
    """One scale for all panels; the highest value is in the last cell."""
    values = rows["value"].to_numpy(dtype=float) if len(rows) else np.zeros(0)
    finite = np.abs(values[np.isfinite(values)])
    return max(1e-3, 1.0001 * float(finite.max(initial=0.0)) / UP)


def _erasure_panel(rows: pd.DataFrame, step: float) -> Any:
    alt = need("altair")
    grid = (
        alt.Chart(cells(rows, step), width=WIDTH, height=_HEIGHT)
        .mark_rect()
        .encode(
            x=on_axis("x", "difference of weights", domain=[0, 1], nice=False)("left"),
            x2="right:Q",
            y=on_axis("y", "ΔJS", domain=[-UP * step, UP * step], nice=False)("low"),
            y2="high:Q",
            color=alt.Color("colour:N", scale=None),
            opacity=alt.Opacity("shade:Q", scale=None),
        )
    )
    zero = dashed_line(low=0).encode(y="low:Q")
    below = float((rows["value"] < -_ROUNDING).mean())
    words = alt.Chart(alt.Data(values=[{"text": f"{100 * below:.1f}% below (n {len(rows):,})"}]))
    words = words.mark_text(align="right", fontSize=10, color=INK, dy=-4)
    place = {"x": alt.value(WIDTH), "y": alt.value(_HEIGHT - 2)}
    return grid + zero + words.encode(text="text:N", **place)


FLIPS_WORDS = Words(
    "flips",
    "Decisions that one erasure flips (serrano2019, Table 2)",
    "Share of texts whose decision flips when the item of the largest weight is erased (rows) and "
    "when a random other one is (columns); in brackets what the paper prints, where it does. "
    "If weights told importance, no text would be where only the random one flips.",
    "Decisions flipped by one erasure",
    "Flips by single erasures were not measured.",
)
FLIPS_LEGEND = (("share of texts, %", KINDS["exact"]),)
YES, NO = "yes", "no"
CELLS = dict(zip(FLIPS, ((YES, YES), (YES, NO), (NO, YES), (NO, NO)), strict=True))
"""Does erasing the heaviest flip, does erasing the random one."""


@figure("flips", paper="serrano2019, Table 2")
def flips(evidence: Evidence) -> Figure:
    """Does erasing the heaviest item flip the decision, does erasing a random one."""
    frame = published_beside_measured(evidence, "serrano2019")
    frame = frame[frame["metric"].str.startswith("flip_percent:") & frame["measured"].notna()]
    return by_corpus(FLIPS_WORDS, frame, FLIPS_LEGEND, _panels, "dataset")


def _panels(part: pd.DataFrame) -> Iterator[Panel]:
    for model, cells in part.groupby("model", sort=False):
        says = "; ".join(
            f"{metric.removeprefix('flip_percent:').replace('_', ' ')} {value:.1f}%"
            for metric, value in zip(cells["metric"], cells["measured"], strict=True)
        )
        chart = _flips_chart(table(cells))
        yield Panel(str(model), chart, f"{FLIPS_WORDS.about}, {model}: {says}.")


def table(cells: pd.DataFrame) -> pd.DataFrame:
    """Four cells: top, random, the per cent and its text. A substitute's are not compared."""
    names = cells["metric"].str.removeprefix("flip_percent:")
    same = ~cells["note"].str.contains("substitute")
    printed = cells["published_paper"].where(same).map(lambda value: number(value, 1))
    return pd.DataFrame(
        {
            "top": [CELLS[name][0] for name in names],
            "random": [CELLS[name][1] for name in names],
            "percent": cells["measured"].to_numpy(),
            "text": [
                f"{number(value, 1)}%" + (f" ({paper})" if paper else "")
                for value, paper in zip(cells["measured"], printed, strict=True)
            ],
        }
    )


def _flips_chart(data: pd.DataFrame) -> Any:
    alt = need("altair")
    order = [YES, NO]
    base = alt.Chart(data, width=180, height=80).encode(
        x=alt.X(
            "random:N",
            title="the random one flips",
            sort=order,
            axis=alt.Axis(labelAngle=0, orient="top"),
        ),
        y=alt.Y("top:N", title="the heaviest flips", sort=order),
    )
    shade = alt.Opacity(
        "percent:Q", scale=alt.Scale(domain=[0, 100], range=[0.06, 0.6]), legend=None
    )
    fill = base.mark_rect(color=KINDS["exact"]).encode(opacity=shade)
    return fill + base.mark_text(fontSize=11, color=INK).encode(text="text:N")


RANKINGS = {
    "attention": "attention",
    "gradient": "gradient",
    "gradient_attention": "gradient × attention",
    "centred": "centred gradient × attention",
    "random": "random order",
    "ascending": "attention, lightest first",
}
"""The orders of removal, as a report names them."""

_PLACE = ["example", "site", "seed"]


@dataclass(frozen=True)
class Removed:
    """One ranking's removals on one model and corpus: the share at the flip, or at which the
    row was given up."""

    shares: NDArray[np.float64]
    never: NDArray[np.bool_]

    def quantile(self, share: float) -> float:
        """When that share has flipped; NaN where fewer ever do."""
        return survival(self.shares, self.never).quantile(share)


def removals(
    evidence: Evidence, kind: str, by: tuple[str, ...] = ("corpus", "label")
) -> Iterator[tuple[tuple[str, ...], dict[str, Removed]]]:
    """For each corpus and model (and seed, if asked for), each ranking's removals; `kind` is
    `fraction` (of items) or `mass` (of attention)."""
    measures = [f"{part}_{name}" for part in (kind, "never") for name in RANKINGS]
    rows = evidence.rows("importance_sets", [*measures, *_tried()])
    if rows.empty:
        return
    rows = rows.drop_duplicates([*KEYS, *_PLACE[:2], "measure"])  # an example's heads flip together
    for place, part in rows.groupby(list(by), sort=False):
        wide = part.pivot(index=_PLACE, columns="measure", values="value")
        found = {name: _removed(wide, kind, name) for name in RANKINGS if f"never_{name}" in wide}
        yield tuple(map(str, place)), found


def compared(first: Removed, second: Removed) -> SignTest:
    """Which of two rankings flips the same rows sooner."""
    return sign_test(first.shares, second.shares, first.never, second.never)


def _removed(wide: pd.DataFrame, kind: str, name: str) -> Removed:
    never = wide[f"never_{name}"].to_numpy(dtype=float) > 0
    # the attention removed by the last step tried is not known: at most all of it
    told = [each for each in _tried(name) if each in wide] if kind == "fraction" else []
    tried = wide[told].min(axis=1).to_numpy(dtype=float) if told else 1.0
    return Removed(np.where(never, tried, wide[f"{kind}_{name}"].to_numpy(dtype=float)), never)


def _tried(*names: str) -> list[str]:
    """Up to which share of the items: of all rankings, and of one whose weights were gone
    sooner."""
    return ["tried", *(f"tried_{name}" for name in names or RANKINGS)]


SETS_WORDS = Words(
    "importance_sets",
    "Items removed until the decision flips (serrano2019, Figure 5)",
    "Share of items that lose their attention, in the order of a ranking, before the decision "
    "flips. Further to the left: the ranking finds what the decision rests on sooner. Attention "
    "that tells importance would lie left of the random order, and not right of the gradient’s. "
    "Decisions that never flip are counted as not yet flipped; their share stands at the right.",
    "Share of items removed at the flip",
)


MASS_WORDS = Words(
    "importance_mass",
    "Attention removed until the decision flips",
    "The same removals by the attention the removed items had. Far to the left: the decision "
    "flips although nearly all attention is still there. Decisions that never flip are counted "
    "at the right end.",
    "Attention removed at the flip",
)


QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
COLOUR = KINDS["exact"]
BOXES_LEGEND = (("half of the texts; the tick is the median, the line 5% to 95%", COLOUR),)


def _boxes(kind: str, words: Words, title: str, evidence: Evidence) -> Figure:
    """A group per corpus, a panel per model."""
    panels = (
        (
            corpus,
            Panel(
                label,
                _boxes_chart(quantiles(found), title),
                f"{words.about}, {label}: {_boxes_says(found)}.",
            ),
        )
        for (corpus, label), found in removals(evidence, kind)
    )
    return words.of_panels(panels, BOXES_LEGEND)


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


def _boxes_chart(table: pd.DataFrame, title: str) -> Any:
    alt = need("altair")
    at, base = on_axis("x", title, domain=[0, 1], nice=False), named_rows(table, "ranking")
    line = base.mark_rule(strokeWidth=1.5, color=COLOUR).encode(x=at("q05"), x2="q95:Q")
    box = base.mark_bar(size=11, opacity=0.55, color=COLOUR).encode(x=at("q25"), x2="q75:Q")
    tick = base.transform_filter("isValid(datum.reached)").mark_tick(
        thickness=2.5, size=14, color=INK
    )
    words = base.mark_text(align="left", fontSize=9).encode(x=alt.value(WIDTH + 4), text="never:N")
    return alt.layer(line, box, tick.encode(x=at("reached")), words)


def _boxes_says(found: dict[str, Removed]) -> str:
    parts = []
    for name, removed in found.items():
        median = removed.quantile(0.5)
        reached = f"median {median:.2f}" if median == median else "median not reached"
        parts.append(f"{RANKINGS[name]} {reached}, never {100 * removed.never.mean():.0f}%")
    return "; ".join(parts)


@figure("importance_sets", paper="serrano2019, Figure 5")
def importance_sets(evidence: Evidence) -> Figure:
    """Share of items removed until the decision flips, by ranking, none dropped."""
    return _boxes("fraction", SETS_WORDS, "share of items removed", evidence)


@figure("importance_sets", paper="serrano2019")
def importance_mass(evidence: Evidence) -> Figure:
    """Attention removed until the decision flips, by ranking, none dropped."""
    return _boxes("mass", MASS_WORDS, "share of attention removed", evidence)
