"""The whole verdict: decisions, how often they are wrong, warnings, JSON, a recommendation."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.store import Store
from heedful.verdict import (
    Cell,
    Decision,
    Part,
    Ranked,
    Settings,
    Statement,
    Stratum,
    Verdict,
    choose,
    half_of,
    judge,
    load_verdict,
    overall,
    stored_verdict,
)
from heedful.verdict.recommendation import _preferred
from verdict_tables import World, costs, rows_of

QUICK = Settings(resamples=200, signed=("lrp", "gradient"))
SMALL = World(examples=120)
YES, NO, OPEN = Decision.SUPPORTED, Decision.NOT_SUPPORTED, Decision.INCONCLUSIVE


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    return judge(rows_of(World(truth=0.2)), costs(), {"name": "m"}, QUICK)


@pytest.mark.parametrize(
    ("world", "decision"),
    [
        (World(truth=0.9), YES),
        (World(truth=0.1), NO),
        (World(truth=0.9, agreement=0.1), NO),
        (World(truth=0.9, tvd=0.0, examples=500), NO),
        (World(truth=0.9, prior=1.0), NO),
        (World(truth=0.9, measures=0.02), YES),
        (World(truth=0.9, examples=8), OPEN),
    ],
)
def test_worlds_that_are_clear(world: World, decision: Decision) -> None:
    assert judge(rows_of(world), settings=QUICK).decision is decision


@pytest.mark.parametrize(
    ("world", "reason", "answer"),
    [
        (World(), "", "yes, show the attention of layer 2: it marks the words that matter"),
        (World(truth=0.1), "not faithful", "it does not mark the words that matter (importance"),
        (World(truth=0.1, tvd=0.0, examples=500), "not used", "the model hardly uses it"),
        (World(truth=0.1, tvd=0.02, examples=60), "either", "whether the model uses it is open"),
    ],
)
def test_the_answer_names_the_site_and_the_reason(world: World, reason: str, answer: str) -> None:
    found = judge(rows_of(world), facts={"site": "the attention of layer 2"}, settings=QUICK)
    assert found.reason == reason
    assert "the attention of layer 2" in found.headline and answer in found.headline
    assert found.answer == ("no" if reason else "yes")
    assert found.needed is None


def test_what_would_decide_is_in_the_headline() -> None:
    found = judge(rows_of(World(truth=0.69, examples=80, noise=0.2)), settings=QUICK)
    assert (found.decision, found.answer) == (OPEN, "cannot tell yet")
    assert found.needed is not None and found.needed > 80
    assert "examples would decide" in found.headline


SILENT = Decision.UNUSABLE


@pytest.mark.parametrize(
    ("use", "importance", "baseline", "agreement", "expected"),
    [
        (YES, YES, YES, YES, (YES, "")),
        (YES, YES, YES, SILENT, (YES, "")),
        (YES, SILENT, YES, YES, (OPEN, "")),
        (OPEN, YES, YES, YES, (OPEN, "")),
        (YES, YES, OPEN, YES, (OPEN, "")),
        (YES, YES, YES, OPEN, (OPEN, "")),
        (YES, NO, YES, YES, (NO, "not faithful")),
        (YES, YES, NO, OPEN, (NO, "not faithful")),
        (YES, OPEN, OPEN, NO, (NO, "not faithful")),
        (OPEN, NO, OPEN, OPEN, (NO, "either")),
        (NO, YES, YES, YES, (NO, "not used")),
        (NO, NO, OPEN, NO, (NO, "not used")),
        (Decision.NOT_MEASURED, YES, YES, YES, (OPEN, "")),
    ],
)
def test_the_rule(
    use: Decision,
    importance: Decision,
    baseline: Decision,
    agreement: Decision,
    expected: tuple[Decision, str],
) -> None:
    names = ("use", "importance", "baseline", "agreement")
    given_ = zip(names, (use, importance, baseline, agreement), strict=True)
    said = [Statement(name, decision, "") for name, decision in given_]
    for beside in Decision:
        others = [Statement(name, beside, "") for name in ("plausibility", "direction")]
        found = overall([*said, *others])
        assert (found.decision, found.reason) == expected


SIDES = st.tuples(*([st.sampled_from([YES, NO, OPEN])] * 4))


@given(SIDES, st.data())
def test_no_verdict_turns_into_another(sides: tuple[Decision, ...], data: st.DataObject) -> None:
    """More data closes what is open and leaves the rest: then the answer stays, or was open. Of
    the reasons only "either" gives way, to one of the two it stands for."""
    names = ("use", "importance", "baseline", "agreement")
    later = [data.draw(st.sampled_from([YES, NO])) if s is OPEN else s for s in sides]
    first, second = (
        overall([Statement(n, s, "") for n, s in zip(names, each, strict=True)])
        for each in (sides, later)
    )
    assert second.decision is not OPEN
    if first.decision is not OPEN:
        assert second.decision is first.decision
        assert second.reason == first.reason or first.reason == "either"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"use": (0.9, 300), "importance": (0.9, 500)}, 500),
        ({"use": (0.9, 300), "importance": (0.1, 500)}, 500),
        ({"use": (0.1, 300), "importance": (0.1, 500)}, 300),
        ({"use": (0.9, 300), "importance": (0.9, None)}, None),
        ({"use": (0.9, None), "importance": (0.1, 500)}, 500),
    ],
)
def test_how_many_examples_decide_the_whole(
    numbers: dict[str, tuple[float, int | None]], expected: int | None
) -> None:
    """A no needs one property that fails, a yes all that are open."""
    said = [
        Statement(name, OPEN, "", estimate=value, threshold=0.5, needed=count)
        for name, (value, count) in numbers.items()
    ]
    closed = [Statement(name, YES, "", 0.9, threshold=0.5) for name in ("baseline", "agreement")]
    assert overall([*said, *closed]).needed == expected


def test_wrong_decisions_are_rare_and_right_ones_are_not() -> None:
    """At the threshold a decision is wrong whichever it is; clear of it, it should come."""
    chosen = Settings(resamples=199, effects={"importance": 0.5})
    wrong = right = 0
    for seed in range(25):
        at = _what_decides(World(truth=0.5, examples=60, seed=seed, noise=0.2))
        clear = _what_decides(World(truth=0.25, examples=60, seed=seed, noise=0.2))
        wrong += judge(at, settings=chosen).decision is not OPEN
        right += judge(clear, settings=chosen).decision is NO
    assert wrong <= 3
    assert right >= 24


def _what_decides(world: World) -> pd.DataFrame:
    rows = rows_of(world)
    names = ("tvd", "tvd_permuted", "importance_captured")
    return rows[rows["measure"].isin(names) | rows["measure"].str.startswith("tau:")]


def test_the_score_is_monotone_in_the_truth() -> None:
    scores = [
        judge(rows_of(World(truth=t, examples=100)), settings=QUICK)["importance"].estimate
        for t in (0.0, 0.3, 0.6, 0.9)
    ]
    assert scores == sorted(scores)


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rows = rows_of(World(examples=50, per_cluster=2, truth=0.7))
    chosen = Settings(resamples=100, metrics=("comprehensiveness", "sufficiency"))
    mixed = rows.sample(frac=1, random_state=seed)
    first, second = (judge(each, costs(), settings=chosen).to_json() for each in (rows, mixed))
    assert first == second


def test_json_round_trip(verdict: Verdict) -> None:
    text = verdict.to_json()
    data = json.loads(text)
    assert data["schema_version"] == 2
    assert data["digest"] == QUICK.digest()
    again = Verdict.from_json(text)
    assert again.to_json() == text
    assert again["importance"].decision is verdict["importance"].decision
    assert again["importance"].parts == verdict["importance"].parts
    assert (again.direction, again.sites) == (verdict.direction, verdict.sites)
    assert math.isnan(again["stability"].estimate)


def test_a_kept_verdict_is_read_back_typed(verdict: Verdict, tmp_path: Path) -> None:
    """From a folder and from a store, with its statements, parts and settings."""
    (tmp_path / "verdict.json").write_text(verdict.to_json(), encoding="utf8")
    store = Store(tmp_path / "store")
    with store.writing("audit", {"version": 1}) as writer:
        writer.json("verdict", json.loads(verdict.to_json()))
    for again in (load_verdict(tmp_path), stored_verdict(store.open(store.keys()[0]))):
        assert json.loads(again.to_json()) == json.loads(verdict.to_json())
        statement = again["importance"]
        assert statement.decision is verdict["importance"].decision
        assert all(isinstance(part, Part) for part in statement.parts)
        assert all(isinstance(each, Stratum) for each in statement.by_class)
        assert all(isinstance(each, Ranked) for each in again.recommendation.ranked)
        assert again.asked.to_dict() == QUICK.to_dict()


def test_a_property_is_found_by_its_earlier_name(verdict: Verdict) -> None:
    """In a verdict that was stored under it, and where somebody asks for it."""
    early = Verdict.from_json(verdict.to_json().replace('"uniqueness"', '"exclusivity"'))
    assert "exclusivity" in verdict.to_json().replace('"uniqueness"', '"exclusivity"')
    assert early.to_json() == verdict.to_json()
    assert early["exclusivity"] is early["uniqueness"]


@pytest.mark.parametrize("content", ["{", "[]", '{"schema_version": 2}'])
def test_a_damaged_verdict_is_a_value_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(content, encoding="utf8")
    with pytest.raises(ValueError):
        load_verdict(tmp_path)


def test_bad_json_names_the_fix(verdict: Verdict) -> None:
    with pytest.raises(HeedfulError, match="verdict.json"):
        Verdict.from_json("no")
    with pytest.raises(HeedfulError, match="schema"):
        Verdict.from_json(verdict.to_json().replace('"schema_version": 2', '"schema_version": 1'))
    with pytest.raises(HeedfulError, match="damaged"):
        Verdict.from_json('{"schema_version": 2}')
    with pytest.raises(HeedfulError, match="choose one of"):
        verdict["beauty"]


def test_bad_tables_name_the_fix() -> None:
    rows = rows_of(SMALL)
    with pytest.raises(HeedfulError, match="lacks value"):
        judge(rows.drop(columns="value"))
    with pytest.raises(HeedfulError, match="base"):
        judge(rows.assign(model="randomised"))


def test_settings_are_hashed_and_checked() -> None:
    assert Settings().digest() == Settings(effects={"importance": 0.67}).digest()
    assert Settings().digest() != Settings(effects={"importance": 0.6}).digest()
    assert Settings().digest() != Settings(smallest_gap=0.03).digest()
    assert Settings().digest() == Settings(uses={"lime": ("mask",)}, signed=("lime",)).digest()
    for bad in (
        {"smallest_gap": -0.1},
        {"smallest_gap": math.nan},
        {"smallest_tau": -1.0},
        {"alpha": 0.7},
        {"effects": {"beauty": 1.0}},
        {"look": 2},
        {"resamples": 5},
    ):
        with pytest.raises(HeedfulError):
            Settings(**bad)


def test_the_threshold_decides() -> None:
    rows = rows_of(World(truth=0.8))
    strict = replace(QUICK, effects={"importance": 0.9, "agreement": 0.9})
    assert judge(rows, settings=QUICK).decision is YES
    assert judge(rows, settings=strict).decision is NO


def test_plausibility_never_changes_the_rest() -> None:
    rows = rows_of(World(truth=0.9, auprc=0.0))
    without = judge(rows[rows["measure"] != "auprc"], settings=QUICK)
    found = judge(rows, settings=QUICK)
    assert found["plausibility"].decision is NO
    for name in ("use", "importance", "baseline", "agreement", "direction"):
        assert found[name] == without[name]


def test_an_early_look_is_harder_to_convince() -> None:
    rows = rows_of(World(truth=0.63, examples=60, noise=0.2))
    chosen = Settings(resamples=999, effects={"importance": 0.5})
    last = judge(rows, settings=chosen)["importance"]
    early = judge(rows, settings=replace(chosen, look=1, looks=20))["importance"]
    assert (last.decision, early.decision) == (YES, OPEN)
    assert early.needed is not None


def test_too_few_resamples_for_an_alpha_decide_nothing() -> None:
    """A hundred draws say nothing about one case in ten thousand."""
    rows = rows_of(World(truth=0.9))
    found = judge(rows, settings=Settings(resamples=100, alpha=0.0004))["importance"]
    assert found.decision is OPEN and found.low == -math.inf
    assert judge(rows, settings=Settings(resamples=100))["importance"].decision is YES


def test_why_agreement_is_unusable_is_in_its_line() -> None:
    found = judge(rows_of(World(measures=0.02, truth=0.9, agreement=0.9)), settings=QUICK)
    line = next(line for line in found.lines() if line.startswith("agreement"))
    assert "UNUSABLE" in line and "do not agree with each other" in line


def test_inconclusive_says_how_many_would_decide() -> None:
    found = judge(rows_of(World(truth=0.68, examples=60)), settings=QUICK)["importance"]
    assert found.decision is OPEN
    assert found.needed is None or found.needed > 60


def test_each_question_has_a_recommendation(verdict: Verdict) -> None:
    """Attention takes part where words matter, and not where they speak for a class."""
    found = verdict.recommendation
    assert found.best == "lrp"
    assert found.tied == ("lrp",)
    assert found.sentence.startswith("the best we tried is lrp: 0.")
    assert f", attention {found.ranked[-1].position:.2f} (0 = random order" in found.sentence
    assert found.ranked[-1].position == pytest.approx(0.2, abs=0.05)
    assert found.sentence.endswith("31 ms per example; whether it clears the bar of 0.67 is open.")
    assert [each.explanation for each in found.ranked] == ["lrp", "gradient", "attention"]
    assert [each.explanation for each in verdict.direction.ranked] == ["lrp", "gradient"]


@pytest.mark.parametrize(
    ("best", "said", "clears"),
    [
        (0.3, "nothing we tried", False),
        (0.68, "the best we tried is lrp", False),
        (0.8, "show lrp", True),
    ],
)
def test_what_does_not_clear_the_bar_is_said(best: float, said: str, clears: bool) -> None:
    world = World(truth=0.1, others={"lrp": best, "gradient": 0.1}, examples=300)
    found = judge(rows_of(world), settings=QUICK).recommendation
    assert found.best == "lrp"
    assert found.sentence.startswith(said)
    assert found.clears == clears


def test_attention_is_kept_where_nothing_is_clearly_better_and_it_clears_the_bar() -> None:
    equal = judge(rows_of(World(truth=0.9, others={"lrp": 0.9})), costs(), settings=QUICK)
    assert equal.recommendation.best == "attention"
    assert "and nothing we tried is clearly better" in equal.recommendation.sentence
    better = judge(rows_of(World(truth=0.75, others={"lrp": 0.95})), costs(), settings=QUICK)
    assert better.recommendation.best == "lrp"
    far_ahead = World(truth=0.8, others={"lrp": 0.97, "gradient": 0.3}, noise=0.05, examples=400)
    assert judge(rows_of(far_ahead), costs(), settings=QUICK).recommendation.best == "lrp"
    both_poor = judge(rows_of(World(truth=0.4, others={"lrp": 0.4})), costs(), settings=QUICK)
    assert "clearly better" not in both_poor.recommendation.sentence


def test_what_ranks_best_is_not_told_to_be_shown_where_the_answer_is_not_yes() -> None:
    """Attention orders words well enough; the baseline is as good, so the answer is not yes."""
    for prior, answer, then in (
        (0.3, "yes", "show attention: 0."),
        (0.9, "cannot tell yet", "; whether to show it cannot be told yet."),
        (0.99, "no", "; it fails elsewhere, so do not show it."),
    ):
        world = World(truth=0.9, others={"lrp": 0.5}, prior=prior)
        found = judge(rows_of(world), settings=QUICK)
        assert found.answer == answer and found.recommendation.best == "attention"
        assert found.recommendation.clears and then in found.recommendation.sentence
        assert found.recommendation.sentence.startswith("show ") == (answer == "yes")


def sites_of(world: World, **places: float) -> pd.DataFrame:
    """Rows of other layers and heads, at these positions."""
    rows = rows_of(
        replace(world, others={name.replace("__", ":"): v for name, v in places.items()})
    )
    captured = (rows["measure"] == "importance_captured") | (rows["measure"] == "tvd")
    return rows[captured | rows["measure"].str.startswith("tau:")]


def test_another_site_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    rows = sites_of(World(truth=0.2), rollout=0.3)
    heads = rows[rows["explanation"] == "rollout"]
    parts = [rows]
    for head in range(12):
        noise = np.random.default_rng(head).normal(0, 0.02, len(heads))
        better = 0.2 if head == 7 else 0.0
        name = f"attention:layer=0,head={head}"
        parts.append(heads.assign(explanation=name, value=heads["value"] + noise + better))
    found = judge(pd.concat(parts), settings=QUICK)
    assert found.sites.tried == 14
    assert found.sites.ranked[0].name == "attention:layer=0,head=7"
    assert found.sites.explains is True and "layer=0,head=7" in found.sites.sentence
    assert found.sites.ranked[0].position == pytest.approx(0.8, abs=0.06)
    ranked = {each.explanation for each in found.recommendation.ranked}
    assert ranked == {"attention", "rollout"}  # heads are no contenders
    luck = heads["cluster"].map(half_of).eq(0)
    lucky = heads.assign(explanation="attention:layer=1", value=heads["value"] + 0.3 * luck)
    found = judge(pd.concat([rows, lucky]), settings=QUICK).sites
    assert found.ranked[0].name == "attention:layer=1"
    assert found.ranked[0].chosen_on > 0.9 > 0.5 > found.ranked[0].high
    assert found.explains is False


def test_without_other_sites_that_is_said(verdict: Verdict) -> None:
    assert verdict.sites.tried == 0 and "no other layer" in verdict.sites.sentence


def test_what_cannot_be_told_apart_is_recommended_with_its_price() -> None:
    world = World(truth=0.3, others={"lrp": 0.7, "gradient": 0.7}, noise=0.3, examples=100)
    found = judge(rows_of(world), costs(), settings=QUICK).recommendation
    assert set(found.tied) == {"lrp", "gradient"}
    if found.best == "lrp":
        assert any("gradient" in note and "5 ms" in note for note in found.notes)


def ranked_of(**numbers: tuple[float, bool, float]) -> list[Ranked]:
    """How far behind, whether tied, milliseconds."""
    return [
        Ranked(name, 0.5 - behind, 0.1, 0.9, behind, tied, price, measures=2)
        for name, (behind, tied, price) in numbers.items()
    ]


def test_of_those_that_cannot_be_told_apart_the_better_then_the_cheaper_is_preferred() -> None:
    """`kernel_shap` was chosen on the first half, and is far behind on the second."""
    shap = (0.0, True, 1164.0)
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(-0.35, True, 5.0))) == "lrp"
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(0.004, True, 5.0))) == "lrp"
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(0.02, True, 5.0))) == "kernel_shap"
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(0.35, False, 5.0))) == "kernel_shap"
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(-0.35, False, 5.0))) == "lrp"
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(0.0, True, math.nan))) == "kernel_shap"
    unknown = Ranked("prior", math.nan, math.nan, math.nan, math.nan, True)
    assert _preferred([*ranked_of(kernel_shap=shap), unknown]) == "kernel_shap"


def test_a_lucky_first_half_does_not_decide() -> None:
    """On the first half the dearer one is ahead by chance; all numbers are of the second."""
    rows = rows_of(World(truth=0.3, others={"lrp": 0.5, "gradient": 0.7}, noise=0.2, examples=60))
    lucky = (rows["explanation"] == "lrp") & rows["cluster"].map(half_of).eq(0)
    found = judge(
        rows.assign(value=rows["value"].mask(lucky, rows["value"] + 9.0)),
        costs(),
        settings=QUICK,
    ).recommendation
    assert found.best == "gradient" and found.ranked[0].explanation == "gradient"
    assert "gradient: 0.60" in found.sentence and "5 ms per example" in found.sentence
    assert found.sentence.startswith("the best we tried is gradient")
    note = found.notes[-1]
    assert note.startswith("lrp was ahead on the first half; on the second gradient is better, so")


def test_an_explanation_that_is_as_good_and_cheaper_is_said_to_be_so() -> None:
    """Both have the same numbers on the second half, where gradient costs a sixth of lrp."""
    rows = rows_of(World(truth=0.3, others={"lrp": 0.8}, noise=0.2, examples=60))
    same = rows[rows["explanation"] == "lrp"]
    second = same["cluster"].map(half_of).eq(1)
    cheaper = same.assign(
        explanation="gradient", value=same["value"].where(second, same["value"] - 0.1)
    )
    found = judge(pd.concat([rows, cheaper]), costs(), settings=QUICK).recommendation
    assert found.best == "gradient"
    note = "on the second gradient is as good and cheaper, so its number may be a little too good."
    assert any(text.endswith(note) for text in found.notes)


def test_nothing_above_the_floor_is_not_recommended() -> None:
    world = World(truth=-0.3, others={"lrp": -0.2}, examples=100)
    found = judge(rows_of(world), settings=QUICK).recommendation
    assert found.best == ""
    assert "nothing we tried" in found.sentence


MASKED = "mine"
FAIR = replace(QUICK, uses={MASKED: ("mask",), "occlusion": ("delete",)})
"""The name of an explanation does not say what made it."""


def test_an_explanation_made_by_an_operator_is_ranked_by_the_other() -> None:
    rows = rows_of(World(truth=0.3, others={MASKED: 0.6, "lrp": 0.5}))
    cheat = (rows["explanation"] == MASKED) & (rows["operator"] == "mask")
    cheated = rows.assign(value=rows["value"].mask(cheat, rows["value"] + 5.0))
    found = judge(cheated, settings=FAIR)
    ranked = {each.explanation: each.position for each in found.recommendation.ranked}
    assert ranked[MASKED] == pytest.approx(0.6, abs=0.06)


def easier_by_deleting(**others: float) -> pd.DataFrame:
    """Under `mask` every explanation comes 0.5 less far than under `delete`."""
    easy, hard = (
        rows_of(World(truth=0.3 + up, others={n: v + up for n, v in others.items()}))
        for up in (0.25, -0.25)
    )
    return pd.concat([easy[easy["operator"] != "mask"], hard[hard["operator"] == "mask"]])


def test_an_easy_operator_is_no_good_explanation() -> None:
    """What masking made is scored by deleting alone, where all do well: lrp does better there
    and is the best, though it does less well on average."""
    rows = easier_by_deleting(**{MASKED: 0.5, "lrp": 0.6})
    found = judge(rows, costs(), settings=FAIR).recommendation
    assert found.best == "lrp"
    by_name = {each.explanation: each for each in found.ranked}
    assert by_name[MASKED].position == pytest.approx(0.75, abs=0.05)
    assert by_name["lrp"].position == pytest.approx(0.6, abs=0.05)
    assert by_name[MASKED].behind == pytest.approx(0.1, abs=0.07)
    assert [each.explanation for each in found.ranked] == ["lrp", MASKED, "attention"]
    assert any(MASKED in note and "fewer measures" in note for note in found.notes)


def test_positions_side_by_side_are_of_the_same_measures() -> None:
    rows = easier_by_deleting(**{MASKED: 0.6, "lrp": 0.4})
    found = judge(rows, costs(), settings=FAIR).recommendation
    by_name = {each.explanation: each for each in found.ranked}
    assert found.best == MASKED
    assert by_name["attention"].position == pytest.approx(0.55, abs=0.05)  # by deleting alone
    assert f", attention {by_name['attention'].position:.2f} (0 = random" in found.sentence
    trial = replace(FAIR, on_trial="occlusion")
    rows = easier_by_deleting(occlusion=0.2, lrp=0.6)
    found = judge(rows, settings=trial).recommendation
    other = next(each for each in found.ranked if each.explanation == "occlusion")
    assert other.behind == pytest.approx(0.4, abs=0.05)
    assert f"{other.behind:.2f} ahead of occlusion on what scored both" in found.sentence


def test_what_shares_no_measure_is_not_compared() -> None:
    rows = rows_of(World(truth=0.1, others={MASKED: 0.8, "occlusion": 0.7}))
    found = judge(rows, costs(), settings=FAIR).recommendation
    other = found.ranked[-1]
    assert (found.best, other.explanation) == (MASKED, "occlusion")
    assert math.isnan(other.position) and math.isnan(other.behind) and other.tied
    assert any("occlusion: no measure scored both" in note for note in found.notes)
    assert "attention" not in found.tied


def test_the_best_is_beaten_by_none() -> None:
    values = {"a": 0.2, "b": 0.5, "c": 0.4}
    whole = {
        name: (Cell("m", "delete", ("", "", ""), ("x",), np.array([[v, 0.0, 1.0]]), 0),)
        for name, v in values.items()
    }
    assert choose(whole) == "b"
    alone = Cell("m", "mask", ("", "", ""), ("x",), np.array([[0.9, 0.0, 1.0]]), 0)
    assert choose({**whole, "d": (alone,)}) == "b"
    assert choose({"d": (alone,)}) == "d"


def test_halves_are_even_and_whole() -> None:
    sides = [half_of(f"c{i}") for i in range(1000)]
    assert 430 < sum(sides) < 570
    assert sides == [half_of(f"c{i}") for i in range(1000)]


def test_warnings_of_a_careful_colleague() -> None:
    rows = rows_of(SMALL)
    facts = {"special_mass": 0.93, "truncated": 0.7, "tie_rate": 0.4}
    text = " ".join(judge(rows, None, facts, QUICK).warnings)
    for part in ("special tokens", "truncated", "tie"):
        assert part in text
    assert judge(rows, settings=QUICK).warnings == ()
    tied = rows[rows["measure"] == "tvd_permuted"].assign(measure="tie_rate", value=0.3)
    measured = judge(pd.concat([rows, tied]), settings=QUICK)
    assert measured.facts["tie_rate"] == pytest.approx(0.3)
    assert any("tie" in text for text in measured.warnings)


def test_shifted_labels_and_majorities() -> None:
    rows = rows_of(World(examples=120, classes=3))
    shifted = rows.assign(label=(rows["label"] + 1) % 3)
    assert any("shifted" in text for text in judge(shifted, settings=QUICK).warnings)
    counts = rows.groupby("example")["label"].first().value_counts()
    for predicted, how in ((counts.idxmax(), "hardly above"), (counts.idxmin(), "below")):
        constant = judge(rows.assign(predicted=predicted), settings=QUICK)
        assert any(f"is {how} the majority class" in text for text in constant.warnings)
    assert any(
        "no labels" in text for text in judge(rows.assign(label=-1), settings=QUICK).warnings
    )


def test_lines_are_short_and_plain(verdict: Verdict) -> None:
    lines = verdict.lines()
    assert lines[0].startswith("NOT SUPPORTED: no, do not show attention")
    assert any(line.startswith("importance") and "against 0.67" in line for line in lines)
    assert any(line.startswith("Which class they speak for: show lrp") for line in lines)
    assert not any("nan" in line for line in lines)


def test_facts_always_shown(verdict: Verdict) -> None:
    assert verdict.facts["examples"] == 200
    assert 0 < verdict.facts["majority"] < verdict.facts["accuracy"] < 1
    assert verdict.facts["name"] == "m"
    assert verdict.caveats


def test_costs_may_be_missing() -> None:
    found = judge(rows_of(SMALL), pd.DataFrame(), settings=QUICK).recommendation
    assert "ms" not in found.sentence


def test_a_verdict_needs_no_torch() -> None:
    code = (
        "import sys; import heedful.verdict, heedful.verdict.files;sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_digest_does_not_know_when_it_was_looked() -> None:
    first = Settings(importance=("a", "b")).digest()
    assert Settings(importance=("b", "a"), look=2, looks=4).digest() == first
    assert Settings(alpha=0.01).digest() != first
