"""Occlusion: Captum, the fast way and the slow one, and a table worked out by removal."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from captum.attr import FeatureAblation

from captum_face import from_embedded, from_tokens
from counting import Counting
from heedful.attributions import leave_one_out, occlusion
from heedful.models import TARGETS, probability
from heedful.perturbations import REMOVALS
from heedful.specs import UNKNOWN
from heedful.types import Batch
from heedful.words import to_words, word_mask, word_numbers
from reference.removal import logits_without
from tiny import FAMILIES, tiny_batch, tiny_model
from word_batches import grouped


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", [name for name in REMOVALS if name != "infill"])
def test_scores_are_what_the_target_loses(how: str, target: str) -> None:
    model, batch = tiny_model(classes=3, double=True), grouped()
    labels = torch.tensor([0, 1, 2, 0])
    scores = occlusion(model, batch, labels, TARGETS[target], how)
    there = word_mask(batch.texts["a"])
    assert scores.shape == there.shape and scores.dtype == torch.float64
    assert not scores[~there].any() and bool((scores[there] != 0).all())
    assert bool((scores < 0).any()) and bool((scores > 0).any())
    for example, word in there.nonzero().tolist():
        label = labels[example : example + 1]
        whole, less = (
            TARGETS[target](logits_without(model, batch, example, gone, how)[None], label).item()
            for gone in (set(), {word})
        )
        assert scores[example, word].item() == pytest.approx(whole - less, abs=1e-10)
    magnitude = occlusion(model, batch, labels, TARGETS[target], how, magnitude=True)
    assert torch.equal(magnitude, scores.abs())


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_the_fast_way_equals_the_slow_one(encoder: str, attention: str, classes: int) -> None:
    """A text that hides nothing says so in two ways; only one of them is fast."""
    model = tiny_model(encoder, attention, classes, double=True)
    batch = tiny_batch((4, 1, 9, 2, 6), pad=2)
    text = batch.texts["a"]
    slow = replace(batch, texts={"a": replace(text, hidden=torch.zeros_like(text.mask))})
    numbered = replace(batch, texts={"a": replace(text, words=word_numbers(text))})
    counts = {name: Counting(model) for name in ("fast", "slow", "numbered")}
    batches = {"fast": batch, "slow": slow, "numbered": numbered}
    found = {n: occlusion(counts[n], b, batch.labels) for n, b in batches.items()}
    assert [count.rows for count in counts.values()] == [0, len(batch) + 22, 0]
    torch.testing.assert_close(found["fast"], found["slow"], atol=1e-9, rtol=0)
    assert torch.equal(found["fast"], found["numbered"])


def test_words_of_several_tokens_go_the_slow_way() -> None:
    counting, batch = Counting(tiny_model(double=True)), grouped()
    occlusion(counting, batch, batch.labels)
    assert counting.rows == len(batch) + int(word_mask(batch.texts["a"]).sum())


def test_of_two_classes_its_magnitude_is_leave_one_out(ragged: Batch) -> None:
    model = tiny_model(double=True)
    scores = occlusion(model, ragged, ragged.labels, magnitude=True)
    expected = to_words(leave_one_out(model, ragged), ragged.texts["a"])
    torch.testing.assert_close(scores, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_scores_equal_captums(encoder: str, words: bool) -> None:
    """Features are words: every token of a word is ablated with it."""
    model = tiny_model(encoder, double=True)
    batch: Batch = grouped() if words else tiny_batch((6, 1, 9, 3))
    text, rows = batch.texts["a"], torch.arange(len(batch))
    numbers = word_numbers(text)
    features = torch.where(numbers < 0, int(numbers.max()) + 1, numbers)
    embedded = model.embed(batch)["a"]
    theirs = {
        "unk": FeatureAblation(from_tokens(model, batch, probability)).attribute(
            text.tokens,
            baselines=torch.where(text.mask, UNKNOWN, text.tokens),
            feature_mask=features,
            additional_forward_args=rows,
        ),
        "zero": FeatureAblation(from_embedded(model, batch, probability)).attribute(
            embedded,
            baselines=embedded.masked_fill(text.mask[..., None], 0.0),
            feature_mask=features[..., None].expand_as(embedded),
            additional_forward_args=rows,
        )[..., 0],
    }
    for how, scores in theirs.items():
        ours = occlusion(model, batch, batch.labels, operator=how)
        for example, place in (numbers >= 0).nonzero().tolist():
            word = int(numbers[example, place])
            expected = float(scores[example, place])
            assert ours[example, word].item() == pytest.approx(expected, abs=1e-10)


def test_texts_without_words_have_no_scores() -> None:
    text = tiny_batch((3,)).texts["a"]
    bare = replace(text, mask=torch.zeros_like(text.mask), hidden=torch.zeros_like(text.mask))
    batch = Batch(("bare",), {"a": bare}, torch.tensor([0]))
    assert occlusion(tiny_model(), batch, batch.labels).shape == (1, 0)
