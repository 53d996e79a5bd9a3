"""Structured attention: marginals of a chain, in weights that sum to 1."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.models import Chain, OneSequence, build, masked_sigmoid
from heedful.specs import ModelSpec
from heedful.types import Batch
from reference import chain
from reference.deletion import delete_each
from tiny import padded_and_alone, tiny_batch, tiny_model

numbers = st.floats(-6, 6, allow_nan=False)
TRANSITIONS = [[0.3, -1.0], [0.5, 2.0]]


def weighting(transitions: list[list[float]]) -> Chain:
    made = Chain().double()
    with torch.no_grad():
        made.transitions.copy_(torch.tensor(transitions, dtype=torch.float64))
    return made


def clustered(
    encoder: str = "bilstm", classes: int = 2, transitions: list[list[float]] = TRANSITIONS
) -> OneSequence:
    """A small model whose neighbours attract each other."""
    model = tiny_model(encoder, "structured", classes, double=True)
    assert isinstance(model.attention.weighting, Chain)
    with torch.no_grad():
        model.attention.weighting.transitions.copy_(torch.tensor(transitions))
    return model


def test_two_tokens_by_hand() -> None:
    """Scores 0 and log 2; both together count three times as much. Of the weights of 00, 01, 10,
    11, which are 1, 2, 1, 6, the first token has 7/10 and the second 8/10."""
    scores = torch.tensor([[0.0, math.log(2)]], dtype=torch.float64)
    found = weighting([[0.0, 0.0], [0.0, math.log(3)]]).weights(scores, scores > -1)
    assert found[0].tolist() == pytest.approx([7 / 15, 8 / 15])


@settings(deadline=None)
@given(
    st.lists(numbers, min_size=1, max_size=8),
    st.lists(st.floats(-3, 3, allow_nan=False), min_size=4, max_size=4),
)
def test_weights_are_those_of_all_selections(drawn: list[float], pairs: list[float]) -> None:
    transitions = [pairs[:2], pairs[2:]]
    scores = torch.tensor([drawn], dtype=torch.float64)
    found = weighting(transitions).weights(scores, torch.ones_like(scores, dtype=torch.bool))[0]
    assert found.tolist() == pytest.approx(chain.weights(drawn, transitions), abs=1e-10)


def test_without_transitions_it_is_a_gate_divided_by_its_sum() -> None:
    scores = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(scores, dtype=torch.bool)
    gates = masked_sigmoid(scores, mask)
    expected = gates / gates.sum(-1, keepdim=True)
    torch.testing.assert_close(Chain().double().weights(scores, mask), expected)


def test_what_is_masked_is_not_in_the_chain() -> None:
    """Neither its score nor a step over it; a row of nothing is all zeros."""
    rows = [[math.nan, 0.3, 1e30, -0.2, 0.7, math.inf], [math.nan] * 6, [1e6, -1e6, 0, 1, 2, 3]]
    scores = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[False, True, False, True, True, False], [False] * 6, [True] * 6])
    made = weighting(TRANSITIONS)
    weights = made.weights(scores, mask)
    kept = chain.weights([0.3, -0.2, 0.7], TRANSITIONS)
    assert weights[0].detach().tolist() == pytest.approx([0.0, kept[0], 0.0, *kept[1:], 0.0])
    assert not weights[1].any() and float(weights[2].detach().sum()) == pytest.approx(1)
    weights[:, 1].sum().backward()
    for slope in (scores.grad, made.transitions.grad):
        assert slope is not None and bool(slope.isfinite().all())
    assert scores.grad is not None and not scores.grad[~mask].any()


def test_slopes_are_those_of_small_steps() -> None:
    made = weighting(TRANSITIONS)
    scores = torch.tensor([[1.0, 0.6, -2.0]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, True]])

    def weighted(x: Tensor, transitions: Tensor) -> Tensor:
        call = torch.func.functional_call
        return call(_Weights(made), {"chain.transitions": transitions}, (x, mask))

    assert torch.autograd.gradcheck(weighted, (scores, made.transitions))


class _Weights(torch.nn.Module):
    def __init__(self, made: Chain) -> None:
        super().__init__()
        self.chain = made

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.chain.weights(scores, mask)


def test_neighbours_that_attract_share_their_weight() -> None:
    """One token has a high score; with attraction more of the weight is beside it."""
    scores = torch.tensor([[-2.0, -2.0, 4.0, -2.0, -2.0]], dtype=torch.float64)
    mask = torch.ones_like(scores, dtype=torch.bool)
    near, far = (
        weighting([[0.0, 0.0], [0.0, pull]]).weights(scores, mask)[0].detach()
        for pull in (3.0, 0.0)
    )
    assert float(near[1]) > 2 * float(far[1]) and float(near[1]) > float(near[0])
    torch.testing.assert_close(near, near.flip(-1))


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "none"])
def test_deletions_equal_runs_on_shorter_texts(encoder: str) -> None:
    model = clustered(encoder, 3)
    batch = tiny_batch((4, 1, 9, 2))
    with torch.no_grad():
        found, expected = model.leave_one_out_logits(batch), delete_each(model, batch)
    torch.testing.assert_close(found.less, expected, atol=1e-10, rtol=0, equal_nan=True)
    torch.testing.assert_close(found.whole, model(batch).logits, atol=1e-10, rtol=0)


def test_padding_changes_nothing_and_logits_are_products(ragged: Batch) -> None:
    padded_and_alone(clustered(classes=3), ragged)


def test_the_task_reaches_the_transitions(ragged: Batch) -> None:
    model = clustered().train()
    model(ragged).logits.square().sum().backward()
    slopes = [parameter.grad for parameter in model.attention.parameters()]
    assert len(slopes) == 4  # projection and its bias, v, transitions
    assert all(slope is not None and float(slope.abs().sum()) > 0 for slope in slopes)


def test_each_model_has_transitions_of_its_own() -> None:
    """Both levels of a hierarchy, and models of pairs."""
    vectors = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    spec = ModelSpec("average", "structured", hidden=8, family="hierarchical")
    model = build(spec, vectors, 2, 0)
    chains = {name for name, _ in model.named_parameters() if name.endswith("transitions")}
    assert len(chains) == 2
    pair = ModelSpec("bilstm", "structured", hidden=8, family="pair", decoder="context")
    one, other = (build(pair, vectors, 3, 0) for _ in range(2))
    assert one.attention.weighting is not other.attention.weighting
