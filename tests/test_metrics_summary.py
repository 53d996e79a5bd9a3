"""Summaries: the example is the unit, undefined rows are counted, order does not matter."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from heedful.metrics import COLUMNS, bootstrap_means, summarise


def row(example: str, value: float, **other: object) -> dict[str, object]:
    facts: dict[str, object] = {
        "example": example,
        "site": "attention",
        "head": 0,
        "query": 0,
        "label": 0,
        "predicted": 0,
        "length": 5,
        "max_weight": 0.5,
        "confidence": 0.9,
        "measure": "tau",
        "value": value,
    }
    return {**facts, **other}


def table(*rows: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(list(rows))


def line(summary: pd.DataFrame, group: str = "all", measure: str = "tau") -> pd.Series:
    found = summary[(summary["group"] == group) & (summary["measure"] == measure)]
    assert len(found) == 1
    return found.iloc[0]


def test_heads_of_one_example_are_averaged_first() -> None:
    rows = [row("a", 1.0, head=h) for h in range(9)] + [row("b", 0.0)]
    all_ = line(summarise(table(*rows), seed=0))
    assert (all_["n"], all_["mean"], all_["median"]) == (2, 0.5, 0.5)  # not 0.9
    assert all_["sd"] == pytest.approx(math.sqrt(0.5))
    assert (all_["low"], all_["high"]) == (0.0, 1.0)


def test_undefined_rows_are_counted_and_excluded() -> None:
    rows = [
        row("a", 1.0),
        row("a", math.nan, head=1),
        row("b", math.nan),
        row("c", 3.0),
        row("c", math.inf, head=1),
    ]
    all_ = line(summarise(table(*rows), seed=0))
    assert (all_["n"], all_["undefined"], all_["mean"]) == (2, 3, 2.0)


def test_one_example_has_a_mean_but_no_interval() -> None:
    all_ = line(summarise(table(row("a", 1.0)), seed=0))
    assert (all_["n"], all_["mean"], all_["median"]) == (1, 1.0, 1.0)
    assert all(math.isnan(all_[name]) for name in ("sd", "low", "high"))


def test_a_measure_without_any_value_is_still_listed() -> None:
    summary = summarise(table(row("a", 1.0), row("a", math.nan, measure="loo")), seed=0)
    loo = line(summary, measure="loo")
    assert (loo["n"], loo["undefined"]) == (0, 1) and math.isnan(loo["mean"])


def test_groups_are_classes_and_quarters_of_length_and_confidence() -> None:
    rows = [
        row(f"e{i:02}", float(i), length=10 + i, predicted=i % 3 * 5, confidence=1 - i / 30)
        for i in range(12)
    ]
    summary = summarise(table(*rows), seed=0)
    assert summary["group"].tolist() == [
        *("all", "class=0", "class=5", "class=10"),
        *("length=1", "length=2", "length=3", "length=4"),
        *("confidence=1", "confidence=2", "confidence=3", "confidence=4"),
    ]
    assert line(summary, "confidence=1")["mean"] == line(summary, "length=4")["mean"] == 10
    assert [line(summary, f"length={q}")["mean"] for q in (1, 2, 3, 4)] == [1.0, 4.0, 7.0, 10.0]
    assert line(summary, "class=5")["mean"] == (1 + 4 + 7 + 10) / 4


def test_equal_lengths_share_a_quarter_and_examples_not_rows_set_the_edges() -> None:
    rows = [row(f"e{i}", 1.0) for i in range(4)]
    assert "length=2" not in summarise(table(*rows), seed=0)["group"].tolist()
    rows = [row(f"e{i}", float(i), length=i) for i in range(4)]
    rows += [row("e3", 3.0, length=3, head=h) for h in range(1, 20)]
    summary = summarise(table(*rows), seed=0)
    assert [line(summary, f"length={q}")["n"] for q in (1, 2, 3, 4)] == [1, 1, 1, 1]


def test_sites_are_apart() -> None:
    rows = [row("a", 1.0), row("a", 5.0, site="words"), row("b", 3.0), row("b", 9.0, site="words")]
    summary = summarise(table(*rows[::-1]), seed=0)
    assert summary["site"].is_monotonic_increasing
    means = summary[summary["group"] == "all"].set_index("site")["mean"]
    assert means.to_dict() == {"attention": 2.0, "words": 7.0}


def many() -> pd.DataFrame:
    random = np.random.default_rng(0)
    rows = [
        row(f"e{i}", float(random.normal()), head=h, measure=m, predicted=i % 2, length=i % 7)
        for i in range(40)
        for h in range(3)
        for m in ("tau", "jsd")
    ]
    return table(*rows)


def test_the_order_of_rows_changes_nothing() -> None:
    rows = many()
    expected = summarise(rows, seed=3)
    for seed in range(3):
        shuffled = rows.sample(frac=1, random_state=seed)
        pd.testing.assert_frame_equal(summarise(shuffled, seed=3), expected, check_exact=True)
    assert not summarise(rows, seed=4).equals(expected)


def test_intervals_are_the_bootstrap_of_example_means() -> None:
    rows = many()
    means = rows[rows["measure"] == "tau"].groupby("example")["value"].mean().sort_index()
    low, high = bootstrap_means(means.to_numpy()[:, None], seed=3)
    all_ = line(summarise(rows, seed=3))
    assert (all_["low"], all_["high"]) == pytest.approx((low[0], high[0]), rel=1e-12)


def test_no_rows_no_lines_but_the_same_columns() -> None:
    rows = many()
    empty = summarise(rows.iloc[:0], seed=0)
    assert list(empty.columns) == COLUMNS and len(empty) == 0
    assert empty.dtypes.equals(summarise(rows, seed=0).dtypes)
