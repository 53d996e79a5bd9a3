"""TVD, JSD, KL and entropy against their formulas, by hand, and by their properties."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from torch import Tensor

from heedful.metrics import METRICS, entropy, jsd, kl, tvd
from reference import distance as reference
from strategies import Rows, attention_pairs

LN2 = math.log(2)


def f64(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@given(attention_pairs())
def test_equal_to_the_reference(rows: Rows) -> None:
    results = tvd(rows.x, rows.y), jsd(rows.x, rows.y), kl(rows.x, rows.y, rows.mask)
    for i, (p, q) in enumerate(rows.lists()):
        assert results[0][i].item() == pytest.approx(reference.tvd(p, q), abs=1e-14)
        assert results[1][i].item() == pytest.approx(reference.jsd(p, q), abs=1e-14)
        assert results[2][i].item() == pytest.approx(reference.kl(p, q), abs=1e-12)
        assert entropy(rows.x)[i].item() == pytest.approx(reference.entropy(p), abs=1e-14)


def test_equal_to_scipy() -> None:
    p, q = torch.rand(2, 50, 7, dtype=torch.float64, generator=torch.manual_seed(0)).softmax(-1)
    js = torch.from_numpy(jensenshannon(p.numpy(), q.numpy(), axis=1) ** 2)
    torch.testing.assert_close(jsd(p, q), js)
    mask = torch.ones_like(p, dtype=torch.bool)
    torch.testing.assert_close(kl(p, q, mask), torch.from_numpy(scipy_entropy(p, q, axis=1)))
    torch.testing.assert_close(entropy(p), torch.from_numpy(scipy_entropy(p, axis=1)))


def test_by_hand() -> None:
    assert tvd(f64(0.9, 0.1), f64(0.6, 0.4)).item() == pytest.approx(0.3)  # |Δŷ|, not half
    assert tvd(f64(1, 0, 0), f64(0, 0, 1)).item() == 1.0
    # m = (¾, ¼): ½·ln(4/3) + ½·(½·ln(2/3) + ½·ln 2), and the bracket is ½·ln(4/3).
    assert jsd(f64(1, 0), f64(0.5, 0.5)).item() == pytest.approx(0.75 * math.log(4 / 3))
    assert kl(f64(1, 0), f64(0.25, 0.75), torch.tensor([True, True])).item() == pytest.approx(
        math.log(4)
    )
    assert entropy(f64(0.5, 0.5, 0)).item() == pytest.approx(LN2)


def test_disjoint_and_equal_distributions_are_the_ends_of_jsd() -> None:
    assert jsd(f64(0.3, 0.7, 0, 0), f64(0, 0, 0.6, 0.4)).item() == pytest.approx(LN2, abs=1e-15)
    assert jsd(f64(0.3, 0.7, 0, 0), f64(0.3, 0.7, 0, 0)).item() == 0.0


@given(attention_pairs())
def test_jsd_is_bounded_symmetric_and_zero_only_for_equals(rows: Rows) -> None:
    value = jsd(rows.x, rows.y)
    assert bool(((value >= 0) & (value <= LN2 + 1e-15)).all())
    assert torch.equal(value, jsd(rows.y, rows.x))
    assert torch.equal(jsd(rows.x, rows.x), torch.zeros_like(value))
    apart = tvd(rows.x, rows.y)
    # Pinsker: JSD ≥ TVD²/2, so it is 0 only where the two are equal.
    assert bool((value >= apart**2 / 2 - 1e-15).all())


@given(attention_pairs())
def test_padding_and_batching_change_nothing(rows: Rows) -> None:
    pad = torch.zeros(len(rows.x), 3, dtype=torch.float64)
    x, y = torch.cat([pad, rows.x, pad], 1), torch.cat([pad, rows.y, pad], 1)
    for metric in (tvd, jsd):
        whole = metric(rows.x, rows.y)
        torch.testing.assert_close(metric(x, y), whole, rtol=1e-14, atol=1e-15)
        alone = torch.stack([metric(a, b) for a, b in zip(rows.x, rows.y, strict=True)])
        torch.testing.assert_close(alone, whole, rtol=1e-14, atol=1e-15)


def test_kl_ignores_masked_positions_whatever_they_hold() -> None:
    mask = torch.tensor([True, True, False])
    value = kl(f64(0.5, 0.5, 9.0), f64(0.25, 0.75, 0.0), mask)
    assert value.item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))


def test_kl_is_infinite_where_only_the_second_is_zero_and_gradients_stay_numbers() -> None:
    p = torch.tensor([[0.5, 0.5], [0.5, 0.5]], dtype=torch.float64, requires_grad=True)
    q = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64, requires_grad=True)
    value = kl(p, q, torch.ones(2, 2, dtype=torch.bool))
    assert value.tolist() == [math.inf, 0.0]
    gradients = torch.autograd.grad(value.sum(), (p, q))
    assert all(bool(g.isfinite().all()) for g in gradients)
    assert gradients[1][1].tolist() == [-1.0, -1.0]  # the finite row still has its slope


@given(attention_pairs())
def test_gradients_are_finite_at_zeros(rows: Rows) -> None:
    p, q = rows.x.clone().requires_grad_(), rows.y.clone().requires_grad_()
    for value in (tvd(p, q), jsd(p, q), kl(p, q, rows.mask), entropy(p) + entropy(q)):
        for gradient in torch.autograd.grad(value.sum(), (p, q)):
            assert bool(gradient.isfinite().all())


def test_gradients_are_finite_next_to_zero() -> None:
    p = f64(1.0, 0.0, 0.0).requires_grad_()
    q = f64(1.0, 1e-308, 5e-324).requires_grad_()
    for gradient in torch.autograd.grad(jsd(p, q) + entropy(q), (p, q)):
        assert bool(gradient.isfinite().all())


def test_gradients_are_right_away_from_zeros() -> None:
    generator = torch.manual_seed(1)
    p, q = torch.rand(2, 3, 5, dtype=torch.float64, generator=generator).softmax(-1)
    p, q = p.clone().requires_grad_(), q.clone().requires_grad_()
    mask = torch.rand(3, 5, generator=generator) < 0.7
    assert torch.autograd.gradcheck(tvd, (p, q))
    assert torch.autograd.gradcheck(jsd, (p, q))
    assert torch.autograd.gradcheck(lambda a, b: kl(a, b, mask), (p, q))
    assert torch.autograd.gradcheck(entropy, (p,))


def test_batches_broadcast() -> None:
    p = torch.rand(4, 1, 5, dtype=torch.float64).softmax(-1)
    q = torch.rand(1, 6, 5, dtype=torch.float64).softmax(-1)
    assert jsd(p, q).shape == tvd(p, q).shape == (4, 6)
    assert jsd(p, q)[2, 3] == pytest.approx(jsd(p[2, 0], q[0, 3]).item(), abs=1e-15)


def test_every_metric_states_its_facts() -> None:
    for name in METRICS:
        piece = METRICS[name]
        assert piece.name == name and piece.description and piece.version >= 1
