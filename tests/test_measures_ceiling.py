"""The ceiling: as high as brute force where that can be had, never below where it started."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bag_of_words import BagOfWords, predicted, sigmoid, texts
from erased import erasure_of, log_odds
from heedful.experiments import (
    ERASURE_MEASURES,
    Grid,
    Oracle,
    OrderSearch,
    Search,
    beam_search,
    curves_of,
    erasure_oracle,
    faithfulness,
)
from heedful.perturbations import Memory, WordRemoval
from heedful.types import Batch, Model
from heedful.words import word_mask
from tiny import pick, tiny_batch, tiny_model

A, B, X = 10, 11, 20
BETTER = {name: 1 if each.higher_is_better else -1 for name, each in ERASURE_MEASURES.items()}


def wave(batch: Batch, speed: float) -> Tensor:
    """Some map, the same for a text whatever is beside it."""
    mask = word_mask(batch.texts["a"])
    return (torch.sin(speed * torch.arange(mask.shape[1])) * mask).double()


def starts_for(batch: Batch) -> dict[str, Tensor]:
    return {"one": wave(batch, 7.3), "two": wave(batch, 2.1)}


def test_on_paper_the_two_words_that_count_are_found() -> None:
    model = BagOfWords({A: 2.0, B: 1.0}, bias=-0.5)
    batch, label = texts([X, B, X, X, A, X]), torch.tensor([1])
    found = erasure_oracle(WordRemoval(model, batch, label, "delete"), {})
    # six words: the shares come to 1, 1, 2 and 3 of them
    p = {x: sigmoid(x) for x in (2.5, 1.5, 0.5, -0.5)}
    assert found.values["comprehensiveness"].item() == pytest.approx(
        p[2.5] - (2 * p[0.5] + 2 * p[-0.5]) / 4
    )
    assert found.values["sufficiency"].item() == pytest.approx(
        p[2.5] - (2 * p[1.5] + 2 * p[2.5]) / 4
    )
    assert found.values["flip_share"].item() == pytest.approx(2 / 6)
    assert found.values["flip_censored"].item() == 0.0 and not found.limited.item()
    for measure in ("comprehensiveness", "sufficiency"):
        assert found.scores[measure][0].argsort(descending=True)[:2].tolist() == [4, 1]


@pytest.mark.parametrize("operator", ["delete", "unk"])
def test_between_the_starts_and_brute_force(operator: str) -> None:
    """A wide beam forgets nothing: it is brute force. A narrow one is no better than that."""
    model, batch = tiny_model(double=True, seed=3), tiny_batch((4, 5, 2, 1))
    label, starts = predicted(model, batch), starts_for(batch)
    best = brute_force(model, batch, label, operator)
    wide = erasure_oracle(WordRemoval(model, batch, label, operator), {}, search=Search(64, 10**6))
    narrow = erasure_oracle(
        WordRemoval(model, batch, label, operator), starts, search=Search(1, 10**6)
    )
    for name in ("comprehensiveness", "sufficiency"):
        torch.testing.assert_close(wide.values[name], best[name], atol=1e-6, rtol=0)
    for name, sign in BETTER.items():
        if name != "flip_censored":
            assert no_worse(sign * best[name], sign * narrow.values[name]), name


def brute_force(model: Model, batch: Batch, label: Tensor, operator: str) -> dict[str, Tensor]:
    """Every order of the words there is."""
    width = word_mask(batch.texts["a"]).shape[1]
    orders = [torch.tensor(order).double() for order in permutations(range(width))]
    maps = {str(i): order.expand(len(batch), -1) for i, order in enumerate(orders)}
    found = erasure_of(model, batch, label, maps, operator)
    worst = {name: -torch.inf * sign for name, sign in BETTER.items()}
    return {
        name: sign
        * torch.stack([sign * each[name].nan_to_num(worst[name]) for each in found.values()])
        .max(0)
        .values
        for name, sign in BETTER.items()
    }


def no_worse(one: Tensor, other: Tensor) -> bool:
    return bool((one >= other - 1e-12).logical_or(other.isnan()).all())


@settings(max_examples=10)
@given(
    st.lists(st.integers(1, 14), min_size=1, max_size=4),
    st.integers(1, 60),
    st.integers(1, 4),
    st.sampled_from(["delete", "unk", "attention"]),
)
def test_never_below_a_start(lengths: list[int], budget: int, width: int, operator: str) -> None:
    """Whatever the budget, on every measure."""
    model, batch = tiny_model("cnn", classes=3), tiny_batch(lengths)
    label, starts = predicted(model, batch), starts_for(batch)
    own = erasure_of(model, batch, label, starts, operator)
    found = erasure_oracle(
        WordRemoval(model, batch, label, operator), starts, search=Search(width, budget)
    )
    for (name, sign), start in ((pair, each) for pair in BETTER.items() for each in own):
        assert no_worse(sign * found.values[name], sign * own[start][name]), (name, start)
    assert set(found.values) == set(ERASURE_MEASURES)


def test_the_scores_reach_the_values() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 3, 12, 1))
    label = predicted(model, batch)
    found = erasure_oracle(
        WordRemoval(model, batch, label, "unk"), starts_for(batch), search=Search(2, 40)
    )
    again = erasure_of(model, batch, label, found.scores, "unk")
    for name, scores in found.scores.items():
        torch.testing.assert_close(
            again[name][name], found.values[name], atol=1e-9, rtol=0, equal_nan=True
        )
        assert not scores[~word_mask(batch.texts["a"])].any()


def test_known_curves_save_their_passes_and_change_nothing() -> None:
    model, batch = BagOfWords({A: 2.0, B: 1.0}, bias=-0.5), texts([X, B, X, X, A, X], [A, X])
    label, starts = torch.ones(2).long(), starts_for(batch)
    plain = erasure_oracle(WordRemoval(model, batch, label, "delete"), starts)
    asked, model.rows = model.rows, 0
    memory = Memory()
    known = curves_of(WordRemoval(model, batch, label, "delete", memory=memory), starts)
    made, model.rows = model.rows, 0
    saved = erasure_oracle(
        WordRemoval(model, batch, label, "delete", memory=memory), starts, known=known
    )
    assert model.rows == asked - made and asked == len(memory)  # no set was asked for twice
    assert all(same(saved.values[name], plain.values[name]) for name in ERASURE_MEASURES)


def same(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, atol=1e-9, rtol=0, equal_nan=True)


@pytest.mark.parametrize("budget", [20, 100, 400])
def test_a_search_keeps_within_its_budget(budget: int) -> None:
    """Two searches, and the curves of what they found."""
    weights = {token: 0.1 * (token % 7) for token in range(4, 40)}
    model, batch = BagOfWords(weights, bias=-1.0), tiny_batch((30,))
    label = predicted(model, batch)
    found = erasure_oracle(WordRemoval(model, batch, label, "delete"), {}, search=Search(2, budget))
    curves = {f"{i}": wave(batch, i + 1.3) for i in range(4)}
    searched, model.rows = model.rows, 0
    curves_of(WordRemoval(model, batch, label, "delete"), curves)
    assert searched <= 2 * budget + 1.2 * model.rows
    assert found.limited.item()


def test_a_limited_pool_still_holds_the_given_top_words() -> None:
    """Sixty words and a budget for six: the start names both that count, one of them too late
    for the smallest bin (three words)."""
    model = BagOfWords({A: 4.0, B: 2.0}, bias=-1.0)
    batch, label = texts([X] * 40 + [A] + [X] * 18 + [B]), torch.tensor([1])
    start = torch.zeros(1, 60).double()
    start[0, [59, 0, 1, 2, 40]] = torch.tensor([5.0, 4.0, 3.0, 2.0, 1.0]).double()
    found = erasure_oracle(
        WordRemoval(model, batch, label, "delete"), {"one": start}, search=Search(4, 60)
    )
    assert found.limited.item()
    order = found.scores["comprehensiveness"][0].argsort(descending=True).tolist()
    assert {40, 59} <= set(order[:3])
    assert found.values["comprehensiveness"].item() == pytest.approx(sigmoid(5) - sigmoid(-1))


def test_after_its_own_words_a_limited_search_follows_the_best_start() -> None:
    """Twelve words of weight 1 among sixty; the start has two others before them. A pool of six
    gets the first three right: 3, 4, 10 and 12 of them are gone at 3, 6, 12 and 30 words."""
    model = BagOfWords({A: 1.0}, bias=-1.0)
    batch, label = texts([X] * 2 + [A] * 12 + [X] * 46), torch.tensor([1])
    starts = {"one": -torch.arange(60).double()[None]}
    found = erasure_oracle(
        WordRemoval(model, batch, label, "delete", log_odds), starts, search=Search(4, 60)
    )
    assert found.values["comprehensiveness"].item() == pytest.approx((3 + 4 + 10 + 12) / 4)


def test_words_before_the_first_bin_are_chosen_with_care() -> None:
    """Of forty-one words three must go before anything counts."""
    model = BagOfWords({A: 2.0, B: 1.0}, bias=-1.0)
    batch, label = texts([X] * 9 + [A] + [X] * 20 + [B] + [X] * 9 + [A]), torch.tensor([1])
    found = erasure_oracle(
        WordRemoval(model, batch, label, "delete", log_odds), {}, search=Search(1, 10**6)
    )
    assert found.values["comprehensiveness"].item() == pytest.approx(5.0)


def test_beams_hold_different_sets_of_words() -> None:
    model, batch = tiny_model("average", double=True), tiny_batch((6, 4, 1))
    hunt = OrderSearch(WordRemoval(model, batch, predicted(model, batch), "delete"), keep=False)
    depth, pool = torch.tensor([3, 2, 1]), word_mask(batch.texts["a"])
    beams = beam_search(hunt, pool, depth, depth[:, None], width=4)
    assert beams.alive.sum(-1).tolist() == [4, 4, 1]
    for chosen, alive, size in zip(beams.chosen, beams.alive, depth.tolist(), strict=True):
        sets = {tuple(row.nonzero().flatten().tolist()) for row in chosen[alive]}
        assert len(sets) == int(alive.sum()) and {len(each) for each in sets} == {size}


def test_texts_without_words_are_undefined() -> None:
    model, label = BagOfWords({A: 2.0}, bias=-0.5), torch.tensor([1, 1])
    for batch in (texts([], [A, X]), texts([], [])):
        found = erasure_oracle(
            WordRemoval(model, batch, label, "delete"), {"one": wave(batch, 1.0)}
        )
        assert all(value[0].isnan() for value in found.values.values())


@settings(max_examples=6)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 5), st.randoms())
def test_batches_and_padding_change_nothing(lengths: list[int], pad: int, random: object) -> None:
    model, batch = tiny_model("lstm", double=True), tiny_batch(lengths)
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    whole = searched(model, batch)
    shuffled = searched(model, pick(batch, order, pad))
    alone = searched(model, pick(batch, [0]))
    for name, value in whole.values.items():
        assert same(shuffled.values[name], value[order]), name
        assert same(alone.values[name], value[:1]), name
    assert torch.equal(shuffled.limited, whole.limited[order])


def searched(model: Model, batch: Batch) -> Oracle:
    label, starts = predicted(model, batch), starts_for(batch)
    return erasure_oracle(WordRemoval(model, batch, label, "delete"), starts, search=Search(3, 30))


def test_it_goes_by_the_grid_and_the_quantity_asked_for() -> None:
    model = BagOfWords({A: 2.0, B: 1.0}, bias=-0.5)
    batch, label = texts([X, B, X, A]), torch.tensor([1])
    grid = Grid(shares=(0.5,), points=4)
    found = erasure_oracle(WordRemoval(model, batch, label, "delete", log_odds), {}, grid)
    assert found.values["comprehensiveness"].item() == pytest.approx(3.0)


def test_undefined_starts_lose_to_any_number() -> None:
    model, batch = BagOfWords({A: 2.0}, bias=-0.5), texts([X, A, X])
    broken = torch.full((1, 3), torch.nan).double()
    found = erasure_oracle(
        WordRemoval(model, batch, torch.tensor([1]), "delete"), {"broken": broken}
    )
    assert not any(value.isnan().any() for value in found.values.values())
    assert faithfulness(
        curves_of(WordRemoval(model, batch, torch.tensor([1]), "delete"), {"a": broken})["a"]
    )["sufficiency"].isnan()
