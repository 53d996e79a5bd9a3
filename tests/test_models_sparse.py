"""Attention that leaves tokens out: sparsemax, entmax, and gates that are 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from entmax import entmax15
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import (
    Hard,
    HardKuma,
    OneSequence,
    build,
    check,
    masked_entmax,
    masked_sparsemax,
)
from heedful.specs import ModelSpec
from heedful.types import Batch
from reference import sparse
from reference.deletion import delete_each
from tiny import crop, padded_and_alone, tiny_batch, tiny_model

NEW = ("sparsemax", "entmax", "hard")
SHARPER = {"sparsemax": 1.5, "entmax": 3, "hard": 10}
FUNCTIONS = {
    "sparsemax": (masked_sparsemax, sparse.sparsemax),
    "entmax": (masked_entmax, sparse.entmax),
}
SHAPES = [(1.0, 1.0), (0.7, 0.7), (2.0, 5.0), (5.0, 0.8), (0.6, 3.0), (30.0, 40.0)]
numbers = st.floats(-20, 20, allow_nan=False)


def sharp(
    attention: str, encoder: str = "bilstm", classes: int = 2, double: bool = False
) -> OneSequence:
    """Scores so far apart that some weights are 0, and some gates 1."""
    model = tiny_model(encoder, attention, classes, double=double)
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter *= SHARPER[attention]
    return model


def everything(scores: Tensor) -> Tensor:
    return torch.ones_like(scores, dtype=torch.bool)


def kuma(a: float, b: float) -> HardKuma:
    return HardKuma(*torch.tensor([[a], [b]], dtype=torch.float64))


def test_sparsemax_by_hand() -> None:
    """τ = (1 + 0.5 − 1)/2 = 0.25, and −1 is below it. Apart by 1 or more, one takes all."""
    scores = torch.tensor([[1.0, 0.5, -1.0], [3.0, 2.0, 1.9], [7.0, 7.0, 7.0]])
    expected = torch.tensor([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0], [1 / 3] * 3])
    torch.testing.assert_close(masked_sparsemax(scores, everything(scores)), expected)


def test_entmax_by_hand() -> None:
    """0.8² + 0.6² = 1 with 0.8 − 0.6 half of 0.4. Apart by 2 or more, one takes all."""
    scores = torch.tensor([[0.4, 0.0, -9.0], [2.0, 0.0, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[0.64, 0.36, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(masked_entmax(scores, everything(scores)), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.lists(numbers, min_size=1, max_size=12))
def test_weights_are_the_papers(name: str, drawn: list[float]) -> None:
    ours, slow = FUNCTIONS[name]
    scores = torch.tensor([drawn], dtype=torch.float64)
    found = ours(scores, everything(scores))[0]
    assert found.tolist() == pytest.approx(slow(drawn), abs=1e-7)
    assert float(found.sum()) == pytest.approx(1, abs=1e-9)


@given(st.lists(numbers, min_size=1, max_size=12))
def test_the_restated_entmax_is_the_packages(drawn: list[float]) -> None:
    found = entmax15(torch.tensor(drawn, dtype=torch.float64), -1).tolist()
    assert sparse.entmax(drawn) == pytest.approx(found, abs=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_masked_has_no_part(name: str) -> None:
    """Whatever stands there, no number among it; a row of nothing is all zeros."""
    ours, slow = FUNCTIONS[name]
    rows = [[0.3, math.nan, -0.2, 9.0], [math.nan] * 4, [1e30, -1e30, 0.0, 1.0]]
    scores = torch.tensor(rows, requires_grad=True)
    mask = torch.tensor([[True, False, True, False], [False] * 4, [True] * 4])
    weights = ours(scores, mask)
    kept = slow([0.3, -0.2])
    expected = [[kept[0], 0.0, kept[1], 0.0], [0.0] * 4, [1.0, 0.0, 0.0, 0.0]]
    torch.testing.assert_close(weights, torch.tensor(expected))
    weights[:, 0].sum().backward()
    assert scores.grad is not None and bool((scores.grad[~mask] == 0).all())
    assert bool(scores.grad.isfinite().all()) and float(scores.grad[0, 0]) > 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_are_those_of_small_steps(name: str) -> None:
    scores = torch.tensor([[1.0, 0.6, 0.5, -2.0]], dtype=torch.float64, requires_grad=True)

    def weighted(x: Tensor) -> Tensor:
        return FUNCTIONS[name][0](x, everything(x))

    assert weighted(scores)[0, 3].item() == 0
    assert torch.autograd.gradcheck(weighted, (scores,))


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_chances_and_mean_are_the_integrals(a: float, b: float) -> None:
    gate = kuma(a, b)
    found = [float(value) for value in (gate.p_zero(), gate.p_one(), gate.mean())]
    assert found == pytest.approx(sparse.hard_kuma(a, b), abs=1e-6)


def test_an_even_gate_by_hand() -> None:
    """a = b = 1 is uniform: 0.1 of 1.2 falls below 0, as much above 1, the middle is ½."""
    gate = kuma(1.0, 1.0)
    found = [float(v) for v in (gate.p_zero(), gate.p_one(), gate.mean(), gate.likeliest())]
    assert found == pytest.approx([1 / 12, 1 / 12, 0.5, 0.5])


def test_the_likeliest_of_three() -> None:
    """Shapes that lean to 0, to 1, and to neither."""
    a, b = torch.tensor([0.1, 9.0, 2.0]), torch.tensor([2.0, 0.1, 2.0])
    gate = HardKuma(a, b)
    zero, one, mean = gate.likeliest().tolist()
    assert (zero, one) == (0.0, 1.0) and mean == pytest.approx(float(gate.mean()[2]))
    assert 0 < mean < 1


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_draws_have_the_chances(a: float, b: float) -> None:
    size = 40_000
    gate = HardKuma(torch.full((size,), a), torch.full((size,), b))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn = gate.sample()
    p_zero, p_one, _ = sparse.hard_kuma(a, b)
    assert float((drawn == 0).float().mean()) == pytest.approx(p_zero, abs=0.01)
    assert float((drawn == 1).float().mean()) == pytest.approx(p_one, abs=0.01)
    assert float(drawn.min()) >= 0 and float(drawn.max()) <= 1


@pytest.mark.parametrize("features", [-1e3, -20.0, 0.0, 20.0, 1e3])
def test_gates_far_out_stay_numbers(features: float) -> None:
    attention = Hard(4).train()
    given_ = torch.full((1, 500, 2), features, requires_grad=True)
    attention.scores(given_).sum().backward()
    assert given_.grad is not None and bool(given_.grad.isfinite().all())
    assert bool(attention.eval().scores(given_).isfinite().all())


def test_a_hard_attention_draws_in_training_only(ragged: Batch) -> None:
    model = sharp("hard")
    assert torch.equal(model(ragged).logits, model(ragged).logits)
    weights, mask = model(ragged).weights["attention"], model(ragged).masks["attention"]
    assert {0.0, 1.0} <= set(weights[mask].tolist()) and bool((weights[~mask] == 0).all())
    assert not model.sites[0].normalised
    model.train()
    first, again, other = (_drawn(model, ragged, seed) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def _drawn(model: Callable[[Batch], object], batch: Batch, seed: int) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return model(batch).weights["attention"]


@pytest.mark.parametrize("attention", NEW)
def test_the_task_reaches_the_attention(attention: str, ragged: Batch) -> None:
    model = sharp(attention).train()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model(ragged).logits.square().sum().backward()
    slopes = [parameter.grad for parameter in model.attention.parameters()]
    assert all(slope is not None and bool(slope.isfinite().all()) for slope in slopes)
    assert sum(float(slope.abs().sum()) for slope in slopes if slope is not None) > 0


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "none"])
@pytest.mark.parametrize("attention", NEW)
def test_deletions_equal_runs_on_shorter_texts(attention: str, encoder: str) -> None:
    model = sharp(attention, encoder, 3, double=True)
    batch = tiny_batch((4, 1, 9, 2))
    with torch.no_grad():
        found, expected = model.leave_one_out_logits(batch), delete_each(model, batch)
    torch.testing.assert_close(found.less, expected, atol=1e-10, rtol=0, equal_nan=True)
    torch.testing.assert_close(found.whole, model(batch).logits, atol=1e-10, rtol=0)


@pytest.mark.parametrize("attention", NEW)
def test_padding_changes_nothing_and_logits_are_products(attention: str, ragged: Batch) -> None:
    trace, alone = padded_and_alone(sharp(attention, classes=3, double=True), ragged)
    wide, narrow = alone.weights["attention"][0], trace.weights["attention"][3]
    torch.testing.assert_close(crop(narrow, wide), wide[..., : narrow.shape[-1]])


@pytest.mark.parametrize("attention", ["sparsemax", "entmax"])
def test_a_text_of_one_token_gives_it_all(attention: str, ragged: Batch) -> None:
    weights = sharp(attention)(ragged).weights["attention"]
    assert weights[1, 0, 0, 1].item() == 1.0
    assert bool((weights == 0)[ragged.texts["a"].mask[:, None, None]].any())
    torch.testing.assert_close(weights.sum(-1), torch.ones(5, 1, 1))


@pytest.mark.parametrize("attention", NEW)
def test_hierarchies_have_them_at_both_levels(attention: str, ragged: Batch) -> None:
    spec = ModelSpec("average", attention, hidden=8, family="hierarchical")
    model = build(spec, torch.randn(40, 5, generator=torch.Generator().manual_seed(0)), 2, 0)
    trace = model.eval()(ragged)
    for site in model.sites:
        weights, mask = trace.weights[site.name], trace.masks[site.name]
        assert bool((weights[~mask.expand_as(weights)] == 0).all())
        assert site.normalised is (attention != "hard")
        if site.normalised:
            torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())


def test_pairs_have_no_hard_attention() -> None:
    with pytest.raises(HeedfulError, match="attention of pairs 'hard'"):
        check(ModelSpec(family="pair", attention="hard", decoder="query"))
