"""LIME and KernelSHAP where the right answer is known, and what both promise."""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lime.lime_text import LimeTextExplainer
from sklearn.metrics import pairwise_distances
from torch import Tensor

from bag_of_words import bag_of_words
from heedful.attributions import SALIENCIES, coalitions, kernel_shap, lime, neighbourhood, proximity
from heedful.errors import HeedfulError
from heedful.models import logit, probability
from heedful.perturbations import removed, removed_many
from heedful.types import Batch
from heedful.words import to_words, word_mask
from reference.shapley import shapley
from tiny import crop, pick, tiny_batch, tiny_model
from word_batches import grouped

BOTH = pytest.mark.parametrize("method", [lime, kernel_shap])
Method = Callable[..., Tensor]


@BOTH
def test_a_sum_of_words_is_recovered(method: Method) -> None:
    """A linear model's Shapley values and local weights are its own weights."""
    model, batch = bag_of_words(), grouped((9, 4, 1, 12))
    text = batch.texts["a"]
    expected = to_words(model.table[text.tokens] * text.mask, text)
    options: dict[str, Any] = {"penalty": 1e-9} if method is lime else {}
    ones = torch.ones(len(batch), dtype=torch.int64)
    found = method(model, batch, ones, logit, samples=150, **options)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_the_packages_penalty_shrinks_little_but_on_the_shortest_texts() -> None:
    """Of two words its kernel sees little but one or the other, so only their difference."""
    model, batch = bag_of_words(), tiny_batch((9, 6, 2))
    text = batch.texts["a"]
    expected = to_words(model.table[text.tokens] * text.mask, text)
    ones = torch.ones(len(batch), dtype=torch.int64)
    found = lime(model, batch, ones, logit, samples=600)
    torch.testing.assert_close(found[:2], expected[:2], atol=0.02, rtol=0.1)
    assert (found[2] - expected[2])[:2].abs().max() > 0.2
    gaps = [each[2, 0] - each[2, 1] for each in (found, expected)]
    torch.testing.assert_close(*gaps, atol=0.02, rtol=0.1)


@pytest.mark.parametrize("operator", ["mask", "delete", "zero", "attention"])
@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_all_subsets_give_shapley_values(encoder: str, operator: str) -> None:
    model, batch = tiny_model(encoder, classes=3, double=True), tiny_batch((6, 1, 2, 3), classes=3)
    found = kernel_shap(model, batch, batch.labels, operator=operator)
    for example, length in enumerate((6, 1, 2, 3)):
        one = pick(batch, [example])

        def value(kept: frozenset[int], one: Batch = one, n: int = length) -> float:
            gone = torch.tensor([[word not in kept for word in range(n)]])
            return float(probability(removed(model, one, gone, operator), one.labels))

        assert found[example, :length].tolist() == pytest.approx(shapley(value, length), abs=1e-9)
        assert not found[example, length:].any()


@pytest.mark.parametrize("n", range(1, 11))
def test_all_subsets_are_asked_where_they_fit(n: int) -> None:
    words = torch.ones(n, dtype=torch.bool)
    part = coalitions("x", words, max(2, 2**n - 2), 0)
    sets = {tuple(row) for row in part.kept.tolist()}
    assert len(sets) == len(part.kept) == 2**n - 2


@settings(max_examples=30)
@given(st.integers(4, 40), st.integers(2, 300))
def test_subsets_stay_within_the_samples(n: int, samples: int) -> None:
    there = torch.ones(n + 2, dtype=torch.bool)
    there[1] = there[n] = False
    part = coalitions("x", there, samples, 0)
    assert len(part.kept) == len(part.weights) <= samples
    assert not part.kept[:, ~there].any()
    sizes = part.kept.sum(-1)
    assert ((sizes > 0) & (sizes < n)).all()
    kernel = sum((n - 1) / (s * (n - s)) for s in range(1, n))
    if len(part.weights):
        assert float(part.weights.sum()) == pytest.approx(kernel)


def test_sampled_values_come_near_shapley_values() -> None:
    model, batch = tiny_model("bilstm", double=True), tiny_batch((10,))
    exact = kernel_shap(model, batch, batch.labels, samples=1022)
    near = kernel_shap(model, batch, batch.labels, samples=300)
    far = kernel_shap(model, batch, batch.labels, samples=40)
    assert not torch.equal(exact, near)
    assert (exact - near).abs().max() < 0.15 * exact.abs().max()
    assert (exact - near).abs().max() < (exact - far).abs().max()
    for found in (exact, near, far):
        torch.testing.assert_close(found.sum(), exact.sum(), atol=1e-10, rtol=0)


def test_all_subsets_equal_the_packages_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at import
        import shap
    model, batch = tiny_model("lstm", double=True), tiny_batch((7,))

    def value(kept: np.ndarray) -> np.ndarray:
        gone = torch.from_numpy(kept == 0)[None]
        logits = removed_many(model, batch, gone, "unk")[0]
        return probability(logits, batch.labels.expand(len(logits))).numpy()

    explainer = shap.KernelExplainer(value, np.zeros((1, 7)))
    theirs = explainer.shap_values(np.ones((1, 7)), nsamples=200, silent=True, l1_reg=0)
    ours = kernel_shap(model, batch, batch.labels, operator="unk")
    np.testing.assert_allclose(ours[0].numpy(), theirs[0], atol=1e-8)


def test_lime_equals_the_packages_on_the_same_neighbourhood() -> None:
    """Their text explainer's own regression, given our neighbours in place of its."""
    model, batch = tiny_model("bilstm", double=True), tiny_batch((8,))
    there = word_mask(batch.texts["a"])
    gone = neighbourhood(batch.ids, there, 200, 0)
    values = probability(removed_many(model, batch, gone, "unk")[0], batch.labels.expand(200))
    kept = (~gone[0]).double().numpy()
    distances = pairwise_distances(kept, kept[:1], metric="cosine").ravel() * 100
    base = LimeTextExplainer(random_state=0).base
    _, pairs, _, _ = base.explain_instance_with_data(
        kept, values[:, None].numpy(), distances, 0, 8, feature_selection="none"
    )
    ours = lime(model, batch, batch.labels, samples=200, operator="unk")
    theirs = [dict(pairs)[word] for word in range(8)]
    assert ours[0].tolist() == pytest.approx(theirs, abs=1e-12)


def test_neighbours_are_the_packages_kind() -> None:
    """First the text itself, then sets of 1 … n words, each size and each word alike."""
    there = torch.tensor([[True, True, False, True, True, True]])
    gone = neighbourhood(("x",), there, 6001, 0)[0]
    sizes = gone.sum(-1)
    assert sizes[0] == 0 and sizes[1:].min() == 1 and not gone[:, 2].any()
    shares = torch.bincount(sizes[1:], minlength=6)[1:] / 6000
    torch.testing.assert_close(shares, torch.full((5,), 0.2), atol=0.02, rtol=0)
    each = gone[1:, there[0]].double().mean(0)
    torch.testing.assert_close(each, torch.full_like(each, 0.6), atol=0.02, rtol=0)
    np.testing.assert_allclose(proximity(np.array([0.0, 25.0])), [1.0, np.exp(-0.5)], rtol=1e-12)


@settings(max_examples=5)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 6), st.randoms())
@BOTH
def test_batches_and_padding_change_nothing(
    method: Method, lengths: list[int], pad: int, random: Any
) -> None:
    model, batch = tiny_model(double=True), tiny_batch(lengths)
    whole = method(model, batch, batch.labels, samples=60)
    order = list(range(len(lengths)))
    random.shuffle(order)
    other = pick(batch, order, pad)
    torch.testing.assert_close(
        method(model, other, other.labels, samples=60), whole[order], atol=1e-8, rtol=0
    )
    alone = pick(batch, [0])
    found = method(model, alone, alone.labels, samples=60)
    torch.testing.assert_close(crop(whole[:1], found), found, atol=1e-8, rtol=0)


@BOTH
def test_words_of_several_tokens_go_as_one(method: Method) -> None:
    """Word 1 of the first text has no token, so it has no score either."""
    model, batch = tiny_model(double=True), grouped()
    scores, there = method(model, batch, batch.labels, samples=60), word_mask(batch.texts["a"])
    assert scores.shape == there.shape and scores.dtype == torch.float64
    assert not scores[~there].any() and bool((scores[there] != 0).all())
    assert not scores.requires_grad
    assert torch.equal(method(model, batch, batch.labels, samples=60), scores)
    assert not torch.equal(method(model, batch, batch.labels, samples=60, seed=1), scores)


@BOTH
def test_a_single_sample_is_refused(method: Method) -> None:
    with pytest.raises(HeedfulError, match="choose 2 or more"):
        method(tiny_model(), tiny_batch((3,)), torch.tensor([0]), samples=1)


@BOTH
def test_nothing_is_printed_and_no_global_number_drawn(
    method: Method, capsys: pytest.CaptureFixture[str]
) -> None:
    before, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()
    method(tiny_model(), tiny_batch((12, 3)), torch.tensor([0, 1]), samples=50)
    assert torch.equal(torch.get_rng_state(), before)
    assert (np.random.get_state()[1] == numbers).all()
    assert capsys.readouterr() == ("", "")


def test_lime_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("lime"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "lime.lime_base", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(HeedfulError, match="pip install"):
        lime(tiny_model(), tiny_batch((3,)), torch.tensor([0]))


def test_both_declare_what_they_are() -> None:
    for piece, make in ((SALIENCIES["lime"], lime), (SALIENCIES["kernel_shap"], kernel_shap)):
        assert piece.level == "words" and piece.signed and piece.make is make
        assert piece.name == make.__name__
