"""How far attention can move unnoticed: searches against exact answers and the model itself."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.attributions import text_site
from heedful.errors import HeedfulError
from heedful.experiments import (
    ENTROPY_WITHIN,
    ExclusivityParams,
    ForwardBatch,
    NullSpaceParams,
    band,
    base_trace,
    exclusivity,
    furthest_attention,
    largest_jsd,
    null_space,
)
from heedful.metrics import entropy, jsd
from heedful.models import probabilities
from heedful.types import Keep
from layered import Layered, layered_batch
from reference import interventions as reference
from reference.null_space import furthest as furthest_vertex
from tiny import tiny_batch, tiny_model

LENGTHS = (6, 9, 15, 1, 12, 4)
ENTROPY_MATCHED = ExclusivityParams(entropy_within=ENTROPY_WITHIN)
KINDS = {
    "first": lambda: Layered(),
    "last": lambda: Layered(read="last"),
    "mean": lambda: Layered(read="mean"),
    "decoder": lambda: Layered(decoder=True),
    "linear3": lambda: tiny_model(classes=3, double=True),
    "single": lambda: tiny_model(classes=3),
}


@pytest.mark.parametrize("params", [ExclusivityParams(), ENTROPY_MATCHED], ids=["any", "entropy"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_what_is_found_is_feasible_by_the_model_itself(
    kind: str, params: ExclusivityParams
) -> None:
    model, batch = KINDS[kind](), layered_batch(LENGTHS)
    name = text_site(model).name
    trace = model(batch, keep=Keep(readout_weights=True))
    found = exclusivity(ForwardBatch.of(model, batch), params)
    weights, old = found.weights, trace.weights[name].detach().double()
    assert not bool((weights * ~trace.masks[name]).any())
    torch.testing.assert_close(weights.sum(-1), old.sum(-1), atol=1e-6, rtol=0)
    unread = (trace.readout_weights[name] <= 0)[:, None, :, None].expand_as(old)
    assert torch.equal(weights[unread], old[unread])
    before = reference.output(model, batch, {})
    after = reference.output(model, batch, {name: weights.to(trace.weights[name].dtype)})
    rows = torch.einsum("bq,bhqk->bhk", trace.readout_weights[name].double(), weights).mean(1)
    shown = torch.einsum("bq,bhqk->bhk", trace.readout_weights[name].double(), old).mean(1)
    for row in range(len(batch)):
        moved = reference.tvd(before[row], after[row])
        assert moved <= params.epsilon + 1e-6 and found.tvd[row].item() <= params.epsilon
        expected = reference.jsd(rows[row].tolist(), shown[row].tolist())
        assert found.jsd[row].item() == pytest.approx(expected, abs=1e-5)
        if params.entropy_within:
            gap = abs(float(entropy(rows[row])) - float(entropy(shown[row])))
            assert gap <= params.entropy_within * float(entropy(shown[row])) + 1e-5
    assert float(found.jsd.max()) > (0.02 if params.entropy_within else 0.1)


def test_the_search_never_beats_the_exact_answer_and_comes_near_it() -> None:
    model, batch = tiny_model(double=True), tiny_batch((6, 9, 15, 20, 30, 12))
    trace = base_trace(model, batch)
    known, mask = trace.token_logits["attention"], trace.masks["attention"][:, 0, 0]
    low, high = band(probabilities(trace.logits)[:, 1], known.bias[0], 0.01)
    exact = furthest_attention(
        known.values[..., 0], mask, low, high, trace.weights["attention"][:, 0]
    ).value
    found = exclusivity(ForwardBatch.of(model, batch)).jsd
    assert bool((found <= exact + 1e-9).all())
    assert float(found.mean()) > 0.7 * float(exact.mean())
    matched = exclusivity(ForwardBatch.of(model, batch), ENTROPY_MATCHED).jsd
    assert bool((matched <= exact + 1e-9).all()) and float(matched.mean()) < float(found.mean())


def test_more_room_and_more_steps_find_more() -> None:
    model, batch = Layered(), layered_batch(LENGTHS)
    few = exclusivity(ForwardBatch.of(model, batch), ExclusivityParams(steps=15)).jsd
    many = exclusivity(ForwardBatch.of(model, batch), ExclusivityParams(steps=60)).jsd
    assert bool((many >= few - 1e-12).all()) and float(many.sum()) > float(few.sum())
    wide = exclusivity(ForwardBatch.of(model, batch), ExclusivityParams(epsilon=0.2)).jsd
    assert float(wide.mean()) > float(many.mean())


def test_a_search_as_spread_out_begins_at_another_order_of_the_weights() -> None:
    """Where nothing moves the output, a peak may stand anywhere: the first step must have it
    elsewhere, and find nearly all there is to find."""
    model, batch = tiny_model(double=True), layered_batch((6, 9, 15))
    with torch.no_grad():
        model.decoder.weight.zero_()
        for each in model.attention.parameters():
            each.mul_(40)
    peaked = model(batch).weights["attention"][:, 0, 0].amax(-1) > 0.99
    found = exclusivity(ForwardBatch.of(model, batch), replace(ENTROPY_MATCHED, steps=1))
    assert int(peaked.sum()) == 2 and float(found.tvd.max()) == 0
    assert bool((found.jsd[peaked] > 0.69).all())


def test_exclusivity_ignores_batches_and_padding() -> None:
    model, params = Layered(), ExclusivityParams(steps=12)
    whole = exclusivity(ForwardBatch.of(model, layered_batch(LENGTHS)), params).jsd
    padded = exclusivity(ForwardBatch.of(model, layered_batch(LENGTHS, pad=3)), params).jsd
    torch.testing.assert_close(padded, whole, atol=1e-6, rtol=0)
    alone = exclusivity(
        ForwardBatch.of(model, layered_batch(LENGTHS).take(torch.tensor([2]))), params
    ).jsd
    torch.testing.assert_close(alone[0], whole[2], atol=1e-6, rtol=0)


def test_heads_can_be_moved_alike() -> None:
    model, batch = Layered(), layered_batch((8,))
    params = ExclusivityParams(same_in_all_heads=True)
    found = exclusivity(ForwardBatch.of(model, batch), params)
    old = base_trace(model, batch).weights["layer1"][0, :, 0]
    shift = (found.weights[0, :, 0] / old).log()
    shift = shift - shift.mean(-1, keepdim=True)
    torch.testing.assert_close(shift[0], shift[1], atol=1e-8, rtol=0)
    assert found.jsd[0] > 0


def test_one_token_cannot_move() -> None:
    found = exclusivity(ForwardBatch.of(tiny_model(double=True), tiny_batch((1, 6))))
    assert found.jsd[0] == 0 and math.isnan(found.ratio[0]) and 0 < found.ratio[1] <= 1


def test_the_largest_divergence_is_that_of_the_lightest_key() -> None:
    weights = torch.tensor([[0.5, 0.3, 0.2, 0.0], [1.0, 0.0, 0.0, 0.0]]).double()
    mask = torch.tensor([[True, True, True, False], [True, False, False, False]])
    corners = [float(jsd(torch.eye(4).double()[i], weights[0])) for i in range(3)]
    assert largest_jsd(weights, mask).tolist() == pytest.approx([max(corners), 0.0])
    assert corners.index(max(corners)) == 2


def test_wrong_searches_are_named() -> None:
    with pytest.raises(HeedfulError, match="at least 1 step"):
        exclusivity(ForwardBatch.of(Layered(), layered_batch((3,))), ExclusivityParams(steps=0))


@pytest.mark.parametrize("kind", ["first", "last", "decoder"])
def test_the_null_space_moves_attention_and_not_the_output(kind: str) -> None:
    """Heads of three dimensions: rank([V, 1]) is 4, so five keys and more are free."""
    model, batch = KINDS[kind](), layered_batch((1, 2, 4, 12))
    found = null_space(model, batch)
    assert found.keys.tolist() == [[3, 3], [4, 4], [6, 6], [14, 14]]
    assert found.rank.tolist() == [[3, 3], [4, 4], [4, 4], [4, 4]]
    assert found.freedom.tolist() == [[0, 0], [0, 0], [2, 2], [10, 10]]
    free = found.freedom > 0
    assert (found.jsd[~free] == 0).all() and (found.jsd[free] > 0).all()
    assert (found.tvd < 1e-9).all() and found.jsd.max() > 0.05


@pytest.mark.parametrize("decoder", [False, True])
def test_the_null_space_never_beats_all_vertices_and_comes_near_them(decoder: bool) -> None:
    found, exact = [], []
    for seed in range(3, 6):
        model, batch = Layered(decoder=decoder, seed=seed), layered_batch((4, 7, 10), seed)
        trace, name = base_trace(model, batch, values=True), text_site(model).name
        for row, n in enumerate(batch.texts["a"].lengths.tolist()):
            for head in range(2):
                alpha = trace.weights[name][row, head, 0, :n].numpy()
                exact.append(furthest_vertex(alpha, trace.values[name][row, head, :n].numpy()))
        found += null_space(model, batch).jsd.flatten().tolist()
    assert all(one <= other + 1e-8 for one, other in zip(found, exact, strict=True))
    assert sum(found) > 0.9 * sum(exact)


def test_null_space_of_equal_values_by_hand() -> None:
    """Two keys of equal value may trade all their weight: (.6, .1, .3) ↔ (0, .7, .3)."""
    from heedful.experiments.heads import _Row

    v = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    row = _Row(0, 0, 0, torch.arange(3), np.array([0.6, 0.1, 0.3]), np.c_[v, np.ones(3)], 2)
    best = row.furthest(np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert best.tolist() == pytest.approx([0.0, 0.7, 0.3], abs=1e-9)


def test_more_directions_reach_no_less() -> None:
    model, batch = Layered(), layered_batch((9, 12))
    few = null_space(model, batch, NullSpaceParams(directions=0))
    many = null_space(model, batch, NullSpaceParams(directions=12))
    assert (many.jsd >= few.jsd - 1e-9).all() and many.jsd.sum() > few.jsd.sum()


def test_null_space_ignores_batches_and_padding() -> None:
    model = Layered()
    whole = null_space(model, layered_batch((9, 5)))
    padded = null_space(model, layered_batch((9, 5), pad=3))
    alone = null_space(model, layered_batch((9, 5)).take(torch.tensor([1])))
    assert torch.allclose(whole.jsd, padded.jsd, atol=1e-6)
    assert torch.allclose(whole.jsd[1:], alone.jsd, atol=1e-6)


def test_null_space_of_single_precision_is_confirmed_by_the_model() -> None:
    model, batch = tiny_model("bilstm", classes=3), tiny_batch((20, 3))
    found = null_space(model, batch)
    assert found.freedom.tolist() == [[20 - (model.encoder.size + 1)], [0]]
    assert found.jsd[0] > 0 and found.tvd.max() < 1e-4
