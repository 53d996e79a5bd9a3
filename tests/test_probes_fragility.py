"""Fragile explanations: the search with exact derivatives, swaps by hand (Ghorbani et al. 2019)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from bag_of_words import BagOfWords, texts
from heedful.errors import HeedfulError
from heedful.experiments import (
    EXPLAINED,
    Bounds,
    ForwardBatch,
    attacked,
    compared,
    explained_at,
    neighbours,
    slope_of_share,
    swapped,
)
from heedful.metrics import top_k
from heedful.types import Trace
from probing import find, table
from reference.fragility import attack
from tiny import rows_of, tiny_batch, tiny_model, tiny_split

LENGTHS = (4, 1, 7, 2, 5)
BOUNDS = Bounds(radius=0.2, steps=4, swaps=10, k=2, seed=5)
GOOD, FINE, DULL, SLOW = 4, 5, 6, 7


def test_maps_are_compared_by_hand() -> None:
    """Of the top two words one stays there; three pairs keep their order and three turn."""
    before = torch.tensor([[4.0, 3.0, 2.0, 1.0], [2.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    after = torch.tensor([[4.0, 1.0, 2.0, 3.0], [torch.nan] * 4], dtype=torch.float64)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    found = compared(before, after, mask, 2)
    assert found["overlap"][0] == 0.5 and found["tau"][0] == 0
    assert found["overlap"][1].isnan() and found["tau"][1].isnan()


def test_neighbours_by_hand() -> None:
    """Embeddings on a line, at 3, 0.5, −1 and −2."""
    model = BagOfWords({GOOD: 3.0, FINE: 0.5, DULL: -1.0, SLOW: -2.0})
    batch = texts([GOOD, FINE], [DULL, SLOW])
    near = neighbours([ForwardBatch(model, batch, Trace(torch.zeros(2, 1), {}, {}))])
    assert near[[GOOD, FINE, DULL, SLOW]].tolist() == [FINE, DULL, SLOW, DULL]


@pytest.mark.parametrize("name", EXPLAINED)
@pytest.mark.parametrize("encoder", ["none", "cnn"])
def test_the_search_is_that_of_one_text_at_a_time(encoder: str, name: str) -> None:
    """There with second derivatives by autograd, here from gradients on both sides."""
    model, batch = tiny_model(encoder, double=True, seed=3), tiny_batch(LENGTHS, seed=2)
    forward = ForwardBatch.of(model, batch)
    own = model.embed(batch)["a"]
    after = attacked(name, forward, own, BOUNDS)
    before = explained_at(name, model, batch, forward.predicted, own).scores
    found = compared(before, after, batch.texts["a"].mask, BOUNDS.k)
    for row, length in enumerate(LENGTHS):
        one = batch.take(torch.tensor([row]))
        old, new = attack(model, one, name, BOUNDS.radius, BOUNDS.steps, BOUNDS.k)
        np.testing.assert_allclose(before[row, 1 : length + 1], old, atol=1e-9)
        np.testing.assert_allclose(after[row, 1 : length + 1], new, rtol=1e-4, atol=1e-7)
        tops = [set(np.argsort(-np.array(scores))[: BOUNDS.k]) for scores in (old, new)]
        assert found["overlap"][row] == len(tops[0] & tops[1]) / min(BOUNDS.k, length)
        if length > 1:
            assert float(found["tau"][row]) == pytest.approx(kendalltau(old, new).statistic)


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_slope_of_a_recurrent_model_is_that_of_differences(name: str) -> None:
    model, batch = tiny_model("bilstm", double=True), tiny_batch((5, 3))
    forward, own = ForwardBatch.of(model, batch), model.embed(batch)["a"]
    mask = batch.texts["a"].mask

    def scores(at: torch.Tensor) -> torch.Tensor:
        return explained_at(name, model, batch, forward.predicted, at).scores

    top = top_k(scores(own), mask, 2)
    way = torch.randn(own.shape, generator=torch.Generator().manual_seed(1), dtype=own.dtype)

    def share(size: float) -> torch.Tensor:
        found = scores(own + size * way)
        return (found * top).sum(-1) / found.sum(-1)

    numbers = (share(1e-5) - share(-1e-5)) / 2e-5
    slope = slope_of_share(name, forward, own, top)
    torch.testing.assert_close((slope * way).sum((1, 2)), numbers, rtol=1e-4, atol=1e-6)


def test_swaps_are_tried_one_by_one() -> None:
    """The lowest τ of all swaps that keep the prediction, found by swapping each word."""
    model, batch = tiny_model("none", double=True, seed=3), tiny_batch((6,), seed=2)
    forward = ForwardBatch.of(model, batch)
    near = neighbours([forward])
    worst, _ = swapped("attention", forward, near, BOUNDS)
    (row,) = rows_of(batch)
    old = forward.trace.weights["attention"][0, 0, 0, 1:-1].tolist()
    taus = []
    for place in range(1, 7):
        tokens = batch.texts["a"].tokens.clone()
        tokens[0, place] = near[row[place]]
        batch.texts["a"].tokens.copy_(tokens)
        trace = model(batch)
        if bool((trace.logits.argmax(-1) == forward.predicted).all()):
            new = trace.weights["attention"][0, 0, 0, 1:-1].tolist()
            taus.append(kendalltau(old, new).statistic)
        batch.texts["a"].tokens[0, place] = row[place]
    found = kendalltau(old, worst[0, 1:-1].tolist()).statistic
    assert found == pytest.approx(min(taus)) and found < 1


def test_the_search_moves_more_than_chance() -> None:
    """And a larger ball lets it move further; attention that never changes cannot be moved."""
    split = tiny_split((6, 8, 7, 9))
    small, large = (
        table(find("fragility", tiny_model("none", double=True), split, radius=r, k=2), split)
        for r in (0.05, 0.5)
    )
    name = "tau_{}_gradient"
    assert large[name.format("attack")].mean() < small[name.format("attack")].mean()
    assert small[name.format("attack")].mean() < small[name.format("noise")].mean()
    model = tiny_model("none", "dot", double=True)
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter.zero_()
    flat = table(find("fragility", model, split, k=2), split)
    assert (flat["overlap_attack_attention"] == 1).all()


@pytest.mark.parametrize("wrong", [{"radius": 0.0}, {"steps": 0}, {"swaps": 0}, {"limit": 0}])
def test_bad_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(HeedfulError, match="radius, steps, swaps, k, limit above 0"):
        find("fragility", tiny_model(), tiny_split((2,)), **wrong)
