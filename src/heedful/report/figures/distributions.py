"""One number per text, as histograms and as densities by the largest attention weight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from heedful.entries import figure
from heedful.report.evidence import Evidence
from heedful.report.figures.multiples import Legend, Words, folded, painted, small_multiples
from heedful.report.formats import visible
from heedful.report.panels import (
    KINDS,
    WIDTH,
    Axis,
    Figure,
    class_colour,
    dashed_line,
    histogram,
    on_axis,
    shares,
)
from heedful.report.sheet import need


def highest(rows: pd.DataFrame, axis: Axis) -> float:
    """The tallest bar of all panels, so that they can share one scale."""
    finite = rows[np.isfinite(rows["value"].to_numpy(dtype=float))]
    panels = finite.groupby(["corpus", "label"], sort=False)
    return max((float(shares(part, axis)["share"].max()) for _, part in panels), default=1.0)


BINS = ("0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1")
FEWEST = 5
_POINTS = 61
_TALL = 0.44
_FLAT = 0.004  # below this share of the peak nothing can be seen


def violins(rows: pd.DataFrame, title: str, high: float, mark: bool = False) -> Any:
    """A panel; `rows` has value, predicted and max_weight per line; `high` bounds the values
    and is marked if asked for."""
    alt = need("altair")
    rows = _binned(rows)
    x = on_axis("x", title, domain=[0, high * 1.03], nice=False)("x")
    y = alt.Y(
        "base:Q",
        title="largest weight",
        scale=alt.Scale(domain=[-0.55, 3.55], nice=False),
        axis=alt.Axis(values=[0, 1, 2, 3], labelExpr=_labels(), grid=False, titlePadding=8),
    )
    colour = alt.Color("colour:N", scale=None)
    layers = [
        alt.Chart(_densities(rows, high), width=WIDTH, height=180)
        .mark_area(opacity=0.6, line={"strokeWidth": 1.2})
        .encode(x=x, y=y, y2="edge:Q", color=colour, detail="series:N"),
        alt.Chart(_few(rows)).mark_tick(thickness=2, size=12).encode(x=x, y=y, color=colour),
        alt.Chart(_medians(rows))
        .mark_point(filled=True, size=36, stroke="white", strokeWidth=1, opacity=1)
        .encode(x=x, y=alt.Y("edge:Q"), color=colour),
        alt.Chart(_counts(rows))
        .mark_text(align="left", fontSize=9)
        .encode(x=alt.value(WIDTH + 4), y=y, text="text:N"),
    ]
    if mark:
        layers.append(dashed_line(x=high).encode(x="x:Q"))
    return alt.layer(*layers)


def _labels() -> str:
    names = ", ".join(f"'{name}'" for name in BINS)
    return f"[{names}][datum.value]"


def _binned(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the bin of their largest weight, and its line's `base`."""
    weight = rows["max_weight"].to_numpy(dtype=float)
    place = np.clip(np.floor(np.nan_to_num(weight) * len(BINS)), 0, len(BINS) - 1).astype(int)
    side, bins = np.where(rows["predicted"] % 2 == 0, 1, -1), np.array(BINS)[place]
    return rows.assign(place=place, side=side, bin=bins, colour=rows["predicted"].map(class_colour))


def _parts(rows: pd.DataFrame, few: bool) -> Iterator[pd.DataFrame]:
    """The rows of each bin and predicted class: those with few rows, or the others."""
    for _, part in rows.groupby(["place", "predicted"]):
        if (len(part) < FEWEST) == few:
            yield part


def _densities(rows: pd.DataFrame, high: float) -> pd.DataFrame:
    """Outlines: x, the bin's line (`base`) and the curve (`edge`), per bin and class."""
    outlines = []
    for part in _parts(rows, few=False):
        x, curve = _density(part["value"].to_numpy(dtype=float), high)
        x, curve = x[curve > _FLAT], curve[curve > _FLAT]
        first = part.iloc[0]
        outline = pd.DataFrame(
            {
                "what": "density",
                "x": x,
                "height": curve,
                "base": float(first["place"]),
                "edge": first["place"] + first["side"] * _TALL * curve,
                "bin": first["bin"],
                "colour": first["colour"],
                "series": f"{first['place']}/{int(first['predicted'])}",
            }
        )
        outlines.append(outline)
    columns = ["what", "x", "height", "base", "edge", "bin", "colour", "series"]
    return pd.concat(outlines, ignore_index=True) if outlines else pd.DataFrame(columns=columns)


def _density(values: np.ndarray, high: float) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel reflected at both ends, scaled to a peak of 1."""
    width = max(0.02 * high, 1.06 * float(values.std()) * len(values) ** -0.2)
    x = np.linspace(0, high, _POINTS)
    counts, edges = np.histogram(np.clip(values, 0, high), np.linspace(0, high, 401))
    centres = (edges[:-1] + edges[1:]) / 2
    mirrored = np.concatenate([-centres, centres, 2 * high - centres])
    weights = np.tile(counts, 3)
    curve = np.exp(-0.5 * ((x[:, None] - mirrored[None, :]) / width) ** 2) @ weights
    return x, curve / max(curve.max(), 1e-12)


def _few(rows: pd.DataFrame) -> pd.DataFrame:
    lines = [
        ("one text", row["value"], row["place"] + 0.16 * row["side"], row["bin"], row["colour"])
        for part in _parts(rows, few=True)
        for row in part.to_dict("records")
    ]
    return pd.DataFrame(lines, columns=["what", "x", "base", "bin", "colour"])


def _medians(rows: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for part in _parts(rows, few=False):
        first, median = part.iloc[0], float(part["value"].median())
        edge = first["place"] + 0.1 * first["side"]
        lines.append(
            (f"median of {len(part):,} values", median, edge, first["bin"], first["colour"])
        )
    return pd.DataFrame(lines, columns=["what", "x", "edge", "bin", "colour"])


def _counts(rows: pd.DataFrame) -> pd.DataFrame:
    sizes = rows.groupby("place").size()
    return pd.DataFrame({"base": sizes.index, "text": [f"n {size:,}" for size in sizes]})


GRADIENT_WORDS = Words(
    "tau_gradient",
    "Attention against gradients (jain2019, Figure 2)",
    "Kendall’s τ between attention and gradient importance, one value per text, by predicted "
    "class; each colour adds up to 100%. At 1 both order the words alike, at 0 (dashed) they "
    "are unrelated.",
    "Kendall τ of attention and gradients",
)
GRADIENT_AXIS = Axis("Kendall τ", -1.0, 1.0, 20, mark=0.0)


@figure("correlation", paper="jain2019, Figure 2")
def tau_gradient(evidence: Evidence) -> Figure:
    """Histograms of Kendall τ between attention and gradients, by predicted class."""
    rows = _by_class(evidence, evidence.rows("correlation", ["tau_gradient"]))
    return _histograms(evidence, rows, GRADIENT_WORDS, GRADIENT_AXIS)


LEFT_OUT_WORDS = Words(
    "tau_leave_one_out",
    "Attention against leaving words out (jain2019, Figure 2 for leave-one-out)",
    "Kendall’s τ between attention and the change of the output without each word, one value per "
    "text, by predicted class; each colour adds up to 100%. The paper calls these histograms "
    "similar to those of gradients and shows them online.",
    "Kendall τ of attention and leaving out",
)


@figure("correlation", paper="jain2019, Figure 2")
def tau_leave_one_out(evidence: Evidence) -> Figure:
    """Histograms of Kendall τ between attention and leaving words out, by predicted class."""
    rows = _by_class(evidence, evidence.rows("correlation", ["tau_loo"]))
    return _histograms(evidence, rows, LEFT_OUT_WORDS, GRADIENT_AXIS)


def _by_class(evidence: Evidence, rows: pd.DataFrame) -> pd.DataFrame:
    rows = folded(evidence, rows)
    return rows.assign(colour=rows["predicted"].map(class_colour))


def _histograms(
    evidence: Evidence, rows: pd.DataFrame, words: Words, axis: Axis, legend: Legend | None = None
) -> Figure:
    draw = partial(histogram, axis=axis, top=highest(rows, axis))
    return small_multiples(evidence, rows, words, draw, legend)


def measures_of_experiment(evidence: Evidence, experiment: str) -> list[Figure]:
    """A histogram of each measure of an experiment that has no figure of its own."""
    summaries = evidence.summaries
    measures = summaries.loc[summaries["probe"] == experiment, "measure"].astype(str).unique()
    return [_measure_histogram(evidence, experiment, measure) for measure in measures]


def _measure_histogram(evidence: Evidence, experiment: str, measure: str) -> Figure:
    """In the experiment's own words, as far as its runs have them."""
    said = evidence.words_of(experiment)
    about = said.of_measure(measure) or f"the measure {measure} of the experiment {experiment}"
    higher = f" Higher means: {said.higher.rstrip('.')}." if said.higher else ""
    words = Words(
        f"{experiment}_{measure}",
        f"{experiment}: {measure}",
        visible(
            f"{about[:1].upper()}{about[1:]}. One value per text, by predicted class; each colour "
            f"adds up to 100%. The mean over all texts is dashed.{higher} {said.limits}".rstrip()
        ),
        f"{experiment}, {measure}",
    )
    rows = _by_class(evidence, evidence.rows(experiment, [measure]))
    values = rows["value"].to_numpy(dtype=float)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return small_multiples(evidence, rows, words, lambda cell: None)
    low, high = float(finite.min()), float(finite.max())
    axis = Axis(measure, low, high if high > low else low + 1, 20, mark=float(finite.mean()))
    return _histograms(evidence, rows, words, axis)


PERMUTATION_WORDS = Words(
    "permutation",
    "Shuffled attention (jain2019, Figure 3; vashishth2019, Figure 2)",
    "Median change of the predicted probability when a text’s attention weights are shuffled, "
    "by the largest weight before shuffling. First class above its line, second below; all "
    "shapes are drawn equally tall; the dot is the median, n the number of values. Mass at the "
    "left of the upper lines: even peaked attention could be shuffled without consequence.",
    "Median change of output under shuffling",
)


@figure("permutation", paper="jain2019, Figure 3; vashishth2019, Figure 2")
def permutation(evidence: Evidence) -> Figure:
    """Median change of output under shuffled attention, by the largest weight."""
    rows = evidence.rows("permutation", ["tvd_median"])
    draw = partial(violins, title="median change of output", high=1.0)
    return small_multiples(evidence, rows, PERMUTATION_WORDS, draw)


MEASURES = {
    "jsd_search": ("found by search", KINDS["search"]),
    "jsd_exact": ("largest that exists (exact)", KINDS["exact"]),
    "jsd_entropy_matched": ("found, as spread out as the original", KINDS["matched"]),
}
JSD_WORDS = Words(
    "jsd",
    "Different attention, same prediction (jain2019, Figure 4)",
    "Largest Jensen–Shannon distance between a text’s attention and other weights that keep the "
    "prediction within ε. No two distributions are further apart than ln 2 ≈ 0.69 (dashed). The "
    "exact value nears its unconstrained maximum with length alone, so read it beside the "
    "equally spread-out one, and beside the distance between seeds where that was measured.",
    "Adversarial Jensen–Shannon distance",
)
LN2 = math.log(2)
DISTANCE = "Jensen–Shannon distance"
JSD_AXIS = Axis(DISTANCE, 0.0, LN2, 20, mark=LN2, mark_text="ln 2", room=0.03)
_by_weight = partial(violins, title=DISTANCE, high=LN2, mark=True)


@figure("adversarial", paper="jain2019, Figure 4")
def jsd(evidence: Evidence) -> Figure:
    """Histograms of the largest adversarial distance: searched, exact, spread-matched."""
    rows = evidence.rows("adversarial", list(MEASURES))
    legend = tuple(MEASURES[one] for one in _found(rows, MEASURES))
    rows = rows.assign(colour=painted(rows["measure"], MEASURES))
    return _histograms(evidence, rows, JSD_WORDS, JSD_AXIS, legend)


JSD_CLASS_WORDS = Words(
    "jsd_by_class",
    "Different attention, same prediction, by class (jain2019, Figure 4)",
    "Largest Jensen–Shannon distance between a text’s attention and other weights that keep the "
    "prediction within ε ({how}), one value per text, by predicted class; each colour adds up to "
    "100%. Dashed: ln 2, the largest distance there is.",
    "Adversarial distance by class ({how})",
)


@figure("adversarial", paper="jain2019, Figure 4")
def jsd_by_class(evidence: Evidence) -> Figure:
    """Histograms of the largest adversarial distance by predicted class."""
    kept, how = _as_in_paper(evidence)
    words = JSD_CLASS_WORDS
    words = replace(words, caption=words.caption.format(how=how), about=words.about.format(how=how))
    return _histograms(evidence, _by_class(evidence, kept), words, JSD_AXIS)


def _as_in_paper(evidence: Evidence) -> tuple[pd.DataFrame, str]:
    """The searched distance, as in the paper; the exact one where no search was run."""
    rows = evidence.rows("adversarial", list(HOW))
    kind = next(iter(_found(rows, HOW)), "jsd_search")
    return (rows[rows["measure"] == kind] if len(rows) else rows), HOW[kind]


def _found(rows: pd.DataFrame, measures: Iterable[str]) -> list[str]:
    return [one for one in measures if len(rows) and (rows["measure"] == one).any()]


HOW = {"jsd_search": "found by search", "jsd_exact": "exact"}


@figure("adversarial", paper="jain2019, Figure 5")
def jsd_by_max(evidence: Evidence) -> Figure:
    """The adversarial distance in four bins of the largest attention weight."""
    kept, how = _as_in_paper(evidence)
    words = Words(
        "jsd_by_max",
        "Adversarial distance and peaked attention (jain2019, Figure 5)",
        f"Largest Jensen–Shannon distance at nearly the same prediction ({how}), by the "
        "largest weight of the original attention; drawn like the shuffling above. Mass near "
        "ln 2 (dashed) on the upper lines: peaked attention, too, could have been elsewhere.",
        f"Adversarial distance ({how})",
    )
    return small_multiples(evidence, kept, words, _by_weight)


SEED_VARIANCE_WORDS = Words(
    "seed_variance",
    "Attention of other seeds (wiegreffe2019, test 2)",
    "Jensen–Shannon distance between a text’s attention and that of models which differ in their "
    "seed alone (median over seeds), by the largest weight of the first. Drawn like the "
    "adversarial distance, which is to be read against it: mass far to the right says that chance "
    "alone moves attention as far. Dashed: ln 2, the largest distance there is.",
    "Distance between seeds",
)


@figure("seeds", paper="wiegreffe2019, test 2")
def seed_variance(evidence: Evidence) -> Figure:
    """The distance between seeds in four bins of the largest attention weight."""
    rows = evidence.rows("seeds", ["jsd_seeds"])
    return small_multiples(evidence, rows, SEED_VARIANCE_WORDS, _by_weight)
