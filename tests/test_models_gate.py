"""Gates in the place of a softmax: nothing competes, and nothing is divided."""

from __future__ import annotations

import math

import pytest
import torch

from heedful.interventions import permute, uniform
from heedful.models import Additive, OneSequence, gate, masked_sigmoid
from heedful.types import Batch
from reference.deletion import delete_each
from test_models_golden import identity, model_of, two_tokens
from tiny import padded_and_alone, tiny_batch, tiny_model


def by_hand() -> OneSequence:
    """Far out tanh is ±1, so the scores are 1 and −1; the tokens' logits are 3 and −2."""
    attention = gate(4)
    with torch.no_grad():
        attention.project.weight.copy_(torch.tensor([[100.0, 0, 0, 0], [-100.0, 0, 0, 0]]))
        attention.project.bias.copy_(torch.tensor([-50.0, 50.0]))
        attention.score.weight.copy_(torch.tensor([[2.0, 1.0]]))
    return model_of(identity(), attention)


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_weights_and_logits_by_hand() -> None:
    trace = by_hand()(two_tokens())
    expected = [0.0, sigma(1), sigma(-1), 0.0]
    assert trace.weights["attention"].flatten().tolist() == pytest.approx(expected)
    assert trace.logits.item() == pytest.approx(3 * sigma(1) - 2 * sigma(-1) + 1)


def test_deletions_by_hand() -> None:
    """What is left keeps its gate: a softmax would give it all the weight."""
    deleted = by_hand().leave_one_out_logits(two_tokens())
    assert deleted.less[0, 1:3, 0].tolist() == pytest.approx([-2 * sigma(-1) + 1, 3 * sigma(1) + 1])
    assert deleted.whole.item() == pytest.approx(3 * sigma(1) - 2 * sigma(-1) + 1)


def test_a_site_says_that_it_is_no_distribution() -> None:
    assert not tiny_model(attention="gate").sites[0].normalised
    assert tiny_model(attention="additive").sites[0].normalised
    seen = []
    model = by_hand()
    model(two_tokens(), {"attention": lambda call: seen.append(call.site) or call.weights})
    assert seen == [model.sites[0]] and not seen[0].normalised


def test_rows_sum_to_whatever_they_sum_to(ragged: Batch) -> None:
    trace = tiny_model(attention="gate")(ragged)
    weights, mask = trace.weights["attention"], trace.masks["attention"]
    assert bool((weights[~mask] == 0).all())
    assert bool(((weights[mask] > 0) & (weights[mask] < 1)).all())
    assert (weights.sum(-1) - 1).abs().min() > 1e-3


def test_no_token_changes_the_gate_of_another() -> None:
    """Without an encoder nothing is left through which it could."""
    batch = tiny_batch((6,))
    for attention, moved in (("gate", False), ("additive", True)):
        model = tiny_model("none", attention, double=True)
        other = batch.texts["a"].tokens.clone()
        other[0, 1] = 39 if other[0, 1] != 39 else 38
        changed = type(batch.texts["a"])(other, batch.texts["a"].lengths, batch.texts["a"].mask)
        before = model(batch).weights["attention"][0, 0, 0, 2:]
        after = model(Batch(batch.ids, {"a": changed}, batch.labels)).weights["attention"]
        assert torch.equal(before, after[0, 0, 0, 2:]) is not moved


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "none"])
def test_deletions_equal_runs_on_shorter_texts(encoder: str) -> None:
    model = tiny_model(encoder, "gate", 3, double=True)
    batch = tiny_batch((4, 1, 9, 2))
    with torch.no_grad():
        found, expected = model.leave_one_out_logits(batch), delete_each(model, batch)
    torch.testing.assert_close(found.less, expected, atol=1e-10, rtol=0, equal_nan=True)


def test_scores_far_out_stay_finite() -> None:
    model = tiny_model("average", "gate", double=True)
    with torch.no_grad():
        model.attention.score.weight *= 1e4
        batch = tiny_batch((7, 5))
        found, expected = model.leave_one_out_logits(batch).less, delete_each(model, batch)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0, equal_nan=True)


def test_edits_mean_what_the_piece_says(ragged: Batch) -> None:
    """`permute` keeps the gates' values; `uniform` is a distribution all the same."""
    model = tiny_model(attention="gate")
    own = model(ragged).weights["attention"]
    moved = model(ragged, {"attention": permute(3)}).weights["attention"]
    assert torch.equal(own.sort(-1).values, moved.sort(-1).values) and not torch.equal(own, moved)
    equal = model(ragged, {"attention": uniform()}).weights["attention"]
    torch.testing.assert_close(equal.sum(-1), torch.ones(5, 1, 1))


def test_token_logits_and_padding(ragged: Batch) -> None:
    padded_and_alone(tiny_model(attention="gate", classes=3, double=True), ragged)


def test_masked_sigmoid_at_its_edges() -> None:
    scores = torch.tensor([[1e30, -1e30, math.nan], [0.0, math.log(3), 5.0]], requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, True, False]])
    weights = masked_sigmoid(scores, mask)
    torch.testing.assert_close(weights, torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.75, 0.0]]))
    weights.sum().backward()
    expected = torch.tensor([[0.0, 0.0, 0.0], [0.25, 0.1875, 0.0]])
    torch.testing.assert_close(scores.grad, expected)


def test_the_softmax_is_the_default() -> None:
    assert Additive(4).normalised and not gate(4).normalised
