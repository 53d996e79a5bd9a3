"""Which heads carry the decision: halves, bounds and correlations from tables of known truth."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heedful.report import audit_page
from heedful.verdict import Verdict, half_of, judge
from verdict_tables import World, rows_of

EFFECTS = {(0, 0): 0.05, (0, 1): 0.3, (1, 0): 0.1, (1, 1): 0.0}
CAPTURED = {(0, 0): 0.1, (0, 1): 0.5, (1, 0): 0.3, (1, 1): 0.0}


def table(
    examples: int = 80, captured: dict[tuple[int, int], float] = CAPTURED, noise: float = 0.02
) -> pd.DataFrame:
    """Rows of an audit with four heads, whose effects and captured importance are known."""
    rows = rows_of(World(examples=examples))
    one = rows[(rows["measure"] == "correct") & (rows["operator"] == "")]
    random, parts = np.random.default_rng(0), [rows]
    for (layer, head), effect in EFFECTS.items():
        name = f"attention:layer={layer},head={head}"
        moved = effect + noise * random.normal(size=examples)
        for operator, value in (("mean", moved), ("zero", 2 * moved), ("direct", moved / 2)):
            parts.append(_as(one, name, operator, "tvd_head", value))
            parts.append(_as(one, name, operator, "drop_head", -value))
        for operator in ("delete", "mask"):
            value = captured[layer, head] + noise * random.normal(size=examples)
            parts.append(_as(one, name, operator, "importance_captured", value))
    return pd.concat(parts, ignore_index=True)


def _as(
    one: pd.DataFrame, name: str, operator: str, measure: str, value: np.ndarray
) -> pd.DataFrame:
    return one.assign(explanation=name, operator=operator, measure=measure, value=value)


def test_the_head_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    rows = table()
    found = judge(rows).heads
    assert [each.name for each in found.ranked] == [
        f"attention:layer={layer},head={head}" for layer, head in ((0, 1), (1, 0), (0, 0), (1, 1))
    ]
    best = found.ranked[0]
    mine = rows[(rows["explanation"] == best.name) & (rows["measure"] == "tvd_head")]
    side = mine["cluster"].map(half_of)
    means = {(op, s): part["value"].mean() for (op, s), part in mine.groupby(["operator", side])}
    assert best.chosen_on == pytest.approx(means["mean", 0])
    assert best.effect == pytest.approx(means["mean", 1])
    assert best.direct == pytest.approx(means["direct", 1])
    assert best.drop == pytest.approx(-means["mean", 1])
    values = mine[(mine["operator"] == "mean") & (side == 1)]["value"]
    half = stats.t.ppf(0.95, len(values) - 1) * stats.sem(values)
    assert (best.low, best.high) == pytest.approx((best.effect - half, best.effect + half))


def test_the_correlation_is_scipy_s_and_its_bounds_hold_it() -> None:
    found = judge(table()).heads
    assert found.correlation == pytest.approx(1.0)
    turned = {place: 0.5 - value for place, value in CAPTURED.items()}
    assert judge(table(captured=turned)).heads.correlation == pytest.approx(-1.0)
    rows = table(noise=0.3)
    effects, captured = (
        rows[(rows["measure"] == name) & rows["operator"].isin(operators)]
        .loc[lambda part: part["explanation"].str.contains("head=")]
        .groupby("explanation")["value"]
        .mean()
        for name, operators in (
            ("tvd_head", ["mean"]),
            ("importance_captured", ["delete", "mask"]),
        )
    )
    noisy = judge(rows).heads
    assert noisy.correlation == pytest.approx(stats.spearmanr(effects, captured).statistic)
    assert noisy.low <= noisy.correlation <= noisy.high and noisy.low < noisy.high


def test_what_was_not_measured_is_not_told() -> None:
    plain = judge(rows_of(World(examples=40)))
    assert plain.heads.sentence == "" and not any("Heads:" in line for line in plain.lines())
    few = judge(table(examples=12)).heads
    assert few.sentence.startswith("too few examples") and not few.ranked
    rows = table()
    zero = rows[~rows["measure"].isin(["tvd_head", "drop_head"]) | (rows["operator"] == "zero")]
    found = judge(zero).heads
    assert found.ablation == "zero" and np.isnan(found.ranked[0].direct)
    alone = judge(rows[rows["measure"] != "importance_captured"]).heads
    assert np.isnan(alone.correlation) and "correlation" not in alone.sentence


def test_it_is_in_json_in_the_lines_and_on_the_page() -> None:
    rows = table()
    verdict = judge(rows, None, {"model": "tiny", "classes": ["a", "b"]})
    assert Verdict.from_json(verdict.to_json()).heads == verdict.heads
    assert "layer 0, head 1 does most" in str(verdict)
    without = json.loads(verdict.to_json())
    del without["heads"]  # as an earlier Heedful stored it
    assert Verdict.from_values(without).heads.sentence == ""
    page = audit_page({"verdict": json.loads(verdict.to_json()), "facts": {}, "rows": rows})
    assert "Which heads carry the decision?" in page and "layer 0, head 1 does most" in page
    assert "Importance captured" in page
