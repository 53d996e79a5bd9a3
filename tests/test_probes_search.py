"""jain2019's search: its written-out slope against autograd, and what it may return."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from heedful.experiments import Outputs, SearchParams, search
from heedful.metrics import entropy, jsd, tvd
from reference.search import objective, trajectory

BIAS, EPSILON = -0.4, 0.01


def draw(n: int, m: int, k: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Attention, token logits and the candidates' first logits."""
    generator = torch.Generator().manual_seed(seed)
    numbers = [torch.randn(s, generator=generator).double() for s in ((n, k), (n, k), (n, m, k))]
    return torch.softmax(numbers[0], -1), numbers[1] * 2, numbers[2] * 3


def linear(z: Tensor, seen: list[Tensor] | None = None) -> Outputs:
    def outputs(weights: Tensor) -> Tensor:
        if seen is not None:
            seen.append(weights.detach().clone())
        p = torch.sigmoid(weights @ z[..., None] + BIAS)
        return torch.cat([1 - p, p], -1)

    return outputs


class Spy(torch.optim.SGD):
    """Takes Adam's place, and keeps the gradient it is given."""

    gradients: list[Tensor]

    def __init__(self, parameters: list[Tensor], **_: object) -> None:
        super().__init__(parameters, lr=0.0)
        Spy.gradients = []

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        Spy.gradients.append(self.param_groups[0]["params"][0].grad.clone())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_slope_is_autograds(m: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    attention, z, start = draw(3, m, 6, seed)
    start[0, 0] = attention[0].log() + 1e-4  # one candidate inside the band: no penalty
    monkeypatch.setattr(torch.optim, "Adam", Spy)
    mask = torch.ones_like(attention, dtype=torch.bool)
    search(linear(z), attention, mask, start, SearchParams(EPSILON, m, 1))
    for row in range(3):
        logits = start[row].clone().requires_grad_()
        objective(logits, attention[row], z[row], BIAS, EPSILON, 500.0).backward()
        torch.testing.assert_close(Spy.gradients[0][row], logits.grad, atol=1e-10, rtol=1e-9)


@pytest.mark.parametrize("m", [1, 3])
def test_the_first_steps_are_the_papers(m: int) -> None:
    attention, z, start = draw(4, m, 5)
    seen: list[Tensor] = []
    mask = torch.ones_like(attention, dtype=torch.bool)
    search(linear(z, seen), attention, mask, start, SearchParams(EPSILON, m, 12))
    assert len(seen) == 1 + 13  # the original, the start, and what each step made of it
    for row in range(4):
        expected = trajectory(start[row], attention[row], z[row], BIAS, EPSILON, 12)
        for step, weights in enumerate(expected):
            torch.testing.assert_close(seen[1 + step][row], weights, atol=1e-9, rtol=0)


def entropy_gap_slope(logits: Tensor, attention: Tensor, within: float) -> Tensor:
    """By autograd: the slope of max(0, |H(α) − H(α̂)| − within · H(α̂))."""
    logits = logits.clone().requires_grad_()
    alpha = torch.softmax(logits, -1)
    own = entropy(attention)[:, None]
    torch.relu((entropy(alpha) - own).abs() - within * own).sum().backward()
    assert logits.grad is not None
    return logits.grad


def test_the_entropy_penalty_has_the_slope_of_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, z, start = draw(8, 1, 6, 2)
    monkeypatch.setattr(torch.optim, "Adam", Spy)
    mask = torch.ones_like(attention, dtype=torch.bool)
    slopes = []
    for within in (None, 0.1):
        params = SearchParams(EPSILON, 1, 1, entropy_within=within)
        search(linear(z), attention, mask, start, params)
        slopes.append(Spy.gradients[0])
    expected = 500 * entropy_gap_slope(start, attention, 0.1)
    assert expected.abs().amax() > 1
    torch.testing.assert_close(slopes[1] - slopes[0], expected, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("within", [None, 0.1])
def test_what_is_found_is_feasible(within: float | None) -> None:
    attention, z, start = draw(12, 4, 7, 1)
    mask = torch.ones_like(attention, dtype=torch.bool)
    mask[:6, 4:] = False
    attention = attention * mask / (attention * mask).sum(-1, keepdim=True)
    params = SearchParams(EPSILON, 4, 250, 0.05, entropy_within=within)
    outputs = linear(z)
    found = search(outputs, attention, mask, start, params)
    assert found.steps == 250
    moved = tvd(outputs(found.weights[:, None]), outputs(attention[:, None]))
    assert bool((moved <= EPSILON).all())
    assert bool((found.weights[~mask] == 0).all())
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(12).double())
    torch.testing.assert_close(jsd(found.weights, attention), found.jsd, atol=1e-12, rtol=0)
    assert found.jsd.mean() > 0.1  # it found something
    if within is not None:
        gap = (entropy(found.weights) - entropy(attention)).abs()
        assert bool((gap <= within * entropy(attention) + 1e-12).all())


def test_without_a_feasible_candidate_the_attention_itself_is_returned() -> None:
    """Tokens 40 apart from one another: no short search comes back into the band."""
    attention, z = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[0.0, 40.0]]).double()
    start = torch.tensor([[[0.0, 8.0]]]).double()
    found = search(linear(z), attention, attention >= 0, start, SearchParams(EPSILON, 1, 3))
    assert found.jsd.item() == 0 and torch.equal(found.weights, attention)


def test_the_best_of_all_steps_is_kept() -> None:
    """The start is feasible and far; the steps, at a huge rate, are not."""
    attention, z = torch.tensor([[0.9, 0.1]]).double(), torch.tensor([[0.0, 1e-3]]).double()
    start = torch.tensor([[[-3.0, 3.0]]]).double()
    first = jsd(torch.softmax(start[0], -1), attention).item()
    found = search(linear(z), attention, attention > 0, start, SearchParams(0.5, 1, 5, 1.0))
    assert found.jsd.item() >= first > 0.3


def test_enough_ends_the_search() -> None:
    attention, z, start = draw(3, 2, 5)
    mask = torch.ones_like(attention, dtype=torch.bool)
    params = SearchParams(0.5, 2, 100)
    found = search(linear(z), attention, mask, start, params, torch.zeros(3).double())
    assert found.steps == 0


def test_zeros_in_the_attention_do_no_harm() -> None:
    attention, z, start = draw(2, 2, 5)
    attention = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0]]).double()
    mask = torch.ones_like(attention, dtype=torch.bool)
    found = search(linear(z), attention, mask, start, SearchParams(0.05, 2, 50, 0.1))
    assert bool(found.jsd.isfinite().all()) and bool((found.jsd <= math.log(2)).all())
