"""Importance in either direction: on paper, against the definition, and what it must not reward."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from erased import erasure_of, log_odds
from heedful.errors import HeedfulError
from heedful.measures.importance import Draws, captured, importance, measured, oracle
from heedful.models.output import probability
from heedful.removal.answers import answers
from heedful.removal.memory import Memory
from heedful.saliency.integrated_gradients import integrated_gradients
from heedful.types import Batch, Model
from heedful.words import to_words, word_mask
from reference.bag_of_words import BagOfWords, weights_as_scores
from reference.importance import captured as slow_captured
from reference.importance import importance as slow_importance
from tiny import END, START, batch_of, tiny_batch, tiny_model

A, B, X, Y, Z = 10, 11, 20, 21, 22
ONE = torch.tensor([1])


def texts(*rows: list[int]) -> Batch:
    ids = tuple(f"text-{i}" for i in range(len(rows)))
    return batch_of([[START, *row, END] for row in rows], ids, [1] * len(rows), 0)


def test_log_odds_on_paper() -> None:
    """They fall by exactly a word's weight, whatever else is gone: so importance is its size."""
    model, batch = BagOfWords({A: 2.0, B: -1.0}), texts([A, X, B, Y])
    for draws in (Draws(exact=0), Draws(exact=4)):
        found = importance(model, batch, ONE, "delete", log_odds, draws)
        assert found.words[0].tolist() == pytest.approx([2.0, 0.0, 1.0, 0.0])
    scores = torch.tensor([[3.0, 0.0, -2.0, 1.0]])
    # places A 0, B 1, Y 2, X 3 of 0–3: (2 · 1 + 1 · 2/3) / 3
    assert captured(scores, found.words, found.mask).item() == pytest.approx(8 / 9)
    assert oracle(found).item() == pytest.approx(8 / 9)


def test_words_that_cancel_each_other_both_matter() -> None:
    """Taking both away changes nothing: who looks at the set alone sees no difference between
    them and words that say nothing, and who looks at the predicted class rewards half of them."""
    model, batch = BagOfWords({A: 3.0, B: -3.0, X: 0.5}), texts([A, B, X, Y])
    found = importance(model, batch, ONE, "delete")
    both = torch.tensor([[2.0, 1.9, 1.0, 0.0]])
    half = torch.tensor([[2.0, 0.0, 1.9, 1.0]])
    neither = torch.tensor([[0.0, 0.1, 1.0, 2.0]])
    values = [captured(each, found.words, found.mask).item() for each in (both, half, neither)]
    assert values[0] == pytest.approx(oracle(found).item()) and values[0] > values[1] > values[2]
    set_alone = answers(
        model, batch, (probability, ONE), torch.tensor([[[1, 1, 0, 0], [0] * 4]]).bool(), "delete"
    ).value[0]
    assert set_alone[0] == pytest.approx(set_alone[1].item())
    erased = erasure_of(model, batch, ONE, {"both": both, "half": half}, "delete")
    signed = {name: each["comprehensiveness"].item() for name, each in erased.items()}
    assert signed["half"] >= signed["both"]  # erasure asks another question


@pytest.mark.parametrize("operator", ["delete", "mask", "zero"])
@pytest.mark.parametrize("encoder", ["average", "bilstm"])
def test_exact_importance_is_the_definition(encoder: str, operator: str) -> None:
    model, batch = tiny_model(encoder, double=True), tiny_batch((7, 3, 5))
    label = torch.tensor([1, 0, 1])
    found = importance(model, batch, label, operator, draws=Draws(exact=7))
    for row in range(len(batch)):
        words = word_mask(batch.texts["a"])[row].nonzero().flatten().tolist()
        slow = slow_importance(_value(model, batch, label, row, operator), len(words))
        assert found.words[row, words].tolist() == pytest.approx(slow, abs=1e-9)
        assert found.words[row].sum().item() == pytest.approx(sum(slow))


def _value(model: Model, batch: Batch, label: Tensor, row: int, operator: str):  # type: ignore[no-untyped-def]
    mask = word_mask(batch.texts["a"])
    words = mask[row].nonzero().flatten().tolist()
    seen: dict[frozenset[int], float] = {}

    def value(gone: frozenset[int]) -> float:
        if gone not in seen:
            sets = torch.zeros(len(mask), 1, mask.shape[1], dtype=torch.bool)
            sets[row, 0, [words[i] for i in gone]] = True
            seen[gone] = (
                answers(model, batch, (probability, label), sets, operator).value[row, 0].item()
            )
        return seen[gone]

    return value


def test_drawn_orders_come_near_the_exact_importance() -> None:
    model, batch, label = tiny_model(double=True), tiny_batch((7,)), ONE
    exact = importance(model, batch, label, "mask", draws=Draws(exact=7)).words
    errors = [
        (importance(model, batch, label, "mask", draws=Draws(orders, 0)).words - exact)
        .norm()
        .item()
        for orders in (8, 800)
    ]
    assert errors[1] < 0.3 * errors[0] and errors[1] < 0.05 * exact.norm().item()


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 5)), min_size=2, max_size=6).filter(
        lambda pairs: sum(weight for _, weight in pairs) > 0
    )
)
@settings(max_examples=60)
def test_captured_is_the_mean_over_k_and_over_ties(pairs: list[tuple[int, int]]) -> None:
    scores, weights = (
        torch.tensor([column], dtype=torch.float64) for column in zip(*pairs, strict=True)
    )
    mask = torch.ones_like(scores).bool()
    value = captured(scores, weights, mask).item()
    assert value == pytest.approx(slow_captured(scores[0].tolist(), weights[0].tolist()))
    assert captured(-scores, weights, mask).item() == pytest.approx(value)  # signs do not matter
    best = captured(weights, weights, mask).item()
    assert 1 - best - 1e-9 <= value <= best + 1e-9
    assert captured(0 * scores, weights, mask).item() == pytest.approx(0.5)  # all tied: chance


def test_signs_and_padding_do_not_matter() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 4, 6))
    label = torch.tensor([1, 0, 1])
    scores = to_words(integrated_gradients(model, batch, label), batch.texts["a"])
    found = importance(model, batch, label, "mask")
    both = measured({"signed": scores, "size": scores.abs()}, found)
    for name in both["signed"]:
        assert torch.equal(both["signed"][name], both["size"][name])
    for row, size in enumerate((9, 4, 6)):
        alone = batch.take(torch.tensor([row]))
        one = importance(model, alone, label[row : row + 1], "mask")
        assert torch.allclose(one.words[0], found.words[row, : one.words.shape[1]], atol=1e-9), size


def test_what_cannot_be_scored_is_undefined() -> None:
    model = BagOfWords({A: 2.0})
    found = importance(model, texts([A], [X, Y], [A, X]), torch.ones(3).long(), "delete")
    value = captured(torch.ones(3, 2), found.words, found.mask)
    assert value.isnan().tolist() == [True, True, False]  # one word; nothing matters; fine
    broken = torch.tensor([[1.0, 2.0], [1.0, 2.0], [torch.nan, 1.0]])
    assert captured(broken, found.words, found.mask)[2].isnan()


def test_all_explanations_share_the_same_runs() -> None:
    model, batch = BagOfWords({A: 2.0, B: 1.0}), texts([A, X, B, Y, Z, A, X, B, Y])
    memory = Memory()
    found = importance(model, batch, ONE, "delete", memory=memory)
    assert model.rows <= 16 * 10 and len(memory) <= model.rows
    runs = model.rows
    measured({name: weights_as_scores(model, batch) for name in "abcdef"}, found)
    importance(model, batch, ONE, "delete", memory=memory)
    assert model.rows == runs


@pytest.mark.parametrize("draws", [{"orders": 6}, {"orders": 0}, {"exact": 17}, {"exact": -1}])
def test_impossible_draws_are_refused(draws: dict[str, int]) -> None:
    with pytest.raises(HeedfulError, match=next(iter(draws))):
        Draws(**draws)
