"""What pairs of words do beyond single ones: OR, AND and XOR by hand, and from the definitions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch

from audited import SMALL, audit, bert, texts
from bag_of_words import BagOfWords
from bag_of_words import texts as bags
from heedful.experiments import (
    Draws,
    ForwardBatch,
    Interactions,
    between_words,
    interacting,
    interactions_found,
)
from heedful.models import attach, logit
from heedful.perturbations import WordRemoval
from reference import interactions as slow
from reference.shapley import shapley
from tiny_hf import FILLERS, hf_batch, tiny_hf

A, B, C = 10, 11, 12
MODELS = {
    "sum": ({A: 1.0, B: 2.0}, 0.0, (0.0, 0.0)),
    "and": ({}, 1.0, (1 / 3, 1 / 2)),
    "or": ({A: 1.0, B: 1.0}, -1.0, (1.0, 1 / 2)),
    "xor": ({A: 1.0, B: 1.0}, -2.0, (1 / 2, 1.0)),
}
"""Weights of two words, what both together add, and the shares: of mixed differences, and of
Shapley interactions. OR: nothing falls without one of the words. XOR: Shapley values are 0."""


def measured(
    weights: Mapping[int, float], pair: float, *words: int
) -> tuple[Interactions, dict[str, float]]:
    model = BagOfWords(weights, pairs={(A, B): pair})
    ones = torch.ones(1, dtype=torch.long)
    removal = WordRemoval(model, bags(list(words)), ones, "delete", logit)
    found, shares = interacting(removal, Draws(), 1e-3)
    return found, {name: float(value[0]) for name, value in shares.items()}


@pytest.mark.parametrize("name", MODELS)
def test_shares_by_hand(name: str) -> None:
    weights, pair, wanted = MODELS[name]
    found, shares = measured(weights, pair, A, B)
    assert float(found.values[0, 0, 1]) == pytest.approx(pair)
    assert tuple(shares.values()) == pytest.approx(wanted)


@pytest.mark.parametrize("name", MODELS)
def test_shares_are_those_of_the_definitions(name: str) -> None:
    """Beside a word of its own and one that says nothing."""
    weights, pair, _ = MODELS[name]
    weights, words = {**weights, C: -0.5}, (A, C, B, 20)
    _, shares = measured(weights, pair, *words)

    def value(there: frozenset[int]) -> float:
        tokens = {words[place] for place in there}
        return sum(weights.get(t, 0.0) for t in tokens) + pair * ({A, B} <= tokens)

    assert shares["interaction_share"] == pytest.approx(slow.share(value, 4))
    pairs = [slow.shapley_interaction(value, i, j, 4) for i, j in combinations(range(4), 2)]
    both, single = sum(map(abs, pairs)), sum(map(abs, shapley(value, 4)))
    assert shares["interaction_shapley"] == pytest.approx(both / (both + single))


def test_where_nothing_matters_there_is_no_share() -> None:
    assert all(map(math.isnan, measured({}, 0.0, A, B)[1].values()))
    assert all(map(math.isnan, measured({A: 1.0}, 0.0, A)[1].values()))


def test_long_texts_have_no_shapley_interactions() -> None:
    _, shares = measured(MODELS["and"][0], 1.0, A, B, *range(20, 30))
    assert math.isnan(shares["interaction_shapley"])
    assert shares["interaction_share"] == pytest.approx(1 / 3)


def test_pairs_are_named_by_products_and_by_themselves() -> None:
    """Only the first two words interact. The third pair of three counts 0, a random order 5/12."""
    found, _ = measured({C: 0.5}, 1.0, A, B, C)
    maps = {
        "right": torch.tensor([[-2.0, 1.0, 0.1]]),
        "wrong": torch.tensor([[1.0, 0.1, 2.0]]),
        "pairs": torch.tensor([[[0.0, 3, 1], [3, 0, 2], [1, 2, 0]]]),
        "even": torch.ones(1, 3),
    }
    maps = {name: scores.double() for name, scores in maps.items()}
    shares = {name: float(v[0]) for name, v in interactions_found(found, maps).items()}
    assert shares == pytest.approx({"right": 1, "wrong": -5 / 7, "pairs": 1, "even": 0})


def test_attention_between_words_is_the_mean_over_layers_and_heads() -> None:
    with attach(tiny_hf(double=True), FILLERS) as model:
        batch = hf_batch((5, 3))
        text = batch.texts["a"]
        words = torch.where(text.mask, (text.mask.long().cumsum(-1) - 1) // 2, -1)
        batch = replace(batch, texts={"a": replace(text, words=words)})  # two tokens a word
        forward = ForwardBatch.of(model, batch)
        found = between_words(forward)
        weights = torch.stack(list(forward.trace.weights.values())).mean((0, 2))
    for row in range(2):
        for one, other in ((0, 1), (1, 0), (0, 0)):
            parts = []
            for first, second in ((one, other), (other, one)):
                asking = (words[row] == first).nonzero()[:, 0].tolist()
                asked = (words[row] == second).nonzero()[:, 0].tolist()
                parts.append(
                    np.mean([sum(float(weights[row, q, k]) for k in asked) for q in asking])
                )
            got = float(found["attention:between"][row, one, other])
            assert got == pytest.approx(sum(parts))
    near = found["adjacent"][0]
    assert near[0, 1] > near[0, 2] and torch.equal(near, near.mT)


def test_an_audit_measures_interactions() -> None:
    spec = replace(SMALL, explanations=("attention", "occlusion"), only=("interactions",))
    found = audit(bert(), texts(10), spec)
    rows = found.rows
    shares = rows[rows["measure"] == "interaction_share"]
    assert set(shares["operator"]) == {"delete", "mask"}
    assert shares["value"].dropna().between(0, 1).all()
    named = set(rows[rows["measure"] == "interaction_captured"]["explanation"])
    assert named == {*("attention", "occlusion", "random", "prior", "position"),
                     *("attention:between", "adjacent")}  # fmt: skip
    kept = found.shown[found.shown["kind"] == "pairs"]
    words = found.documents.set_index("example")["words"]
    for line in kept.to_dict("records"):
        triples = np.reshape(line["scores"], (-1, 3))
        sizes = np.abs(triples[:, 2])
        assert (np.diff(sizes) <= 1e-12).all() and len(triples) <= 5
        assert (triples[:, :2] < len(words[line["example"]])).all()
