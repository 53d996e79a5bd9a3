"""Candidates for an unsigned measure: by their definitions, and which reward cancellation."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor

from heedful.experiments import (
    REJECTED,
    SETS,
    Draws,
    importance,
    measured,
    random_sets,
    unsigned_measures,
)
from heedful.experiments.importance import CANDIDATE_MEASURES
from heedful.perturbations import Memory, Subsets, WordRemoval
from heedful.words import word_mask
from reference import unsigned as slow
from reference.importance import captured as slow_captured
from reference.importance import importance as slow_importance
from reference.shapley import shapley
from tiny import tiny_batch, tiny_model

SHARES = ("0.05", "0.1", "0.2", "0.5")
ONE = torch.tensor([1])
Value = Callable[[frozenset[int]], float]


def told(value: Value, n: int) -> Memory:
    """A model of which all is known: `value` of the words gone. No other is asked."""
    sets = [frozenset(i for i in range(n) if number >> i & 1) for number in range(1 << n)]
    values = torch.tensor([[value(gone) for gone in sets]]).double()
    mask = torch.ones(1, n).bool()
    return Memory(Subsets(16, torch.tensor([True]), mask, values, (values > 0.5).long()))


def judged(value: Value, maps: dict[str, list[float]], n: int) -> dict[str, dict[str, float]]:
    """Every candidate, those of importance among them."""
    batch, model = tiny_batch((n,)), tiny_model()
    given = {name: torch.tensor([scores]).double() for name, scores in maps.items()}
    known = told(value, n)
    found = unsigned_measures(WordRemoval(model, batch, ONE, "delete", memory=known), given)
    held = measured(given, importance(WordRemoval(model, batch, ONE, "delete", memory=known)))
    return {
        name: {each: values.item() for each, values in {**found[name], **held[name]}.items()}
        for name in given
    }


def test_candidates_are_their_definitions() -> None:
    model, batch = tiny_model("cnn", double=True, seed=2), tiny_batch((6, 4))
    label, mask = torch.tensor([1, 0]), word_mask(batch.texts["a"])
    scores = (torch.sin(7.3 * torch.arange(6)) * mask).double()
    memory = Memory()
    found = unsigned_measures(
        WordRemoval(model, batch, label, "mask", memory=memory), {"map": scores}
    )["map"]
    assert set(found) == set(CANDIDATE_MEASURES) and memory.subsets is not None
    sets = random_sets(mask, batch.ids, SETS, 0)
    for row, n in enumerate((6, 4)):
        table = memory.subsets.value[row]

        def value(gone: frozenset[int], table: Tensor = table) -> float:
            return table[sum(1 << word for word in gone)].item()

        sizes = scores[row, :n].abs().tolist()
        order = sorted(range(n), key=lambda word: -sizes[word])
        falls = slow.falls(value, order, SHARES)
        drawn = [frozenset(each.nonzero().flatten().tolist()) for each in sets[row]]
        words = frozenset(range(n))
        values = shapley(lambda left, words=words: value(words - left), n)  # type: ignore[misc]
        sizes_of_changes = slow_importance(value, n)
        expected = {
            "path_variation": slow.path_variation(value, order),
            "removed_change": sum(map(abs, falls)) / 4,
            "magnitude_comprehensiveness": sum(falls) / 4,
            "subset_correlation": slow.correlation(
                [sum(sizes[word] for word in each) for each in drawn],
                [abs(value(frozenset()) - value(each)) for each in drawn],
            ),
            "shapley_captured": slow_captured(sizes, [abs(each) for each in values], "early"),
            "importance_evenly": slow_captured(sizes, sizes_of_changes, "evenly"),
            "importance_gain": slow_captured(sizes, sizes_of_changes, "logarithmic"),
        }
        for name, number in expected.items():
            assert found[name][row].item() == pytest.approx(number, abs=1e-6), name


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cancelling(gone: frozenset[int]) -> float:
    """Word 0 speaks for the class, word 1 as loudly against it, word 2 a little for it."""
    weights = (3.0, -3.0, 0.5, 0.0)
    return sigmoid(sum(weight for word, weight in enumerate(weights) if word not in gone))


def exclusive(gone: frozenset[int]) -> float:
    """One of words 0 and 1, but not both (XOR); word 2 says a little by itself. Either always
    matters, half of the time for the class and half of the time against it."""
    one = (0 in gone) != (1 in gone)
    return 0.2 + 0.6 * one + 0.05 * (2 not in gone)


BOTH = {
    "removed_change": ([2.0, 1.9, 1.0, 0.5], [2.0, 0.0, 1.9, 1.0], cancelling),
    "magnitude_comprehensiveness": ([2.0, 1.9, 1.0, 0.5], [2.0, 0.0, 1.9, 1.0], cancelling),
    "subset_correlation": ([2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], cancelling),
    "shapley_captured": ([3.0, 2.0, 1.0, 0.0], [0.0, 0.1, 3.0, 2.0], exclusive),
    "shapley_tau": ([3.0, 2.0, 1.0, 0.0], [0.0, 0.1, 3.0, 2.0], exclusive),
}
"""An explanation that names the words that matter, one that leaves out some, and the model."""


@pytest.mark.parametrize("name", REJECTED)
def test_a_rejected_candidate_rewards_cancellation(name: str) -> None:
    """It prefers the explanation that leaves out words that matter; importance does not."""
    right, wrong, value = BOTH[name]
    found = judged(value, {"right": right, "wrong": wrong}, 4)
    assert found["wrong"][name] > found["right"][name] + 1e-3
    for kept in ("importance_captured", "importance_tau"):
        assert found["right"][kept] > found["wrong"][kept]
    assert len(REJECTED[name]) > 10


def test_no_other_candidate_rewards_cancellation() -> None:
    others = {"path_variation", "importance_evenly", "importance_gain"}
    assert set(REJECTED) | others == set(CANDIDATE_MEASURES)
    for right, wrong, value in BOTH.values():
        found = judged(value, {"right": right, "wrong": wrong}, 4)
        for name in others:
            assert found["right"][name] > found["wrong"][name], name


def test_signs_do_not_matter_and_what_cannot_be_scored_is_undefined() -> None:
    for signs in product((1, -1), repeat=2):
        scores = [2.0 * signs[0], 1.0, 1.5 * signs[1], 0.1]
        found = judged(cancelling, {"one": scores, "size": [abs(s) for s in scores]}, 4)
        assert found["one"] == pytest.approx(found["size"], nan_ok=True)
    model, batch = tiny_model(double=True), tiny_batch((5, 1, 4))
    maps = {"map": torch.ones(3, 5).double()}
    maps["map"][2, 1] = torch.nan
    label = torch.ones(3).long()
    plain = unsigned_measures(WordRemoval(model, batch, label, "mask"), maps, draws=Draws(4, 3))[
        "map"
    ]
    assert all(values[1:].isnan().all() for values in plain.values())
    assert not plain["path_variation"][0].isnan()
    much = unsigned_measures(WordRemoval(model, batch, label, "mask"), maps, least=9.0)["map"]
    assert all(values.isnan().all() for values in much.values())
