"""The whole verdict: decisions, how often they are wrong, warnings, JSON, a recommendation."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.errors import HeedfulError
from heedful.verdict import Decision, Settings, Statement, Verdict, judge
from heedful.verdict.cell import Cell
from heedful.verdict.contenders import half_of
from heedful.verdict.leads import choose
from heedful.verdict.overall import overall
from heedful.verdict.recommend import Ranked, _preferred
from verdict_tables import World, costs, rows_of

QUICK = Settings(resamples=200)
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
        (World(truth=0.05, drop=0.0, tvd=0.0, examples=500), Decision.NOT_NEEDED),
        (World(truth=0.9, examples=8), OPEN),
    ],
)
def test_worlds_that_are_clear(world: World, decision: Decision) -> None:
    assert judge(rows_of(world), settings=QUICK).decision is decision


def test_where_attention_is_not_needed_the_rest_says_so() -> None:
    found = judge(rows_of(World(truth=0.9, drop=0.0, examples=500)), settings=QUICK)
    assert found.decision is Decision.NOT_NEEDED
    assert any("not needed" in note for note in found["ranking"].notes)
    assert not any("not needed" in note for note in found["plausibility"].notes)


@pytest.mark.parametrize(
    ("necessity", "agreement", "ranking", "sensitivity", "expected"),
    [
        (YES, YES, YES, YES, YES),
        (OPEN, YES, YES, YES, YES),
        (YES, YES, YES, OPEN, YES),
        (YES, YES, YES, NO, OPEN),
        (YES, YES, OPEN, YES, OPEN),
        (YES, YES, Decision.UNUSABLE, YES, OPEN),
        (YES, NO, YES, YES, NO),
        (YES, OPEN, NO, YES, NO),
        (NO, YES, YES, YES, Decision.NOT_NEEDED),
        (OPEN, YES, YES, OPEN, OPEN),
    ],
)
def test_the_rule(
    necessity: Decision,
    agreement: Decision,
    ranking: Decision,
    sensitivity: Decision,
    expected: Decision,
) -> None:
    names = ("necessity", "agreement", "ranking", "sensitivity")
    given_ = zip(names, (necessity, agreement, ranking, sensitivity), strict=True)
    said = [Statement(name, decision, "") for name, decision in given_]
    for plausible in Decision:
        assert overall([*said, Statement("plausibility", plausible, "")]) is expected


def test_wrong_decisions_are_rare_and_right_ones_are_not() -> None:
    """At the threshold a decision is wrong whichever it is; clear of it, it should come."""
    chosen = Settings(resamples=199, metrics=("comprehensiveness",))
    wrong = right = 0
    for seed in range(25):
        at = _two_measures(World(truth=0.5, examples=60, seed=seed, noise=0.2))
        clear = _two_measures(World(truth=0.25, examples=60, seed=seed, noise=0.2))
        wrong += judge(at, settings=chosen).decision is not OPEN
        right += judge(clear, settings=chosen).decision is NO
    assert wrong <= 3
    assert right >= 24


def _two_measures(world: World) -> pd.DataFrame:
    rows = rows_of(world)
    tau = rows["measure"].str.startswith("tau:")
    needed = rows["explanation"].isin(["attention", "prior", "search"])
    return rows[tau | (needed & (rows["measure"] == "comprehensiveness"))]


def test_the_score_is_monotone_in_the_truth() -> None:
    scores = [
        judge(rows_of(World(truth=t, examples=100)), settings=QUICK)["ranking"].estimate
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
    assert data["schema_version"] == 1
    assert data["digest"] == QUICK.digest()
    again = Verdict.from_json(text)
    assert again.to_json() == text
    assert again["ranking"].decision is verdict["ranking"].decision
    assert again["ranking"].parts == verdict["ranking"].parts
    assert math.isnan(again["stability"].estimate)


def test_bad_json_names_the_fix(verdict: Verdict) -> None:
    with pytest.raises(HeedfulError, match="verdict.json"):
        Verdict.from_json("no")
    with pytest.raises(HeedfulError, match="schema"):
        Verdict.from_json(verdict.to_json().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(HeedfulError, match="damaged"):
        Verdict.from_json('{"schema_version": 1}')
    with pytest.raises(HeedfulError, match="choose one of"):
        verdict["beauty"]


def test_bad_tables_name_the_fix() -> None:
    rows = rows_of(SMALL)
    with pytest.raises(HeedfulError, match="lacks value"):
        judge(rows.drop(columns="value"))
    with pytest.raises(HeedfulError, match="base"):
        judge(rows.assign(model="randomised"))


def test_settings_are_hashed_and_checked() -> None:
    assert Settings().digest() == Settings(effects={"ranking": 0.5}).digest()
    assert Settings().digest() != Settings(effects={"ranking": 0.6}).digest()
    assert Settings().digest() != Settings(smallest_gap=0.03).digest()
    for bad in (
        {"smallest_gap": -0.1},
        {"smallest_gap": math.nan},
        {"alpha": 0.7},
        {"effects": {"beauty": 1.0}},
        {"look": 2},
        {"resamples": 5},
    ):
        with pytest.raises(HeedfulError):
            Settings(**bad)


def test_the_threshold_decides() -> None:
    rows = rows_of(World(truth=0.7))
    strict = replace(QUICK, effects={"ranking": 0.85, "agreement": 0.85})
    assert judge(rows, settings=QUICK).decision is YES
    assert judge(rows, settings=strict).decision is NO


def test_plausibility_never_changes_the_rest() -> None:
    rows = rows_of(World(truth=0.9, auprc=0.0))
    without = judge(rows[rows["measure"] != "auprc"], settings=QUICK)
    found = judge(rows, settings=QUICK)
    assert found["plausibility"].decision is NO
    for name in ("necessity", "agreement", "sensitivity", "ranking"):
        assert found[name] == without[name]


def test_an_early_look_is_harder_to_convince() -> None:
    rows = rows_of(World(truth=0.58, examples=60, noise=0.2))
    chosen = Settings(resamples=999)
    last = judge(rows, settings=chosen)["ranking"]
    early = judge(rows, settings=replace(chosen, look=1, looks=20))["ranking"]
    assert (last.decision, early.decision) == (YES, OPEN)
    assert early.needed is not None


def test_inconclusive_says_how_many_would_decide() -> None:
    found = judge(rows_of(World(truth=0.52, examples=60)), settings=QUICK)["ranking"]
    assert found.decision is OPEN
    assert found.needed is None or found.needed > 60


def test_the_recommendation(verdict: Verdict) -> None:
    found = verdict.recommendation
    assert found.best == "lrp"
    assert found.tied == ("lrp",)
    assert found.sentence.startswith("show lrp: 0.")
    assert "for attention" in found.sentence
    assert found.ranked[-1].position == pytest.approx(0.2, abs=0.05)
    assert found.sentence.endswith("31 ms per text.")
    assert [each.explanation for each in found.ranked] == ["lrp", "gradient", "attention"]


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
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(-0.35, False, 5.0))) == "kernel_shap"
    assert _preferred(ranked_of(kernel_shap=shap, lrp=(0.0, True, math.nan))) == "kernel_shap"
    unknown = Ranked("prior", math.nan, math.nan, math.nan, math.nan, True)
    assert _preferred([*ranked_of(kernel_shap=shap), unknown]) == "kernel_shap"


def test_a_lucky_first_half_does_not_decide() -> None:
    """On the first half the dearer one is ahead by chance; all numbers are of the second."""
    rows = rows_of(World(truth=0.3, others={"lrp": 0.5, "gradient": 0.7}, noise=0.6, examples=60))
    lucky = (rows["explanation"] == "lrp") & rows["cluster"].map(half_of).eq(0)
    better = rows["measure"].isin(["comprehensiveness"]).map({True: 9.0, False: -9.0})
    found = judge(
        rows.assign(value=rows["value"].mask(lucky, rows["value"] + better)),
        costs(),
        settings=QUICK,
    ).recommendation
    assert found.best == "gradient" and found.ranked[0].explanation == "gradient"
    assert found.sentence.endswith("5 ms per text.")
    assert any("lrp was ahead on the first half" in note for note in found.notes)


def test_nothing_above_the_floor_is_not_recommended() -> None:
    world = World(truth=-0.3, others={"lrp": -0.2}, examples=100)
    found = judge(rows_of(world), settings=QUICK).recommendation
    assert found.best == ""
    assert "clearly better" in found.sentence


def test_an_explanation_made_by_an_operator_is_ranked_by_the_other() -> None:
    rows = rows_of(World(truth=0.3, others={"occlusion:operator=mask": 0.6, "lrp": 0.5}))
    cheat = (rows["explanation"] == "occlusion:operator=mask") & (rows["operator"] == "mask")
    better = rows["value"] + np.where(rows["measure"].isin(["comprehensiveness"]), 5.0, 0.0)
    found = judge(rows.assign(value=rows["value"].mask(cheat, better)), settings=QUICK)
    ranked = {each.explanation: each.position for each in found.recommendation.ranked}
    assert ranked["occlusion:operator=mask"] == pytest.approx(0.6, abs=0.06)


MASKED = "occlusion:operator=mask"


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
    found = judge(rows, costs(), settings=QUICK).recommendation
    assert found.best == "lrp"
    by_name = {each.explanation: each for each in found.ranked}
    assert by_name[MASKED].position == pytest.approx(0.75, abs=0.05)
    assert by_name["lrp"].position == pytest.approx(0.6, abs=0.05)
    assert by_name[MASKED].behind == pytest.approx(0.1, abs=0.05)
    assert [each.explanation for each in found.ranked] == ["lrp", MASKED, "attention"]
    assert any(MASKED in note and "fewer measures" in note for note in found.notes)


def test_positions_side_by_side_are_of_the_same_measures() -> None:
    rows = easier_by_deleting(**{MASKED: 0.6, "lrp": 0.4})
    found = judge(rows, costs(), settings=QUICK).recommendation
    by_name = {each.explanation: each for each in found.ranked}
    assert found.best == MASKED
    assert by_name["attention"].position == pytest.approx(0.55, abs=0.05)  # by deleting alone
    assert f"against {by_name['attention'].position:.2f} for attention" in found.sentence
    trial = replace(QUICK, on_trial="occlusion")
    rows = easier_by_deleting(occlusion=0.2, lrp=0.6)
    found = judge(rows, settings=trial).recommendation
    other = next(each for each in found.ranked if each.explanation == "occlusion")
    assert other.behind == pytest.approx(0.4, abs=0.05)
    assert f"{other.behind:.2f} ahead of occlusion on what scored both" in found.sentence


def test_what_shares_no_measure_is_not_compared() -> None:
    rows = rows_of(World(truth=0.1, others={MASKED: 0.8, "occlusion": 0.7}))
    found = judge(rows, costs(), settings=QUICK).recommendation
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
    constant = rows.assign(predicted=0)
    assert any("majority" in text for text in judge(constant, settings=QUICK).warnings)
    assert any(
        "no labels" in text for text in judge(rows.assign(label=-1), settings=QUICK).warnings
    )


def test_lines_are_short_and_plain(verdict: Verdict) -> None:
    lines = verdict.lines()
    assert lines[0].startswith("NOT SUPPORTED: attention does not explain")
    assert any(line.startswith("ranking") and "against 0.50" in line for line in lines)
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
        "import sys; import heedful.verdict, heedful.verdict.check, heedful.verdict.card;"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("explanation", "operator"),
    [
        ("occlusion", "delete"),
        ("occlusion:operator=mask", "mask"),
        ("occlusion:magnitude=True", "delete"),
        ("occlusion:operator=mask,magnitude=True", "mask"),
        ("lime", "mask"),
        ("kernel_shap:samples=20,operator=delete", "delete"),
        ("attention", ""),
    ],
)
def test_who_made_an_explanation(explanation: str, operator: str) -> None:
    assert Settings().maker(explanation) == operator


def test_the_digest_does_not_know_when_it_was_looked() -> None:
    first = Settings(importance=("a", "b")).digest()
    assert Settings(importance=("b", "a"), look=2, looks=4).digest() == first
    assert Settings(alpha=0.01).digest() != first
