"""Whether explanations mark the words of revisions: from tables whose truth is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heedful.report import audit_page
from heedful.verdict import Verdict, judge
from verdict_tables import World, rows_of

MEANS = {"attention": 0.3, "lrp": 0.7, "random": 0.25, "prior": 0.4}


def table(examples: int = 40) -> pd.DataFrame:
    """Every second text has a revision that flips the prediction."""
    rows = rows_of(World(examples=examples))
    one = rows[(rows["measure"] == "correct") & (rows["operator"] == "")].iloc[::2]
    random, parts = np.random.default_rng(0), [rows]

    def add(name: str, operator: str, measure: str, value: np.ndarray) -> None:
        parts.append(one.assign(explanation=name, operator=operator, measure=measure, value=value))

    add("", "", "edit_flips", np.tile([1.0, 0.5], len(one))[: len(one)])
    for name, mean in MEANS.items():
        add(name, "flips", "edit_auprc", mean + 0.05 * random.normal(size=len(one)))
        add(name, "stays", "edit_auprc", np.full(len(one), np.nan))
        add(name, "", "edit_auroc", mean + 0.1 * random.normal(size=len(one)))
    return pd.concat(parts, ignore_index=True)


def test_each_explanation_is_compared_with_the_better_baseline() -> None:
    rows = table()
    found = judge(rows).edits
    assert found.texts == 20 and found.flipped == 0.75
    scores = {one.explanation: one for one in found.scores if one.measure == "edit_auprc"}
    assert list(scores) == ["lrp", "prior", "attention", "random"]
    values = {
        name: rows[(rows["measure"] == "edit_auprc") & (rows["explanation"] == name)]
        .set_index(["example", "operator"])["value"]
        .dropna()
        for name in MEANS
    }
    for name in ("lrp", "attention"):
        gap = values[name] - values["prior"]
        half = stats.t.ppf(0.95, len(gap) - 1) * stats.sem(gap)
        assert scores[name].baseline == "prior" and scores[name].texts == 20
        bounds = (scores[name].above, scores[name].low, scores[name].high)
        assert bounds == pytest.approx((gap.mean(), gap.mean() - half, gap.mean() + half))
    assert np.isnan(scores["prior"].above)
    assert (
        "AUPRC of 0.29" in found.sentence and "difference from inverse frequency" in found.sentence
    )


def test_edits_are_kept_printed_and_shown() -> None:
    rows = table()
    verdict = judge(rows)
    assert repr(Verdict.from_json(verdict.to_json()).edits) == repr(verdict.edits)
    assert any(line.startswith("Edits: 75% of the revisions flip") for line in verdict.lines())
    values = json.loads(verdict.to_json())
    assert values["edits"]["texts"] == 20
    del values["edits"]  # of an earlier Heedful
    assert Verdict.from_values(values).edits.sentence == ""
    nothing = judge(rows_of(World(examples=40)))
    assert nothing.edits.scores == () and not any("Edits" in line for line in nothing.lines())
    page = audit_page({"verdict": verdict, "facts": {"model": "tiny"}, "rows": rows})
    assert "Do explanations mark what people changed?" in page
    assert "Do explanations mark" not in audit_page({"verdict": nothing, "facts": {"model": "t"}})
