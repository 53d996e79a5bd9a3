"""Properties on tables whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from heedful.verdict import (
    EFFECTS,
    PROPERTIES,
    QUESTIONS,
    REQUIRED,
    Cell,
    Decision,
    Settings,
    Statement,
    compare,
    decide,
    drop_reason,
    horizon_times,
    judge,
    never_flipped,
    tabulate_blocks,
)
from verdict_tables import World, rows_of

QUICK = Settings(resamples=200, signed=("attention",))
SMALL = World(examples=120)


def statements(rows: pd.DataFrame, chosen: Settings = QUICK) -> dict[str, Statement]:
    table = tabulate_blocks([rows])
    settled = decide([each.evaluate(table, chosen) for each in PROPERTIES.values()], chosen)
    return {each.property: each for each in settled}


def where(rows: pd.DataFrame, change: Callable[[float], float], **columns: str) -> pd.DataFrame:
    """Change values where columns have these contents."""
    hit = np.logical_and.reduce([rows[name] == text for name, text in columns.items()])
    return rows.assign(value=rows["value"].where(~hit, rows["value"].map(change)))


def test_each_property_finds_its_truth() -> None:
    found = statements(rows_of(World(truth=0.8, examples=300)))
    truth = {"use": 0.2, "agreement": 0.8, "importance": 0.8, "direction": 0.8}
    for name, value in {**truth, "baseline": 0.5 * 0.4, "plausibility": 0.2}.items():
        assert found[name].estimate == pytest.approx(value, abs=0.05)
        assert found[name].low < found[name].estimate < found[name].high
        assert found[name].decision is Decision.SUPPORTED
        assert found[name].health == "usable"


def test_every_property_declares_how_it_is_decided_and_shown() -> None:
    assert len({each.order for each in PROPERTIES.values()}) == len(PROPERTIES)
    for name, each in PROPERTIES.items():
        assert each.name == name and each.question.endswith("?") and each.unit
        if each.required:
            assert each.smallest_effect is not None and (each.failure or name == "use")
    assert set(REQUIRED) <= set(EFFECTS) <= set(QUESTIONS) == set(PROPERTIES)


def test_position_from_a_table_by_hand() -> None:
    """Random order 0.2, best order 0.6, attention 0.5: three quarters of the way."""
    rows = rows_of(replace(SMALL, noise=0.0))
    by_hand = {"random": 0.2, "prior": 0.3, "search": 0.6, "attention": 0.5}
    for name, value in by_hand.items():
        rows = where(rows, lambda _, v=value: v, measure="comprehensiveness", explanation=name)
    chosen = replace(QUICK, metrics=("comprehensiveness",))
    found = statements(rows, chosen)["direction"]
    assert found.estimate == pytest.approx(0.75)
    assert (found.floor, found.ceiling) == pytest.approx((0.2, 0.6))
    assert found.parts[0].floor_name == "random"
    assert found.share_failing == 0.0


def test_less_is_better_where_it_is() -> None:
    rows = rows_of(SMALL)
    found = statements(rows, replace(QUICK, metrics=("sufficiency", "deletion_auc")))["direction"]
    assert found.estimate == pytest.approx(0.9, abs=0.05)
    assert {part.floor_name for part in found.parts} == {"random"}


@pytest.mark.parametrize("name", ["importance", "direction"])
def test_operators_are_averaged_and_their_disagreement_is_a_warning(name: str) -> None:
    """The mean is what decides, in a sample as in the population: no answer may hang on which
    side of the threshold each half of a small sample happens to be."""
    rows = rows_of(SMALL)
    low = rows_of(World(truth=0.1, examples=120))
    mixed = pd.concat([rows[rows["operator"] != "mask"], low[low["operator"] == "mask"]])
    found = statements(mixed)[name]
    assert found.estimate == pytest.approx(0.5, abs=0.05)
    assert found.numbers["delete"] > 0.5 > found.numbers["mask"]
    assert any("disagree: delete above" in text for text in found.warnings)
    assert not any("disagree" in text for text in statements(rows)[name].warnings)


@pytest.mark.parametrize(("mask", "agree"), [(0.5, True), (0.5 - 2**-20, False)])
def test_an_operator_at_the_threshold_itself_is_not_below_it(mask: float, agree: bool) -> None:
    """By numbers that a computer has exactly: half of the way is what is asked for."""
    rows = rows_of(replace(SMALL, noise=0.0))
    named = {"random": 0.0, "prior": 0.0, "search": 1.0, "attention": 0.75}
    for name, value in named.items():
        rows = where(rows, lambda _, v=value: v, measure="comprehensiveness", explanation=name)
    hit = {"measure": "comprehensiveness", "explanation": "attention", "operator": "mask"}
    rows = where(rows, lambda _: mask, **hit)
    found = statements(rows, replace(QUICK, metrics=("comprehensiveness",)))["direction"]
    assert (found.numbers["delete"], found.numbers["mask"]) == (0.75, mask)
    assert any("disagree" in text for text in found.warnings) != agree


@pytest.mark.parametrize("name", ["importance", "baseline", "direction"])
def test_one_operator_is_not_enough(name: str) -> None:
    rows = rows_of(SMALL)
    found = statements(rows[rows["operator"] != "mask"])[name]
    assert found.decision is Decision.INCONCLUSIVE
    assert "at least 2 removal operators" in found.blocked


@pytest.mark.parametrize("property_", ["importance", "baseline", "direction"])
def test_never_scored_by_the_operator_that_made_it(property_: str) -> None:
    rows, name = rows_of(SMALL), "occlusion:operator=mask"
    rows["explanation"] = rows["explanation"].replace("attention", name)
    made = replace(QUICK, on_trial=name, signed=(name,), uses={name: ("mask",)})
    found = statements(rows, made)[property_]
    assert {part.operator for part in found.parts} == {"delete"}
    assert found.decision is Decision.INCONCLUSIVE


def test_no_gap_is_unusable() -> None:
    rows = rows_of(SMALL)
    search = rows["explanation"] == "search"
    floor = rows[rows["explanation"] == "random"].assign(explanation="search")
    for name in ("importance", "direction"):
        found = statements(pd.concat([rows[~search], floor]))[name]
        assert found.decision is Decision.UNUSABLE
        assert "cannot be told apart" in found.health


def nearly_constant(rows: pd.DataFrame) -> pd.DataFrame:
    """Erasing words does next to nothing, and the search still finds the best of it."""
    erasure = rows["operator"].isin(["delete", "mask"])
    return rows.assign(value=rows["value"].where(~erasure, 1e-3 * rows["value"]))


def test_a_gap_that_nobody_sees_is_no_gap() -> None:
    """The ceiling is the best of many orders, so it is above the floor whatever is measured."""
    rows = nearly_constant(rows_of(SMALL))
    found = statements(rows)["direction"]
    assert found.decision is Decision.UNUSABLE
    assert "by more than 0.02" in found.health
    assert statements(rows, replace(QUICK, smallest_gap=0.0))["direction"].decided
    wide = replace(QUICK, smallest_gap=0.45, metrics=("comprehensiveness", "insertion_auc"))
    parts = statements(rows_of(SMALL), wide)["direction"].parts
    assert {part.measure for part in parts if part.usable} == {"comprehensiveness"}


@pytest.mark.parametrize(
    ("tau", "position", "decision"),
    [
        (0.04, 1.0, Decision.UNUSABLE),
        (0.1, 0.5, Decision.INCONCLUSIVE),
        (0.1, 3.0, Decision.SUPPORTED),
        (0.3, 1.0, Decision.SUPPORTED),
    ],
)
def test_measures_that_do_not_agree_cannot_be_agreed_with(
    tau: float, position: float, decision: Decision
) -> None:
    """Clearly less than 0.1 tau among themselves: not asked. Unclear: open, unless attention is
    near enough to them however well they agree."""
    found = statements(rows_of(World(measures=tau, agreement=position, truth=1.0)))["agreement"]
    assert found.decision is decision
    if decision is not Decision.SUPPORTED:
        assert "agree with each other" in found.blocked and found.blocked in found.notes
    assert any("even if they hardly agree" in note for note in found.notes) == (position == 3.0)


def test_unclear_agreement_says_how_many_examples_would_decide() -> None:
    """How many would tell whether the measures agree, and, where that is open too, whether
    attention agrees with them."""
    unclear = statements(rows_of(World(measures=0.1005, agreement=0.5, truth=1.0)))["agreement"]
    assert unclear.decision is Decision.INCONCLUSIVE
    assert unclear.needed is not None and unclear.needed > 200
    assert any("would decide" in note for note in unclear.notes)


def test_whether_measures_agree_is_as_open_as_seeds_are_few() -> None:
    """The mean over three trainings is clear by examples alone, and not by three trainings."""
    taus = (0.02, 0.2, 0.5)
    seeds = [rows_of(World(measures=tau, truth=1.0), f"seed={i}") for i, tau in enumerate(taus)]
    found = statements(pd.concat(seeds))["agreement"]
    assert found.decision is Decision.INCONCLUSIVE and "not clear yet" in found.blocked
    one = statements(rows_of(World(measures=sum(taus) / 3, truth=1.0)))["agreement"]
    assert one.decision is Decision.SUPPORTED


def test_a_measure_blind_to_the_weights_is_unusable() -> None:
    rows = rows_of(SMALL)
    same = rows.assign(model="randomised")
    found = statements(pd.concat([rows, same]))
    assert found["direction"].decision is Decision.UNUSABLE
    assert "randomised" in found["direction"].blocked


@pytest.mark.parametrize(("times", "blind"), [(0.98, True), (1.02, False)])
def test_the_drop_is_a_difference_of_means_over_clusters(times: float, blind: bool) -> None:
    """By hand, at the bound: the variances of both means where no text is in both."""
    draw = np.random.default_rng(0)
    base, random = draw.normal(0, 1, 60), draw.normal(0, 1, 20)
    error = math.sqrt(base.var() / 60 + random.var() / 20) * math.sqrt(80 / 79 * 20 / 19)
    drop = times * float(stats.t.ppf(0.95, 19)) * error
    base, random = base - base.mean() + drop, random - random.mean()
    cells = [
        Cell("", "", ("a", "b"), names, np.stack([values, 0 * values], 1), 0)
        for values, names in (
            (base, tuple(f"b{i}" for i in range(60))),
            (random, tuple(f"r{i}" for i in range(20))),
        )
    ]
    clusters = {name: name for each in cells for name in each.examples}
    assert bool(drop_reason(cells[0], cells[1], (0, 1), clusters, 0.05)) == blind


def test_paired_texts_are_paired_in_the_drop() -> None:
    """The same hard texts are hard for both: what they share is no doubt."""
    shared = np.random.default_rng(0).normal(0, 5, 40)
    names = tuple(f"t{i}" for i in range(40))
    cells = [
        Cell("", "", ("a", "b"), names, np.stack([shared + up, 0 * shared], 1), 0)
        for up in (0.01, 0.0)
    ]
    assert not drop_reason(cells[0], cells[1], (0, 1), {n: n for n in names}, 0.05)


def test_a_measure_that_drops_is_usable() -> None:
    rows = rows_of(SMALL)
    random = rows_of(World(truth=0, drop=0, tvd=0, auprc=0, examples=120), "randomised")
    floors = random.groupby(["example", "operator", "measure"])["value"].transform("mean")
    found = statements(pd.concat([rows, random.assign(value=floors)]))
    assert found["direction"].decision is Decision.SUPPORTED


def test_words_matter_to_a_randomised_model_too() -> None:
    """Which words matter is a question about any model: it has no randomisation check."""
    rows = rows_of(SMALL)
    found = statements(pd.concat([rows, rows.assign(model="randomised")]))
    for name in ("use", "importance", "baseline", "agreement", "plausibility"):
        assert found[name].decision is Decision.SUPPORTED


def test_few_examples_are_always_inconclusive() -> None:
    found = statements(rows_of(World(examples=9)))
    for each in found.values():
        assert each.decision in (Decision.INCONCLUSIVE, Decision.NOT_MEASURED)
    assert "too few examples" in found["importance"].blocked
    assert "too few examples" in found["direction"].blocked


def test_clusters_not_examples_are_counted() -> None:
    found = statements(rows_of(World(examples=90, per_cluster=10)))["direction"]
    assert (found.n, found.clusters) == (90, 9)
    assert found.decision is Decision.INCONCLUSIVE


def test_nothing_measured_is_said() -> None:
    rows = rows_of(SMALL)
    found = statements(rows[rows["measure"] == "tvd"])
    assert found["use"].decision is Decision.SUPPORTED
    others = [each for name, each in found.items() if name != "use"]
    assert all(each.decision is Decision.NOT_MEASURED for each in others)


def test_a_gap_must_be_there_at_every_checkpoint() -> None:
    """A ratio by a gap that is none at one seed would be anything."""
    first, second = rows_of(World()), rows_of(World(), "seed=1")
    flat = (second["measure"] == "importance_captured") & (second["operator"] == "mask")
    parts = statements(pd.concat([first, second.assign(value=second["value"].mask(flat, 0.0))]))
    reasons = {part.operator: part.reason for part in parts["importance"].parts}
    assert "at every checkpoint" in reasons["mask"]
    whole = statements(pd.concat([first, second]))["importance"].parts
    assert all(part.usable for part in whole)


def test_agreement_needs_two_importance_measures() -> None:
    rows = rows_of(SMALL)
    one = rows[rows["measure"] != "tau:occlusion"]
    assert statements(one)["agreement"].decision is Decision.NOT_MEASURED
    named = replace(QUICK, importance=("occlusion", "integrated_gradients"))
    found = statements(one, named)["agreement"]
    assert "at least 2 importance measures" in found.blocked
    assert found.decision is Decision.INCONCLUSIVE


def test_undefined_values_are_counted_and_left_out() -> None:
    rows = rows_of(SMALL)
    gone = rows["example"].isin(["e0000", "e0001"]) & rows["measure"].str.startswith("tau:")
    some = statements(rows.assign(value=rows["value"].mask(gone)))["agreement"]
    without = statements(rows[~rows["example"].isin(["e0000", "e0001"])])["agreement"]
    assert some.estimate == pytest.approx(without.estimate)
    assert (some.undefined, some.n) == (4, 118)
    nothing = statements(rows.assign(value=math.nan))
    assert all(not each.decided for each in nothing.values())


def test_classes_that_disagree_are_a_warning() -> None:
    high, low = rows_of(SMALL), rows_of(World(truth=0.1, examples=120))
    mixed = pd.concat([high[high["predicted"] == 0], low[low["predicted"] == 1]])
    found = statements(mixed)["direction"]
    assert [each.group for each in found.by_class] == ["class=0", "class=1"]
    assert any("classes disagree" in text for text in found.warnings)
    assert found.macro == pytest.approx(0.5, abs=0.05)
    assert found.share_failing == pytest.approx(0.5, abs=0.05)
    named = judge(mixed, facts={"classes": ["bad", "good"]}, settings=QUICK).warnings
    assert "direction: predicted classes disagree: 'bad' above, 'good' below." in named
    unnamed = judge(mixed, facts={"classes": ["bad"]}, settings=QUICK).warnings
    assert "direction: predicted classes disagree: 'bad' above, class=1 below." in unnamed


def test_use_is_the_mean_of_two_changes_and_accuracy_stands_beside() -> None:
    rows = rows_of(World(drop=0.3, tvd=0.2, examples=300))
    once = rows[rows["measure"] != "tvd_permuted"]
    halved = where(once, lambda value: value / 2, measure="tvd", operator="uniform")
    found = statements(halved)["use"]
    assert found.numbers["uniform"] == pytest.approx(0.1, abs=0.01)
    assert found.numbers["permute"] == pytest.approx(0.2, abs=0.01)
    assert found.estimate == pytest.approx(0.15, abs=0.01)
    assert found.numbers["accuracy lost (uniform)"] == pytest.approx(0.3, abs=0.06)
    unlabelled = rows[rows["measure"] != "correct"]
    assert statements(unlabelled)["use"].decision is Decision.SUPPORTED


def test_the_median_over_permutations_is_preferred_to_one_of_them() -> None:
    rows = where(rows_of(SMALL), lambda _: 0.5, measure="tvd_permuted")
    assert statements(rows)["use"].numbers["permute"] == pytest.approx(0.5)


def test_importance_is_read_from_a_random_order() -> None:
    """Captured 0 is random whatever a drawn order reached; 0.6 of 0.8 is three quarters."""
    rows = rows_of(replace(SMALL, noise=0.0))
    for name, value in {"random": 0.2, "prior": 0.4, "search": 0.8, "attention": 0.6}.items():
        hit = {"measure": "importance_captured", "explanation": name}
        rows = where(rows, lambda _, v=value: v, **hit)
    found = statements(rows)
    assert found["importance"].estimate == pytest.approx(0.75)
    assert (found["importance"].floor, found["importance"].ceiling) == pytest.approx((0.0, 0.8))
    assert found["baseline"].estimate == pytest.approx(0.2)
    assert found["baseline"].parts[0].floor_name == "prior"


def test_the_better_model_free_baseline_is_the_one_to_beat() -> None:
    rows = rows_of(SMALL)
    better = rows[rows["explanation"] == "prior"].assign(explanation="position")
    captured = better["measure"] == "importance_captured"
    better = better.assign(value=better["value"] + 0.4 * captured)
    found = statements(pd.concat([rows, better]))["baseline"]
    assert {part.floor_name for part in found.parts} == {"position"}
    assert found.decision is Decision.NOT_SUPPORTED
    assert any("position" in note for note in found.notes)


def test_attention_does_not_answer_which_class_words_speak_for() -> None:
    found = statements(rows_of(SMALL), replace(QUICK, signed=("lrp",)))["direction"]
    assert found.decision is Decision.NOT_ANSWERED
    assert "no sign" in found.blocked and math.isnan(found.estimate)


def test_bounds_of_what_decides_hold_together() -> None:
    """Each of the four at a quarter of alpha, however many were measured."""
    rows = rows_of(SMALL)
    alone = statements(rows[rows["measure"].str.startswith("tvd")])["use"]
    together = statements(rows)["use"]
    wide = statements(rows, replace(QUICK, alpha=0.05 / 4))["use"]
    assert (alone.low, alone.high) == (together.low, together.high)
    assert wide.low < together.low


def test_quarters_hold_all_examples() -> None:
    found = statements(rows_of(SMALL))["direction"]
    for table in (found.by_length, found.by_confidence, found.by_class):
        assert sum(each.n for each in table) == 120
    assert len(found.by_confidence) == 4


def test_seeds_widen_and_are_said() -> None:
    worlds = [World(truth=truth, examples=120, seed=i) for i, truth in enumerate((0.7, 0.9, 0.8))]
    seeds = [rows_of(world, f"seed={i}") for i, world in enumerate(worlds)]
    one = statements(seeds[0].assign(model="base"))["direction"]
    many = statements(pd.concat(seeds))["direction"]
    assert many.checkpoints == 3
    assert many.seed_error == pytest.approx(0.1 / math.sqrt(3), rel=0.2)
    assert many.high - many.low > one.high - one.low
    assert any("conditional on this checkpoint" in note for note in one.notes)


def test_a_model_trained_without_attention_is_shown_beside() -> None:
    rows = rows_of(SMALL)
    whole = rows[(rows["measure"] == "correct") & (rows["operator"] == "")]
    found = statements(pd.concat([rows, whole.assign(operator="uniform_trained")]))["use"]
    assert found.decision is Decision.SUPPORTED
    assert found.numbers["uniform_trained"] == 0.0
    assert any("about as well" in text for text in found.warnings)


def test_uniqueness_and_stability_are_reported() -> None:
    rows = rows_of(SMALL)
    base = rows[(rows["measure"] == "tvd_permuted")]
    names = {
        "jsd_same_output_ratio": 0.9,
        "jsd_seeds": 0.2,
        "jsd_seeds_ratio": 0.3,
        "tau_seeds": 0.7,
    }
    extra = [base.assign(measure=name, value=value) for name, value in names.items()]
    found = statements(pd.concat([rows, *extra]))
    assert found["uniqueness"].decision is Decision.REPORTED
    assert found["uniqueness"].estimate == pytest.approx(0.9)
    assert found["uniqueness"].floor == pytest.approx(0.3)
    assert found["uniqueness"].numbers["share above 0.5 (jsd_same_output_ratio)"] == 1.0
    assert found["uniqueness"].numbers["jsd_seeds"] == pytest.approx(0.2)
    assert found["stability"].estimate == pytest.approx(0.7)


@pytest.mark.parametrize(
    "names", [("jsd_same_output_ratio", "jsd_seeds"), ("jsd_same_output", "jsd_seeds_ratio")]
)
def test_a_distance_in_another_unit_is_no_floor(names: tuple[str, str]) -> None:
    rows = rows_of(SMALL)
    base = rows[(rows["measure"] == "tvd_permuted")]
    extra = [base.assign(measure=name, value=0.2) for name in names]
    found = statements(pd.concat([rows, *extra]))["uniqueness"]
    assert math.isnan(found.floor)
    assert found.numbers[names[1]] == pytest.approx(0.2)
    assert any("another unit" in note for note in found.notes)


def flips() -> tuple[pd.DataFrame, pd.DataFrame]:
    nan = math.nan
    index = ["a", "b", "c", "d"]
    times = {"attention": [0.2, nan, nan, 0.4], "random": [0.6, 0.8, nan, nan]}
    cut = {"attention": [0, 1, 1, 0], "random": [0, 0, 1, 1]}
    return pd.DataFrame(times, index=index), pd.DataFrame(cut, index=index).astype(float)


def test_flips_by_hand() -> None:
    times, cut = flips()
    assert never_flipped(cut) == 0.25
    assert horizon_times(times, cut)["attention"].tolist() == [0.2, 1.0, 0.4]
    found = compare(times, cut, "attention", "random")
    assert (found.mean, found.other_mean) == pytest.approx((1.6 / 3, 2.4 / 3))
    assert (found.earlier, found.later, found.n) == (2, 1, 3)
    assert found.p_value == pytest.approx(1.0)


def test_never_flipped_comes_first() -> None:
    rows = rows_of(SMALL)
    base = rows[(rows["measure"] == "comprehensiveness") & (rows["operator"] == "delete")]
    stuck = base["example"].isin([f"e{i:04d}" for i in range(30)])
    times = base.assign(measure="flip_share", value=(1 - base["value"]).clip(0, 1).mask(stuck))
    cut = base.assign(measure="flip_censored", value=stuck.astype(float))
    found = statements(pd.concat([rows, times, cut]))["direction"]
    assert found.numbers["never flipped (delete)"] == 0.25
    flip = next(part for part in found.parts if part.measure == "flip_share")
    assert flip.n == 90
    assert flip.estimate == pytest.approx(0.9, abs=0.07)
