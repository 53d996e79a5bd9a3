"""Short texts, exactly: against all orders there are, with every set of words asked once."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bag_of_words import BagOfWords, predicted
from heedful.experiments import (
    ERASURE_MEASURES,
    Draws,
    Grid,
    Search,
    all_subsets,
    curves_of,
    erasure_oracle,
    exact_orders,
    faithfulness,
    importance,
    oracle,
    search_gaps,
)
from heedful.perturbations import Memory, Subsets, WordRemoval
from heedful.words import word_mask
from reference.erasure import erasure as slow_erasure
from tiny import tiny_batch, tiny_model

BETTER = {name: 1 if each.higher_is_better else -1 for name, each in ERASURE_MEASURES.items()}
SHARES = ("0.05", "0.1", "0.2", "0.5")
AUDITED = Grid(points=5, single=16)
COARSE = Grid(shares=(0.3, 0.6), points=2, single=1)


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_no_order_beats_the_exact_one(n: int, seed: int) -> None:
    """Whatever the model says of each set of words: against every order, by the definitions."""
    generator = torch.Generator().manual_seed(seed)
    value = torch.rand(1, 1 << n, generator=generator).double()
    decision = (torch.rand(1, 1 << n, generator=generator) < 0.3).long()
    mask = torch.ones(1, n).bool()
    found = exact_orders(Subsets(5, torch.tensor([True]), mask, value, decision), Grid())

    def answer(left: frozenset[int]) -> tuple[float, int]:
        gone = sum(1 << word for word in range(n) if word not in left)
        return value[0, gone].item(), int(decision[0, gone])

    def reached(order: tuple[int, ...], measure: str) -> float:
        worst = -math.inf * BETTER[measure]
        number = slow_erasure(answer, order, SHARES)[measure]
        return BETTER[measure] * (worst if math.isnan(number) else number)

    for measure, scores in found.items():
        own = tuple(scores[0].argsort(descending=True).tolist())
        best = max(reached(order, measure) for order in permutations(range(n)))
        assert reached(own, measure) == pytest.approx(best, abs=1e-12), measure


@pytest.mark.parametrize("grid", [Grid(), AUDITED, COARSE])
@pytest.mark.parametrize("operator", ["delete", "unk"])
def test_exact_ceilings_are_the_best_of_all_orders(operator: str, grid: Grid) -> None:
    model, batch = tiny_model("cnn", classes=3, double=True, seed=3), tiny_batch((4, 5, 2, 1))
    label = predicted(model, batch)
    width = word_mask(batch.texts["a"]).shape[1]
    orders = [torch.tensor(order).double() for order in permutations(range(width))]
    maps = {str(i): order.expand(len(batch), -1) for i, order in enumerate(orders)}
    every = curves_of(WordRemoval(model, batch, label, operator), maps, grid)
    found = erasure_oracle(
        WordRemoval(model, batch, label, operator), {}, grid=grid, search=Search(1, 1, exact=width)
    )
    assert found.exact.all() and not found.limited.any()
    for measure, sign in BETTER.items():
        if measure == "flip_censored":
            continue
        table = torch.stack([sign * faithfulness(each)[measure] for each in every.values()])
        best = sign * table.nan_to_num(-torch.inf).amax(0)
        best = torch.where(best.isinf(), torch.nan, best)
        assert torch.allclose(found.values[measure], best, atol=1e-9, equal_nan=True), measure


def test_all_that_share_a_memory_ask_for_each_set_once() -> None:
    weights = {token: 0.3 * (token % 5) - 0.5 for token in range(4, 40)}
    model, batch = BagOfWords(weights), tiny_batch((7, 5))
    label, memory = torch.ones(2).long(), Memory()
    maps = {"one": torch.rand(2, 7).double()}
    importance(WordRemoval(model, batch, label, "delete", memory=memory), draws=Draws(4, 8))
    assert model.rows == 2**7 + 2**5
    known = curves_of(WordRemoval(model, batch, label, "delete", memory=memory), maps)
    search = Search(2, 1000, exact=8)
    erasure_oracle(
        WordRemoval(model, batch, label, "delete", memory=memory), maps, search=search, known=known
    )
    erasure_oracle(WordRemoval(model, batch, label, "delete", memory=memory), maps, known=known)
    assert model.rows == 2**7 + 2**5 and not len(memory)


def test_a_memory_with_fewer_words_is_filled_up() -> None:
    model, batch, memory = tiny_model(double=True), tiny_batch((6, 3)), Memory()
    removal = WordRemoval(model, batch, torch.tensor([1, 0]), "mask", memory=memory)
    assert all_subsets(removal, 4).short.tolist() == [False, True]
    assert all_subsets(removal, 6).short.all()
    assert all_subsets(removal, 2) is memory.subsets


def test_sets_are_asked_for_a_portion_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = tiny_model(double=True), tiny_batch((6, 3, 6, 5, 9))
    label = torch.ones(5).long()
    whole = all_subsets(WordRemoval(model, batch, label), 8)
    asked: list[int] = []
    plain = WordRemoval.answers

    def counted(self: WordRemoval, gone: Tensor) -> Any:
        asked.append(gone.shape[0] * gone.shape[1])
        return plain(self, gone)

    monkeypatch.setattr(oracle, "AT_ONCE", 64)
    monkeypatch.setattr(WordRemoval, "answers", counted)
    parts = all_subsets(WordRemoval(model, batch, label), 8)
    assert torch.allclose(whole.value, parts.value, atol=1e-9) and max(asked) == 64
    assert whole.short.tolist() == [True, True, True, True, False]


def test_longer_texts_beside_short_ones_are_searched_as_ever() -> None:
    model, batch = tiny_model("cnn", double=True), tiny_batch((4, 12, 6))
    label, mask = predicted(model, batch), word_mask(batch.texts["a"])
    starts = {"one": (torch.sin(7.3 * torch.arange(12)) * mask).double()}
    both = erasure_oracle(
        WordRemoval(model, batch, label, "unk"), starts, search=Search(2, 30, exact=6)
    )
    plain = erasure_oracle(WordRemoval(model, batch, label, "unk"), starts, search=Search(2, 30))
    assert both.exact.tolist() == [True, False, True] and not plain.exact.any()
    for measure, sign in BETTER.items():
        one, other = both.values[measure], plain.values[measure]
        assert torch.allclose(one[1], other[1], atol=1e-9, equal_nan=True)
        assert (sign * (one - other).nan_to_num() >= -1e-9).all()


def test_a_gap_is_what_a_search_has_missed() -> None:
    """A search that forgets nothing reaches the optimum it aims at; one of a single word's pool
    does not. Nothing is asked of the model for it."""
    model, batch = tiny_model("bilstm", double=True, seed=5), tiny_batch((6, 5, 6))
    label, memory = predicted(model, batch), Memory()
    best = erasure_oracle(
        WordRemoval(model, batch, label, "mask", memory=memory), {}, search=Search(1, 1, exact=6)
    )
    wide, poor = (
        erasure_oracle(WordRemoval(model, batch, label, "mask", memory=memory), {}, search=search)
        for search in (Search(200, 10**6), Search(1, 1))
    )
    assert not len(memory)
    gaps = search_gaps(best, wide)
    assert set(gaps) == set(ERASURE_MEASURES) - {"flip_censored"}
    for measure in ("comprehensiveness", "sufficiency"):
        assert torch.allclose(gaps[measure], torch.zeros(3).double(), atol=1e-6)
    missed = search_gaps(best, poor)
    assert all((each >= 0).all() for each in missed.values())
    assert missed["comprehensiveness"].mean() > 1e-4
    expected = (best.values["deletion_auc"] - poor.values["deletion_auc"]).neg()
    assert torch.allclose(missed["deletion_auc"], expected.clamp(min=0))


def test_a_decision_that_a_search_never_flips_counts_as_all_words() -> None:
    model, batch = tiny_model(double=True), tiny_batch((4,))
    found = erasure_oracle(
        WordRemoval(model, batch, torch.tensor([1]), "mask"), {}, search=Search(exact=4)
    )
    flips = torch.tensor([0.25]).double()
    values = {**found.values, "flip_share": flips}
    never = {**found.values, "flip_share": torch.full((1,), torch.nan).double()}
    one, other = (type(found)(v, found.scores, found.limited, found.exact) for v in (values, never))
    assert search_gaps(one, other)["flip_share"].item() == 0.75
    assert search_gaps(other, other)["flip_share"].item() == 0.0
