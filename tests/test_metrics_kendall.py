"""Kendall's τ-b against pair counting and SciPy; agreement at the top."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from torch import Tensor

from heedful.metrics import (
    KendallResult,
    correlation,
    kendall_tau_b,
    top_k,
    top_k_overlap,
    top_k_tau,
)
from reference import kendall as reference
from strategies import Rows, attention_pairs, score_pairs


def tensor(*values: float) -> Tensor:
    return torch.tensor([values], dtype=torch.float64)


def one(x: Tensor, y: Tensor) -> KendallResult:
    return kendall_tau_b(x, y, torch.ones_like(x, dtype=torch.bool))


def close(a: KendallResult, b: KendallResult) -> None:
    for name in ("tau", "p_value", "ties_x", "ties_y", "n"):
        torch.testing.assert_close(
            getattr(a, name), getattr(b, name), equal_nan=True, rtol=1e-13, atol=0
        )


def scipy_tau(x: list[float], y: list[float]) -> tuple[float, float]:
    if len(x) < 2:
        return math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns where we return NaN
        result = kendalltau(x, y)
    return float(result.statistic), float(result.pvalue)


@given(st.one_of(score_pairs(), attention_pairs()))
def test_equal_to_pair_counting_and_scipy(rows: Rows) -> None:
    result = kendall_tau_b(rows.x, rows.y, rows.mask)
    for i, (x, y) in enumerate(rows.lists()):
        tau, p = scipy_tau(x, y)
        assert result.tau[i].item() == pytest.approx(reference.tau_b(x, y), abs=1e-14, nan_ok=True)
        assert result.tau[i].item() == pytest.approx(tau, abs=1e-14, nan_ok=True)
        assert result.p_value[i].item() == pytest.approx(p, rel=1e-10, abs=0, nan_ok=True)
        assert result.ties_x[i].item() == pytest.approx(reference.tie_rate(x), nan_ok=True)
        assert result.ties_y[i].item() == pytest.approx(reference.tie_rate(y), nan_ok=True)
        assert result.n[i].item() == len(x)


@pytest.mark.parametrize("levels", [3, 12, 10**9], ids=["many ties", "ties", "no ties"])
def test_equal_to_scipy_on_both_sides_of_the_exact_bound(levels: int) -> None:
    random = np.random.default_rng(levels)
    lengths = [2, 3, 5, 8, 31, 32, 33, 34, 35, 64, 65, 150]
    x, y = (torch.from_numpy(random.integers(0, levels, (12, 150))).double() for _ in range(2))
    y = torch.where(torch.arange(12)[:, None] % 2 == 0, y, x + y / 3)  # and related ones
    mask = torch.arange(150) < torch.tensor(lengths)[:, None]
    result = kendall_tau_b(x, y, mask)
    for i, n in enumerate(lengths):
        tau, p = scipy_tau(x[i, :n].tolist(), y[i, :n].tolist())
        assert result.tau[i].item() == pytest.approx(tau, abs=1e-14, nan_ok=True)
        assert result.p_value[i].item() == pytest.approx(p, rel=1e-10, abs=0, nan_ok=True)


@pytest.mark.parametrize("n", [6, 33, 34, 60, 200])
@pytest.mark.parametrize("swaps", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_p_of_nearly_sorted_rows(n: int, swaps: int, sign: int) -> None:
    y = [float(value) for value in range(n)]
    for pair in range(swaps):
        y[2 * pair], y[2 * pair + 1] = y[2 * pair + 1], y[2 * pair]
    y = [sign * value for value in y]
    result = one(torch.arange(n)[None], torch.tensor([y]))
    tau, p = scipy_tau(list(range(n)), y)
    assert result.tau.item() == pytest.approx(tau, abs=1e-14)
    assert result.p_value.item() == pytest.approx(p, rel=1e-10, abs=0)  # down to 1e-300


def test_p_from_every_order_and_from_the_printed_variance() -> None:
    x, y = [1.0, 2, 3, 4, 5, 6], [2.0, 1, 4, 3, 6, 5]
    assert one(tensor(*x), tensor(*y)).p_value.item() == pytest.approx(reference.p_exact(x, y))
    x, y = [1.0, 1, 2, 2, 2, 3, 4], [1.0, 2, 2, 2, 5, 5, 3]
    assert one(tensor(*x), tensor(*y)).p_value.item() == pytest.approx(reference.p_normal(x, y))


def test_by_hand() -> None:
    # Pairs of (1,2,3) and (1,3,2): two agree, one does not.
    result = one(tensor(1, 2, 3), tensor(1, 3, 2))
    assert result.tau.item() == pytest.approx(1 / 3)
    assert result.p_value.item() == 1.0
    # (1,1,2) and (1,2,3): two agree of n₀ = 3, one tie in x: 2/√(2·3).
    result = one(tensor(1, 1, 2), tensor(1, 2, 3))
    assert result.tau.item() == pytest.approx(2 / math.sqrt(6))
    assert result.ties_x.item() == pytest.approx(1 / 3)
    assert result.ties_y.item() == 0.0
    # Four in order: 2 of 4! orders are as extreme.
    assert one(tensor(1, 2, 3, 4), tensor(5, 6, 7, 8)).p_value.item() == pytest.approx(2 / 24)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
        ([1.0], [2.0]),
        ([1.0, math.nan, 3.0], [1.0, 2.0, 3.0]),
    ],
)
def test_undefined_rows_are_nan_and_spoil_no_other(x: list[float], y: list[float]) -> None:
    k = len(x)
    xs = torch.tensor([x + [0.0] * (3 - k), [1.0, 2.0, 3.0]])
    ys = torch.tensor([y + [0.0] * (3 - k), [1.0, 2.0, 3.0]])
    mask = torch.tensor([[i < k for i in range(3)], [True] * 3])
    result = kendall_tau_b(xs, ys, mask)
    assert result.tau.isnan().tolist() == result.p_value.isnan().tolist() == [True, False]
    assert result.tau[1] == 1.0


def test_no_rows_no_keys_and_no_unmasked_position() -> None:
    for shape in [(0, 3), (2, 0), (2, 3)]:
        empty = torch.zeros(shape)
        result = kendall_tau_b(empty, empty, torch.zeros(shape, dtype=torch.bool))
        assert result.tau.shape == (shape[0],)
        assert bool(result.tau.isnan().all()) and result.n.tolist() == [0] * shape[0]


@given(score_pairs(), st.randoms(use_true_random=False))
def test_padding_order_and_batching_change_nothing(rows: Rows, random: object) -> None:
    whole = kendall_tau_b(rows.x, rows.y, rows.mask)
    junk = torch.full((len(rows.x), 2), 7.0, dtype=torch.float64)
    x, y = torch.cat([junk, rows.x, junk], 1), torch.cat([junk * math.nan, rows.y, -junk], 1)
    no = torch.zeros_like(junk, dtype=torch.bool)
    mask = torch.cat([no, rows.mask, no], 1)
    order = list(range(x.shape[1]))
    random.shuffle(order)  # type: ignore[attr-defined]
    close(kendall_tau_b(x[:, order], y[:, order], mask[:, order]), whole)
    for i in range(len(x)):
        alone = kendall_tau_b(x[i : i + 1], y[i : i + 1], mask[i : i + 1])
        assert torch.equal(alone.tau.isnan(), whole.tau[i : i + 1].isnan())
        torch.testing.assert_close(
            alone.tau, whole.tau[i : i + 1], equal_nan=True, rtol=1e-13, atol=0
        )


@settings(max_examples=25)
@given(score_pairs())
def test_sides_may_be_exchanged_and_turned(rows: Rows) -> None:
    result = kendall_tau_b(rows.x, rows.y, rows.mask)
    swapped = kendall_tau_b(rows.y, rows.x, rows.mask)
    turned = kendall_tau_b(-rows.x, rows.y, rows.mask)
    torch.testing.assert_close(swapped.tau, result.tau, equal_nan=True)
    torch.testing.assert_close(turned.tau, -result.tau, equal_nan=True)
    torch.testing.assert_close(swapped.p_value, result.p_value, equal_nan=True)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = torch.rand(2, 7, 5, generator=torch.manual_seed(0))
    mask = torch.ones(7, 5, dtype=torch.bool)
    whole = kendall_tau_b(x, y, mask)
    monkeypatch.setattr(correlation, "_CHUNK", 11)
    close(kendall_tau_b(x, y, mask), whole)


def test_values_are_compared_in_the_dtype_given() -> None:
    x = tensor(1.0, 1.0 + 1e-12, 1.0 + 2e-12)
    assert one(x, tensor(1, 2, 3)).tau.item() == 1.0
    assert one(x.float(), tensor(1, 2, 3)).tau.isnan().item()


def test_real_infinities_are_values() -> None:
    x = torch.tensor([[0.0, math.inf, 1.0, -math.inf, 0.0]])
    mask = torch.tensor([[False, True, True, True, False]])
    result = kendall_tau_b(x, torch.tensor([[9.0, 3.0, 2.0, 1.0, -9.0]]), mask)
    assert result.tau.item() == 1.0 and result.ties_x.item() == 0.0
    # Masked positions are sorted as +∞ too, but are not tied with the real ones.
    x, y = torch.tensor([[math.inf, 0.0, math.inf, 1.0]]), torch.tensor([[1.0, 0.0, math.inf, 2.0]])
    mask = torch.tensor([[True, False, True, True]])
    result, same = kendall_tau_b(x, y, mask), one(tensor(8, 8, 1), tensor(1, 9, 2))
    close(result, same)


def test_top_k_by_hand() -> None:
    x, y = tensor(9, 8, 1, 2, 100), tensor(8, 1, 9, 2, 100)
    mask = torch.tensor([[True, True, True, True, False]])
    assert top_k(x, mask, 2).tolist() == [[True, True, False, False, False]]
    assert top_k_overlap(x, y, mask, 2).item() == 0.5
    # The union of {0, 1} and {0, 2}: x = 9, 8, 1; y = 8, 1, 9: one pair agrees, two do not.
    result = top_k_tau(x, y, mask, 2)
    assert result.n.item() == 3 and result.tau.item() == pytest.approx(-1 / 3)


def test_top_k_breaks_ties_by_position_and_is_capped() -> None:
    mask = torch.tensor([[False, True, True, True]])
    assert top_k(tensor(1, 1, 1, 1), mask, 2).tolist() == [[False, True, True, False]]
    assert top_k(tensor(0, -math.inf, -5, -7), mask, 9).tolist() == mask.tolist()
    assert top_k_overlap(tensor(1, 2, 3, 4), tensor(4, 3, 2, 1), mask, 9).item() == 1.0
    assert top_k_overlap(tensor(1), tensor(1), torch.tensor([[False]]), 2).isnan().item()
    with pytest.raises(ValueError, match="at least 1"):
        top_k(tensor(1), torch.tensor([[True]]), 0)


@given(score_pairs(), st.integers(1, 10))
def test_top_k_of_a_whole_row_is_the_row(rows: Rows, k: int) -> None:
    chosen = top_k(rows.x, rows.mask, k)
    assert chosen.sum(-1).tolist() == rows.mask.sum(-1).clamp(max=k).tolist()
    assert not bool((chosen & ~rows.mask).any())
    width = rows.mask.shape[1]
    close(top_k_tau(rows.x, rows.y, rows.mask, width), kendall_tau_b(rows.x, rows.y, rows.mask))
    for x, live, top in zip(rows.x, rows.mask, chosen, strict=True):
        if bool((live & ~top).any()):
            assert x[top].min() >= x[live & ~top].max()
