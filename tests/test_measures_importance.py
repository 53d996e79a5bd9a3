"""Importance in either direction: on paper, against the definition, and what it must not reward."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bag_of_words import BagOfWords, texts, weights_as_scores
from erased import erasure_of, log_odds
from heedful.attributions import integrated_gradients
from heedful.errors import HeedfulError
from heedful.experiments import Draws, Importance, captured, importance, importance_oracle, measured
from heedful.perturbations import Memory, WordRemoval
from heedful.types import Batch, Model
from heedful.words import to_words, word_mask
from reference.importance import captured as slow_captured
from reference.importance import importance as slow_importance
from tiny import tiny_batch, tiny_model

A, B, X, Y, Z = 10, 11, 20, 21, 22
ONE = torch.tensor([1])


def best(found: Importance) -> float:
    return importance_oracle(found)["importance_captured"].item()


def test_log_odds_on_paper() -> None:
    """They fall by exactly a word's weight, whatever else is gone: so importance is its size."""
    model, batch = BagOfWords({A: 2.0, B: -1.0}), texts([A, X, B, Y])
    for draws in (Draws(exact=0), Draws(exact=4)):
        found = importance(WordRemoval(model, batch, ONE, "delete", log_odds), draws)
        assert found.words[0].tolist() == pytest.approx([2.0, 0.0, 1.0, 0.0])
    scores = torch.tensor([[3.0, 0.0, -2.0, 1.0]])
    # A is among the top k for k = 1, 2, 3, B for k = 2, 3; k weighs 1/2, 1/6, 1/12, in all 3/4.
    # So A counts 1 and B 1/3: (2 · 1 + 1 · 1/3) / 3 = 7/9. A random order holds
    # (1 + 1/3 + 1/9 + 0) / 4 = 13/36: (28/36 − 13/36) / (23/36)
    assert captured(scores, found.words, found.mask).item() == pytest.approx(15 / 23)
    assert best(found) == pytest.approx(15 / 23)


def test_a_wrong_word_at_the_top_costs_half() -> None:
    """Of sixteen words one decides. In the second place it is nearly found by an average over all
    k, and a reader sees another word first."""
    importance = torch.zeros(1, 16).double()
    importance[0, 3] = 1.0
    scores = torch.rand(1, 16, generator=torch.Generator().manual_seed(0)).double()
    scores[0, 3], scores[0, 5] = 2.0, 3.0
    mask = torch.ones(1, 16).bool()
    even, early = (captured(scores, importance, mask, how).item() for how in ("evenly", "early"))
    assert even == pytest.approx(1 - 2 / 15) and early < 0.5
    scores[0, 5] = 1.0
    assert captured(scores, importance, mask).item() == pytest.approx(1.0)


def test_words_that_cancel_each_other_both_matter() -> None:
    """Taking both away changes nothing: who looks at the set alone sees no difference between
    them and words that say nothing, and who looks at the predicted class rewards half of them."""
    model, batch = BagOfWords({A: 3.0, B: -3.0, X: 0.5}), texts([A, B, X, Y])
    found = importance(WordRemoval(model, batch, ONE, "delete"))
    both = torch.tensor([[2.0, 1.9, 1.0, 0.0]])
    half = torch.tensor([[2.0, 0.0, 1.9, 1.0]])
    neither = torch.tensor([[0.0, 0.1, 1.0, 2.0]])
    values = [captured(each, found.words, found.mask).item() for each in (both, half, neither)]
    assert values[0] == pytest.approx(best(found)) and values[0] > values[1] > values[2]
    set_alone = (
        WordRemoval(model, batch, ONE, "delete")
        .answers(torch.tensor([[[1, 1, 0, 0], [0] * 4]]).bool())
        .value[0]
    )
    assert set_alone[0] == pytest.approx(set_alone[1].item())
    erased = erasure_of(model, batch, ONE, {"both": both, "half": half}, "delete")
    signed = {name: each["comprehensiveness"].item() for name, each in erased.items()}
    assert signed["half"] >= signed["both"]  # erasure asks another question


def test_shapley_values_are_exact_or_drawn() -> None:
    """They add up to what the whole text has over none of its words."""
    model, batch = BagOfWords({A: 2.0, B: -1.0}), texts([A, X, B, Y])
    found = importance(WordRemoval(model, batch, ONE, "delete", log_odds), Draws(4, 4))
    assert found.shapley[0].tolist() == pytest.approx([2.0, 0.0, -1.0, 0.0])
    tiny, some, label = tiny_model(double=True), tiny_batch((7, 9)), torch.tensor([1, 0])
    both = importance(WordRemoval(tiny, some, label, "mask"), draws=Draws(4, 7))
    sets = torch.stack([torch.zeros(2, 9), torch.ones(2, 9)], 1).bool()
    ends = WordRemoval(tiny, some, label, "mask").answers(sets).value
    for scores in (both.shapley, both.drawn):
        assert torch.allclose(scores.sum(-1), ends[:, 0] - ends[:, 1], atol=1e-9)
    assert not torch.allclose(both.shapley[0], both.drawn[0], atol=1e-6)
    assert torch.equal(both.shapley[1], both.drawn[1])


@pytest.mark.parametrize("operator", ["delete", "mask", "zero"])
@pytest.mark.parametrize("encoder", ["average", "bilstm"])
def test_exact_importance_is_the_definition(encoder: str, operator: str) -> None:
    model, batch = tiny_model(encoder, double=True), tiny_batch((7, 3, 5))
    label = torch.tensor([1, 0, 1])
    found = importance(WordRemoval(model, batch, label, operator), draws=Draws(exact=7))
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
                WordRemoval(model, batch, label, operator).answers(sets).value[row, 0].item()
            )
        return seen[gone]

    return value


def test_drawn_orders_come_near_the_exact_importance() -> None:
    model, batch, label = tiny_model(double=True), tiny_batch((7,)), ONE
    exact = importance(WordRemoval(model, batch, label, "mask"), draws=Draws(exact=7)).words
    errors = [
        (importance(WordRemoval(model, batch, label, "mask"), draws=Draws(orders, 0)).words - exact)
        .norm()
        .item()
        for orders in (8, 800)
    ]
    assert errors[1] < 0.3 * errors[0] and errors[1] < 0.05 * exact.norm().item()


@pytest.mark.parametrize("discount", ["early", "evenly", "logarithmic"])
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 5)), min_size=2, max_size=5).filter(
        lambda pairs: sum(weight for _, weight in pairs) > 0
    )
)
@settings(max_examples=40)
def test_captured_is_the_mean_over_k_and_over_ties(
    discount: str, pairs: list[tuple[int, int]]
) -> None:
    scores, weights = (
        torch.tensor([column], dtype=torch.float64) for column in zip(*pairs, strict=True)
    )
    mask = torch.ones_like(scores).bool()
    value = captured(scores, weights, mask, discount).item()
    slow = slow_captured(scores[0].tolist(), weights[0].tolist(), discount)
    assert value == pytest.approx(slow, abs=1e-9)
    unsigned = captured(-scores, weights, mask, discount).item()
    assert unsigned == pytest.approx(value)  # signs do not matter
    assert -1 - 1e-9 <= value <= captured(weights, weights, mask, discount).item() + 1e-9
    tied = captured(0 * scores, weights, mask, discount).item()
    assert tied == pytest.approx(0.0, abs=1e-9)  # chance


def test_the_oracle_of_few_draws_is_that_of_many() -> None:
    """Words that matter, more or less, and draws around that: the middle of an order scored on its
    own draws and on others is what the best order captures in truth."""
    generator = torch.Generator().manual_seed(0)
    true = torch.rand(300, 1, 12, generator=generator).double()
    noise = torch.rand(300, 4, 12, generator=generator).double()
    parts, mask = true + noise, torch.ones(300, 12).bool()
    drawn = Importance(parts.mean(1), parts, mask, parts[:, 0], parts[:, 0])
    known = (true + 0.5)[:, 0]
    best = captured(known, known, mask).mean().item()
    own = captured(drawn.words, drawn.words, mask).mean().item()
    found = importance_oracle(drawn)["importance_captured"].mean().item()
    assert own > best + 0.005
    assert abs(found - best) < 0.4 * (own - best)


def test_an_order_is_scored_on_draws_that_did_not_make_it() -> None:
    """Where all words matter alike, draws differ by chance, and an order scored on its own draws
    would seem to know them."""
    parts = torch.rand(200, 8, 10, generator=torch.Generator().manual_seed(0)).double()
    mask = torch.ones(200, 10).bool()
    drawn = Importance(parts.mean(1), parts, mask, parts[:, 0], parts[:, 0])
    own = captured(drawn.words, drawn.words, mask).mean().item()
    assert own > 0.05
    found = {name: each.mean().item() for name, each in importance_oracle(drawn).items()}
    assert found["importance_tau"] == pytest.approx(0.0, abs=0.01)
    assert found["importance_captured"] == pytest.approx(own / 2, abs=0.01)
    equal = parts[:, :1].expand(-1, 8, -1)
    one = importance_oracle(Importance(parts[:, 0], equal, mask, parts[:, 0], parts[:, 0]))
    best = captured(parts[:, 0], parts[:, 0], mask)
    assert torch.allclose(one["importance_captured"], best)  # exact: equal parts
    assert torch.allclose(one["importance_tau"], torch.ones(200).double())


def test_what_matters_too_little_is_undefined() -> None:
    model, batch = BagOfWords({A: 2.0, B: 0.02}), texts([A, X, Y], [B, X, Y])
    label = torch.ones(2).long()
    found = importance(WordRemoval(model, batch, label, "delete"))
    assert found.words.sum(-1)[1].item() < 0.02 < found.words.sum(-1)[0].item()
    scores = {"map": torch.ones(2, 3)}
    for numbers in (measured(scores, found, 0.02)["map"], importance_oracle(found, 0.02)):
        assert numbers["importance_captured"].isnan().tolist() == [False, True]
        assert numbers["importance_tau"][1].isnan()
    assert not measured(scores, found)["map"]["importance_captured"].isnan().any()


def test_signs_and_padding_do_not_matter() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 4, 6))
    label = torch.tensor([1, 0, 1])
    scores = to_words(integrated_gradients(model, batch, label), batch.texts["a"])
    found = importance(WordRemoval(model, batch, label, "mask"))
    both = measured({"signed": scores, "size": scores.abs()}, found)
    for name in both["signed"]:
        assert torch.equal(both["signed"][name], both["size"][name])
    for row, size in enumerate((9, 4, 6)):
        alone = batch.take(torch.tensor([row]))
        one = importance(WordRemoval(model, alone, label[row : row + 1], "mask"))
        assert torch.allclose(one.words[0], found.words[row, : one.words.shape[1]], atol=1e-9), size


def test_what_cannot_be_scored_is_undefined() -> None:
    model = BagOfWords({A: 2.0})
    found = importance(
        WordRemoval(model, texts([A], [X, Y], [A, X]), torch.ones(3).long(), "delete")
    )
    value = captured(torch.ones(3, 2), found.words, found.mask)
    assert value.isnan().tolist() == [True, True, False]  # one word; nothing matters; fine
    broken = torch.tensor([[1.0, 2.0], [1.0, 2.0], [torch.nan, 1.0]])
    assert captured(broken, found.words, found.mask)[2].isnan()


def test_all_explanations_share_the_same_runs() -> None:
    model, batch = BagOfWords({A: 2.0, B: 1.0}), texts([A, X, B, Y, Z, A, X, B, Y])
    memory = Memory()
    found = importance(WordRemoval(model, batch, ONE, "delete", memory=memory))
    assert model.rows == 2**9 and memory.subsets is not None  # short: every set once
    runs = model.rows
    measured({name: weights_as_scores(model, batch) for name in "abcdef"}, found)
    importance(WordRemoval(model, batch, ONE, "delete", memory=memory))
    assert model.rows == runs


@pytest.mark.parametrize("draws", [{"orders": 5}, {"orders": 2}, {"exact": 17}, {"exact": -1}])
def test_impossible_draws_are_refused(draws: dict[str, int]) -> None:
    with pytest.raises(HeedfulError, match=next(iter(draws))):
        Draws(**draws)
