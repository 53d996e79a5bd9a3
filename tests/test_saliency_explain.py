"""`explain`: one score per word for whatever explains, or one sentence about why not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from counting import Counting
from heedful.attributions import SALIENCIES, as_attribution, explain, gradient
from heedful.entries import Attribution, Piece
from heedful.errors import HeedfulError
from heedful.models import TARGETS, logit
from heedful.types import Batch
from heedful.words import to_words, word_mask
from tiny import tiny_batch, tiny_model
from word_batches import grouped

NAMES = (
    *("gradient", "gradient_input", "leave_one_out"),
    *("integrated_gradients", "occlusion", "prior", "random", "smoothgrad"),
)
EVERY = [as_attribution(name) for name in NAMES]


@pytest.mark.parametrize("piece", EVERY, ids=lambda piece: piece.name)
def test_every_explanation_scores_words(piece: Attribution) -> None:
    model, batch = tiny_model(double=True), grouped(pad=2)
    there = word_mask(batch.texts["a"])
    with torch.no_grad():  # what is outside does not matter
        scores = explain(piece, model, batch, batch.labels)
    assert scores.shape == there.shape and scores.dtype == torch.float64
    assert not scores.requires_grad and not scores[~there].any()
    assert bool((scores < 0).any()) <= piece.signed
    assert torch.equal(explain(piece, model, batch, batch.labels), scores)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("piece", EVERY, ids=lambda piece: piece.name)
@pytest.mark.parametrize("double", [True, False])
def test_one_text_or_many_is_the_same(piece: Attribution, double: bool) -> None:
    model, batch = tiny_model(double=double), grouped()
    near = {"atol": 1e-8, "rtol": 0} if double else {"atol": 1e-5, "rtol": 1e-4}
    params = {"counts": {(5, 6): 1}, "texts": 3} if piece.name == "prior" else {}
    whole = explain(piece, model, batch, batch.labels, **params)
    for row in range(len(batch)):
        one = batch.take(torch.tensor([row]))
        alone = explain(piece, model, one, one.labels, **params)[0]
        torch.testing.assert_close(alone, whole[row, : len(alone)], **near)


def test_tokens_of_a_word_add_up() -> None:
    model, batch = tiny_model(double=True), grouped()
    tokens = gradient(model, batch, batch.labels, logit, norm=1)
    words = explain("gradient", model, batch, batch.labels, logit, norm=1)
    assert torch.equal(words, to_words(tokens, batch.texts["a"]))
    assert torch.equal(explain(gradient, model, batch, batch.labels, logit, norm=1), words)


def test_a_function_of_ones_own_may_score_words_or_say_that_it_cannot() -> None:
    model, batch = tiny_model(), grouped()
    there = word_mask(batch.texts["a"])

    def ones(model: Any, batch: Batch, label: Tensor) -> Tensor:
        return torch.ones(word_mask(batch.texts["a"]).shape)

    piece = Piece("ones", "", ones, level="words")
    assert torch.equal(explain(piece, model, batch, batch.labels), there.double())

    def broken(model: Any, batch: Batch) -> Tensor:
        scores = torch.zeros(batch.texts["a"].tokens.shape)
        scores[2, 1] = float("nan")
        return scores

    with pytest.raises(HeedfulError, match="'broken' of example 'text-2' is not finite"):
        explain(broken, model, batch, batch.labels)
    with pytest.raises(HeedfulError, match="unknown saliency 'hunch'"):
        explain("hunch", model, batch, batch.labels)


@pytest.mark.parametrize(
    "piece", [SALIENCIES["gradient_input"], SALIENCIES["smoothgrad"]], ids=lambda p: p.name
)
def test_a_batch_too_large_for_memory_goes_in_parts(piece: Attribution) -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 2, 5, 7, 3))
    small = Counting(model, room=22)
    found = explain(piece, small, batch, batch.labels, TARGETS["loss"])
    expected = explain(piece, model, batch, batch.labels, TARGETS["loss"])
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)
    assert small.refused
    with pytest.raises(HeedfulError, match="a single text does not fit"):
        explain(piece, Counting(model, room=8), batch, batch.labels)
