"""Plausibility against scikit-learn, sets and paper; flips against loops and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import average_precision_score, f1_score
from torch import Tensor

from heedful.experiments import plausibility
from heedful.experiments.rationale import PLAUSIBILITY_MEASURES
from heedful.metrics import (
    auprc,
    iou_f1,
    mass_inside,
    restricted_mean,
    sign_test,
    survival,
    token_f1,
)
from reference import rationales as slow
from reference import survival as slow_survival
from strategies import masks

BITS = st.randoms(use_true_random=False)


def bits(random: object, mask: Tensor) -> Tensor:
    flat = [random.random() < 0.5 for _ in range(mask.numel())]  # type: ignore[attr-defined]
    return torch.tensor(flat).reshape(mask.shape)


def levels(random: object, mask: Tensor) -> Tensor:
    """Few values, so that ties are the rule; masked places hold the highest."""
    flat = [float(random.randint(-2, 2)) for _ in range(mask.numel())]  # type: ignore[attr-defined]
    return torch.tensor(flat).double().reshape(mask.shape).masked_fill(~mask, 9.0)


@given(masks(), BITS)
def test_auprc_equals_scikit_learns(mask: Tensor, random: object) -> None:
    rationale, scores = bits(random, mask), levels(random, mask)
    for row, found in enumerate(auprc(scores, rationale, mask).tolist()):
        inside, shown = rationale[row][mask[row]].numpy(), scores[row][mask[row]].numpy()
        if inside.all() or not inside.any():
            assert math.isnan(found)
        else:
            assert found == pytest.approx(average_precision_score(inside, shown))


@given(masks(), BITS)
def test_f1_of_words_and_spans_equal_sets(mask: Tensor, random: object) -> None:
    rationale, chosen = bits(random, mask), bits(random, mask)
    words, spans = token_f1(chosen, rationale, mask), iou_f1(chosen, rationale, mask)
    for row in range(len(mask)):
        ours, theirs = chosen[row][mask[row]].tolist(), rationale[row][mask[row]].tolist()
        expected = f1_score(theirs, ours, zero_division=0.0) if any(theirs) else math.nan
        assert words[row].item() == pytest.approx(expected, nan_ok=True)
        assert spans[row].item() == pytest.approx(slow.iou_f1(ours, theirs), nan_ok=True)


def test_spans_on_paper() -> None:
    rationale = torch.tensor([[1, 1, 1, 1, 0, 0, 1, 0]]).bool()
    everything = torch.ones(1, 8).bool()
    half = torch.tensor([[1, 1, 0, 0, 0, 0, 0, 1]]).bool()  # 2 of 4 met; the last is beside
    assert iou_f1(half, rationale, everything).item() == pytest.approx(0.5)
    less = torch.tensor([[0, 0, 0, 1, 1, 0, 1, 0]]).bool()  # 1 of 5; and one met exactly
    assert iou_f1(less, rationale, everything).item() == pytest.approx(0.5)
    assert iou_f1(~everything, rationale, everything).item() == 0.0
    # a word that is not there does not cut a span in two
    gap = torch.tensor([[1, 1, 0, 1, 1, 1, 1, 1]]).bool()
    assert iou_f1(rationale & gap, rationale, gap).item() == 1.0
    with pytest.raises(ValueError, match="below 0.5"):
        iou_f1(half, rationale, everything, threshold=0.3)


def test_mass_on_paper() -> None:
    scores = torch.tensor([[1.0, -2.0, 1.0, 50.0], [0.0, 0.0, 0.0, 50.0]]).double()
    mask = torch.tensor([[True] * 3 + [False]] * 2)
    rationale = torch.tensor([[False, True, False, True]] * 2)
    found = mass_inside(scores, rationale, mask)
    assert found[0].item() == 0.5 and found[1].isnan()
    assert mass_inside(scores, rationale & ~mask, mask).isnan().all()


def test_plausibility_on_paper() -> None:
    """Four words, two of them the rationale: the top two are one inside, one outside."""
    rationale = torch.tensor([[True, True, False, False]])
    scores, mask = torch.tensor([[4.0, 1.0, 3.0, 2.0]]).double(), torch.ones(1, 4).bool()
    found = plausibility(scores, rationale, mask, ("one",))
    assert found["auprc"].item() == pytest.approx((1 / 1 + 2 / 4) / 2)
    assert found["token_f1"].item() == 0.5  # {0, 2} against {0, 1}
    assert found["iou_f1"].item() == pytest.approx(2 / 3)  # {0} is half of {0, 1}; {2} is beside
    assert found["mass_inside"].item() == 0.5
    perfect = plausibility(rationale.double(), rationale, mask, ("one",))
    assert {name: value.item() for name, value in perfect.items()} == dict.fromkeys(
        PLAUSIBILITY_MEASURES, 1.0
    )


def test_texts_that_say_nothing_are_nan() -> None:
    mask = torch.tensor([[True, True, True], [True, True, False], [True, True, True]])
    rationale = torch.tensor([[False] * 3, [True] * 3, [True, False, False]])
    scores = torch.tensor([[1.0, 2.0, 3.0]] * 3).double()
    scores[2, 1] = torch.nan
    for value in plausibility(scores, rationale, mask, ("a", "b", "c")).values():
        assert value.isnan().all()


@settings(max_examples=30)
@given(masks(), BITS, st.integers(1, 4))
def test_padding_and_order_change_nothing(mask: Tensor, random: object, pad: int) -> None:
    rationale, scores = bits(random, mask), levels(random, mask)
    ids = tuple(f"text-{i}" for i in range(len(mask)))
    order = list(range(len(mask)))[::-1]
    shuffled = tuple(ids[i] for i in order)
    wide = [torch.nn.functional.pad(each, (0, pad))[order] for each in (scores, rationale, mask)]
    maps = plausibility(scores, rationale, mask, ids)
    again = plausibility(*wide, shuffled)
    for name in PLAUSIBILITY_MEASURES:
        torch.testing.assert_close(again[name], maps[name][order], equal_nan=True)


TIMES = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=20)


@given(TIMES)
def test_survival_equals_the_walk_through_time(draws: list[tuple[int, bool]]) -> None:
    times = [time / 8 for time, _ in draws]
    censored = [never for _, never in draws]
    arrays = np.array(times), np.array(censored)
    curve = survival(*arrays)
    steps = list(zip(curve.times.tolist(), curve.alive.tolist(), strict=True))
    assert steps == [pytest.approx(step) for step in slow_survival.survival(times, censored)]
    found = restricted_mean(*arrays)
    assert found.mean == pytest.approx(slow_survival.restricted_mean(times, censored, 1.0))
    assert found.error**2 == pytest.approx(slow_survival.greenwood(times, censored, 1.0))
    assert (found.n, found.censored) == (len(draws), sum(censored))


def test_flips_on_paper() -> None:
    """Nothing is censored before 1, so the restricted mean is the plain one, with ones."""
    shares = np.array([0.2, 0.5, np.nan, 0.5, np.nan])
    never = np.array([False, False, True, False, False])
    found = restricted_mean(shares, never)
    assert found.mean == pytest.approx((0.2 + 0.5 + 0.5 + 1) / 4)
    assert (found.n, found.censored) == (4, 1)  # the last is undefined
    spread = np.array([0.2, 0.5, 0.5, 1.0]).var()
    assert found.error == pytest.approx(math.sqrt(spread / 4))
    assert math.isnan(restricted_mean(shares[:0], never[:0]).mean)


@given(TIMES, st.randoms(use_true_random=False))
def test_sign_test_equals_scipys(draws: list[tuple[int, bool]], random: object) -> None:
    first = np.array([time / 8 for time, _ in draws])
    second = np.array([random.randint(1, 8) / 8 for _ in draws])  # type: ignore[attr-defined]
    never = np.array([censored for _, censored in draws])
    found = sign_test(first, second, never, np.zeros_like(never))
    wins = int(((first < second) & ~never).sum())
    losses = int(((first > second) | never).sum())
    assert (found.first, found.second, found.ties) == (wins, losses, len(draws) - wins - losses)
    assume(wins + losses > 0)
    assert found.p_value == pytest.approx(binomtest(wins, wins + losses).pvalue)


def test_two_that_never_flip_tie_and_undefined_ones_are_left_out() -> None:
    shares, never = np.array([np.nan, np.nan, 0.5]), np.array([True, False, False])
    found = sign_test(shares, shares, never, never)
    assert (found.first, found.second, found.ties) == (0, 0, 2) and math.isnan(found.p_value)
