"""The exact adversary against every vertex of its polytope, and several at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.experiments import SearchParams, band, diverse, furthest_attention, search
from reference.adversary import max_jsd, vertices
from reference.distance import jsd

module = import_module("heedful.experiments.adversarial_attention")


@dataclass(frozen=True)
class Case:
    """One text: attention, token logits, bias and the allowed change of the output."""

    q: list[float]
    z: list[float]
    bias: float
    epsilon: float

    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """z, mask, low, high and attention, each with one row."""
        q, z = _row(self.q), _row(self.z)
        p = torch.sigmoid((q * z).sum(-1) + self.bias)
        return z, torch.ones_like(z, dtype=torch.bool), *band(p, self.bias, self.epsilon), q


def _row(values: list[float]) -> Tensor:
    return torch.tensor([values], dtype=torch.float64)


# Few values, so that tokens tie; large ones, so that p comes within ε of 0 and 1.
LOGITS = st.one_of(
    st.sampled_from([-8.0, -1.0, 0.0, 0.0, 0.125, 1.0, 6.0]), st.floats(-4, 4, width=16)
)
MASSES = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 1e-3, 1e-9])


@st.composite
def cases(draw: st.DrawFn, longest: int = 8) -> Case:
    size = draw(st.integers(1, longest))
    mass = draw(st.lists(MASSES, min_size=size, max_size=size))
    mass = mass if sum(mass) > 0 else [1.0] * size
    z = draw(st.lists(LOGITS, min_size=size, max_size=size))
    bias = draw(st.sampled_from([0.0, -3.0, 5.0]))
    return Case([m / sum(mass) for m in mass], z, bias, draw(st.sampled_from([0.01, 0.05, 0.3])))


@settings(max_examples=150)
@given(cases())
def test_nothing_is_further(case: Case) -> None:
    z, mask, low, high, q = case.tensors()
    found = furthest_attention(z, mask, low, high, q[:, None])
    best = max_jsd(case.q, case.z, low.item(), high.item())
    assert best is not None  # the attention itself is inside
    assert found.value.item() == pytest.approx(best[0], abs=1e-9)
    weights = found.weights[0].tolist()
    assert jsd(weights, case.q) == pytest.approx(found.value.item(), abs=1e-9)
    assert math.fsum(weights) == pytest.approx(1) and min(weights) >= 0
    moved = torch.sigmoid((found.weights * z).sum(-1) + case.bias)
    assert abs(moved - torch.sigmoid((q * z).sum(-1) + case.bias)).item() <= case.epsilon + 1e-12


@settings(max_examples=15)
@given(cases(longest=6))
def test_no_search_goes_further(case: Case) -> None:
    z, mask, low, high, q = case.tensors()
    start = torch.randn(1, 3, len(case.z), generator=torch.Generator().manual_seed(0)).double() * 3

    def outputs(weights: Tensor) -> Tensor:
        p = torch.sigmoid(weights @ z[..., None] + case.bias)
        return torch.cat([1 - p, p], -1)

    found = search(outputs, q, mask, start, SearchParams(case.epsilon, 3, 60, 0.1))
    exact = furthest_attention(z, mask, low, high, q[:, None]).value
    assert found.jsd.item() <= exact.item() + 1e-9


def test_rows_of_unlike_length_and_any_mask() -> None:
    """Each row of a padded batch with holes has what it has alone; memory bounds change nothing."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(20, 9, generator=generator) < 0.6
    mask[:, 4] = True
    z = torch.randn(20, 9, generator=generator, dtype=torch.float64) * 3
    q = torch.rand(20, 9, generator=generator, dtype=torch.float64) * mask
    q = q / q.sum(-1, keepdim=True)
    low, high = band(torch.sigmoid((q * z).sum(-1)), 0.0, 0.02)
    together = furthest_attention(z, mask, low, high, q[:, None])
    assert bool((together.weights[~mask] == 0).all())
    for row in range(20):
        keep = mask[row]
        edges = float(low[row]), float(high[row])
        best = max_jsd(q[row, keep].tolist(), z[row, keep].tolist(), *edges)
        assert best is not None
        assert together.value[row].item() == pytest.approx(best[0], abs=1e-9)


def test_memory_bounds_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(3)
    z = torch.randn(12, 7, generator=generator, dtype=torch.float64)
    q = torch.softmax(torch.randn(12, 7, generator=generator, dtype=torch.float64), -1)
    mask = torch.ones_like(q, dtype=torch.bool)
    low, high = band(torch.sigmoid((q * z).sum(-1)), 0.0, 0.02)
    whole = furthest_attention(z, mask, low, high, q[:, None])
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 1)
    split = furthest_attention(z, mask, low, high, q[:, None])
    assert torch.equal(split.value, whole.value) and torch.equal(split.weights, whole.weights)


def test_an_empty_band_has_no_answer() -> None:
    z, q = _row([1.0, 2.0]), _row([0.5, 0.5])
    low = torch.tensor([3.0], dtype=torch.float64)
    found = furthest_attention(z, q > 0, low, low + 1, q[:, None])
    assert found.value.item() == -math.inf


def test_by_hand() -> None:
    """z = (0, 4) and the band [1, 3]: its corners are (¾, ¼) and (¼, ¾), and α̂ is the first."""
    z, q, edge = _row([0.0, 4.0]), _row([0.75, 0.25]), torch.tensor([1.0]).double()
    found = furthest_attention(z, q > 0, edge, edge + 2, q[:, None])
    assert found.weights.tolist() == [[0.25, 0.75]]
    # the midpoint is (½, ½), and both halves of the divergence are KL((¼, ¾) ‖ (½, ½))
    assert found.value.item() == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


@pytest.mark.parametrize("bias", [0.0, -2.5])
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_the_band_is_where_the_output_moves_by_epsilon(bias: float, epsilon: float) -> None:
    logits = torch.linspace(-9, 9, 61, dtype=torch.float64)
    p = torch.sigmoid(logits)
    low, high = band(p, bias, epsilon)
    assert bool((low < logits - bias).all()) and bool((high > logits - bias).all())
    assert torch.equal(low.isinf(), p <= epsilon) and torch.equal(high.isinf(), p >= 1 - epsilon)
    for edge in (low, high):
        moved = (torch.sigmoid(edge + bias) - p).abs()[edge.isfinite()]
        torch.testing.assert_close(moved, torch.full_like(moved, epsilon), atol=1e-12, rtol=0)


def test_one_token_has_nowhere_to_go() -> None:
    for logit in (-50.0, -1.0, 0.0, 3.0, 50.0):
        z, mask, low, high, q = Case([1.0], [logit], 0.3, 0.01).tensors()
        found = furthest_attention(z, mask, low, high, q[:, None])
        assert found.value.item() == 0.0 and found.weights.tolist() == [[1.0]]


def total(chosen: list[list[float]], q: list[float]) -> float:
    """jain2019, Eq. 2: Σ_i JSD(α_i, α̂) + 1/(k(k − 1)) Σ_{i<j} JSD(α_i, α_j)."""
    k = len(chosen)
    pairs = [jsd(a, b) for a, b in combinations(chosen, 2)]
    return math.fsum(jsd(a, q) for a in chosen) + math.fsum(pairs) / (k * (k - 1))


@settings(max_examples=40)
@given(cases(longest=5), st.sampled_from([2, 3]))
def test_no_single_one_of_several_adversaries_can_do_better(case: Case, k: int) -> None:
    z, mask, low, high, q = case.tensors()
    chosen = diverse(z, mask, low, high, q, k)[0].tolist()
    corners = [[float(w) for w in v] for v in vertices(case.z, low.item(), high.item())]
    reached = total(chosen, case.q)
    for place, corner in product(range(k), corners):
        other = [corner if i == place else alpha for i, alpha in enumerate(chosen)]
        assert total(other, case.q) <= reached + 1e-9
    assert reached >= total(greedy(corners, case.q, k), case.q) - 1e-9
    p = torch.sigmoid((q * z).sum(-1) + case.bias)
    alphas = torch.tensor(chosen, dtype=torch.float64)
    moved = torch.sigmoid(alphas @ z[0] + case.bias) - p
    assert bool((moved.abs() <= case.epsilon + 1e-12).all())


def test_going_round_again_improves_on_greed() -> None:
    generator = torch.Generator().manual_seed(52)
    better = 0
    for _ in range(25):
        q = torch.softmax(torch.randn(5, generator=generator).double() * 1.5, 0).tolist()
        z = (torch.randn(5, generator=generator).double() * 2).tolist()
        rows = Case(q, z, 0.0, 0.05).tensors()
        chosen = diverse(*rows, 2)[0].tolist()
        corners = [[float(w) for w in v] for v in vertices(z, rows[2].item(), rows[3].item())]
        for place, corner in product(range(2), corners):
            assert total([corner, chosen[1 - place]], q) <= total(chosen, q) + 1e-9
        better += total(chosen, q) > total(greedy(corners, q, 2), q) + 1e-6
    assert better > 0


def greedy(corners: list[list[float]], q: list[float], k: int) -> list[list[float]]:
    """The furthest corner first, then whichever adds most."""
    chosen: list[list[float]] = []
    for _ in range(k):
        share = 1 / (k * (k - 1))
        chosen.append(
            max(
                corners,
                key=lambda c: jsd(c, q) + share * math.fsum(jsd(c, other) for other in chosen),
            )
        )
    return chosen


def test_one_of_one_is_the_furthest() -> None:
    z, mask, low, high, q = Case([0.5, 0.3, 0.2], [1.0, -1.0, 0.5], 0.0, 0.05).tensors()
    alone = diverse(z, mask, low, high, q, 1)[:, 0]
    assert torch.equal(alone, furthest_attention(z, mask, low, high, q[:, None]).weights)


@settings(max_examples=60)
@given(cases(longest=5), st.integers(0, 2**16))
def test_of_equally_far_corners_the_first_is_taken(case: Case, seed: int) -> None:
    """Every word is there twice, and its numbers are off by what rounding may be off by."""
    whole = Case([q / 2 for q in case.q] * 2, case.z * 2, case.bias, case.epsilon)
    z, mask, low, high, q = whole.tensors()
    exact = furthest_attention(z, mask, low, high, q[:, None])
    noise = torch.rand(z.shape, generator=torch.Generator().manual_seed(seed)).double() - 0.5
    again = furthest_attention(z + 1e-13 * noise, mask, low, high, q[:, None])
    assert float(again.value) == pytest.approx(float(exact.value), abs=1e-8)
    torch.testing.assert_close(again.weights, exact.weights, atol=1e-6, rtol=0)
