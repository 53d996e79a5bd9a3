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


def paired(examples: int = 40) -> pd.DataFrame:
    """Half of what words do is beyond single words; LRP names the pairs, attention does not."""
    rows = rows_of(World(examples=examples))
    one = rows[(rows["measure"] == "correct") & (rows["operator"] == "")]
    random, parts = np.random.default_rng(1), [rows]
    for operator, share in (("delete", 0.4), ("mask", 0.6)):
        noise = 0.02 * random.normal(size=len(one))
        known = {"operator": operator, "measure": "interaction_share", "explanation": ""}
        parts.append(one.assign(**known, value=share + noise))
        for name, mean in {"lrp": 0.5, "attention": -0.1}.items():
            known |= {"measure": "interaction_captured", "explanation": name}
            parts.append(one.assign(**known, value=mean + noise))
    return pd.concat(parts, ignore_index=True)


def test_interactions_are_means_over_perturbations_with_bounds() -> None:
    rows = paired()
    verdict = judge(rows)
    found = verdict.interactions
    by_text = rows[rows["measure"] == "interaction_share"].groupby("example")["value"].mean()
    half = stats.t.ppf(0.95, len(by_text) - 1) * stats.sem(by_text)
    mean = by_text.mean()
    assert (found.share, found.low, found.high) == pytest.approx((mean, mean - half, mean + half))
    assert [each.explanation for each in found.scores] == ["lrp", "attention"]
    assert found.scores[1].high < 0 < found.scores[0].low and found.texts == 40
    assert "single words miss 50% (50% to 50%) of what words do" in found.sentence
    assert "attention puts first capture -0.10" in found.sentence
    assert repr(Verdict.from_json(verdict.to_json()).interactions) == repr(found)
    assert any(line.startswith("Pairs: single words miss 50%") for line in verdict.lines())
    assert judge(rows_of(World(examples=40))).interactions.sentence == ""
    words = ["not", "<b>good</b>", "film"]
    documents = pd.DataFrame(
        {"example": ["e0000"], "words": [words], "text": [" ".join(words)], "text_b": ""}
    )
    page = audit_page(
        {
            "verdict": verdict,
            "facts": {"model": "tiny"},
            "rows": rows,
            "documents": documents,
            "maps": pd.DataFrame(
                {"example": ["e0000"], "explanation": "attention", "scores": [[0.2, 0.3, 0.5]]}
            ),
            "shown": pd.DataFrame(
                [("e0000", "pairs", "delete", [0.0, 1.0, -0.5, 0.0, 2.0, -0.0001])],
                columns=["example", "kind", "name", "scores"],
            ),
        }
    )
    assert "What do pairs of words do?" in page
    assert "<bdi>not</bdi> + <bdi>&lt;b&gt;good&lt;/b&gt;</bdi>" in page
