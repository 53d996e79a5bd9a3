"""Removal, gradients and occlusion on transformers: Captum, one text at a time, padding."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients, Saliency

from captum_face import from_embedded, from_tokens
from heedful.attributions import (
    as_attribution,
    explain,
    gradient,
    gradient_input,
    integrated,
    leave_one_out,
    occlusion,
)
from heedful.entries import Attribution
from heedful.errors import HeedfulError
from heedful.models import TARGETS, HuggingFace, attach, probability
from heedful.perturbations import REMOVALS, removed, removed_many
from heedful.types import Batch, Text
from heedful.words import to_words, word_mask, word_numbers
from reference.removal import logits_without
from tiny_hf import FILLERS, MASK, UNKNOWN, attached_bert, hf_batch, tiny_hf
from word_batches import random_sets

NAMES = ("gradient", "gradient_input", "integrated_gradients", "smoothgrad", "occlusion")
ENTRIES = [as_attribution(name) for name in NAMES]


@pytest.fixture(scope="module")
def bert() -> Iterator[tuple[HuggingFace, Batch]]:
    with attached_bert(classes=3) as pair:
        yield pair


@pytest.mark.parametrize("how", [name for name in REMOVALS if name != "infill"])
def test_every_operator_equals_one_text_at_a_time(
    how: str, bert: tuple[HuggingFace, Batch]
) -> None:
    model, batch = bert
    gone = random_sets(batch, 5, word_mask(batch.texts["a"]).shape[1])
    ours = removed_many(model, batch, gone, how, tokens_at_once=40)
    for example, sets in enumerate(gone):
        for nth, words in enumerate(sets):
            chosen = set(words.nonzero().flatten().tolist())
            theirs = logits_without(model, batch, example, chosen, how)
            torch.testing.assert_close(ours[example, nth], theirs, atol=1e-10, rtol=0)


def test_leave_one_out_deletes_whole_words(bert: tuple[HuggingFace, Batch]) -> None:
    """All sub-words of a word at once, one text at a time; of tokens one by one, added up, is
    another number."""
    model, batch = bert
    ours = explain("leave_one_out", model, batch, batch.labels)
    there = word_mask(batch.texts["a"])
    assert not ours[~there].any()
    for example, word in there.nonzero().tolist():
        whole, less = (
            logits_without(model, batch, example, gone, "delete").softmax(-1)
            for gone in (set(), {word})
        )
        moved = 0.5 * (whole - less).abs().sum()
        assert float(ours[example, word]) == pytest.approx(float(moved), abs=1e-10)
    tokens = explain("leave_one_out", model, batch, batch.labels, unit="tokens")
    expected = to_words(leave_one_out(model, batch), batch.texts["a"])
    torch.testing.assert_close(tokens, expected, atol=1e-12, rtol=0)
    assert not torch.allclose(tokens, ours, atol=1e-3)
    with pytest.raises(HeedfulError, match="unknown unit of leave-one-out 'letters'"):
        explain("leave_one_out", model, batch, batch.labels, unit="letters")


def test_leave_one_out_of_two_classes_is_the_magnitude_of_occlusion() -> None:
    with attached_bert(classes=2) as (model, batch):
        ours = explain("leave_one_out", model, batch, batch.labels)
        theirs = explain("occlusion", model, batch, batch.labels, magnitude=True)
    torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=0)


@pytest.mark.parametrize("family", ["GPT2", "Llama"])
@pytest.mark.parametrize("how", [name for name in REMOVALS if name != "infill"])
def test_a_text_without_special_tokens_may_lose_every_word(how: str, family: str) -> None:
    text = hf_batch().texts["a"]
    sizes = text.mask.sum(-1)
    inner = (slice(None), slice(1, 1 + int(sizes.max())))
    assert text.words is not None
    bare = Text(text.tokens[inner], sizes, text.mask[inner], text.words[inner])
    batch = Batch(hf_batch().ids, {"a": bare}, hf_batch().labels)
    everything = word_mask(bare)
    with attach(tiny_hf(family, double=True), FILLERS) as model:
        logits = removed(model, batch, everything, how)
        for row in range(len(batch)):
            alone = removed(model, batch.take(torch.tensor([row])), everything[row : row + 1], how)
            torch.testing.assert_close(alone[0], logits[row], atol=1e-8, rtol=0)
    if how == "delete":
        assert torch.allclose(logits, logits[:1].expand_as(logits))


@pytest.mark.parametrize("target", TARGETS)
def test_gradients_equal_captums(target: str, bert: tuple[HuggingFace, Batch]) -> None:
    model, batch = bert
    face, rows = from_embedded(model, batch, TARGETS[target]), torch.arange(len(batch))
    embedded, mask = model.embed(batch)["a"].requires_grad_(), batch.texts["a"].mask
    product = InputXGradient(face).attribute(embedded, additional_forward_args=rows)
    slope = Saliency(face).attribute(embedded, abs=False, additional_forward_args=rows)
    ours = gradient_input(
        model, batch, batch.labels, TARGETS[target], through_attention=True, magnitude=False
    )
    torch.testing.assert_close(ours, product.detach().sum(-1) * mask, atol=1e-9, rtol=0)
    for norm in (1, 2):
        ours = gradient(model, batch, batch.labels, TARGETS[target], norm=norm)
        torch.testing.assert_close(ours, slope.norm(p=norm, dim=-1) * mask, atol=1e-9, rtol=0)


@pytest.mark.parametrize("baseline", ["mask", "unk", "zero"])
def test_integrated_gradients_equal_captums(baseline: str, bert: tuple[HuggingFace, Batch]) -> None:
    model, batch = bert
    captum = IntegratedGradients(from_embedded(model, batch, probability))
    embedded, mask = model.embed(batch)["a"], batch.texts["a"].mask
    table = model.module.get_input_embeddings().weight.detach()  # type: ignore[operator]
    word = {"mask": table[MASK], "unk": table[UNKNOWN], "zero": torch.zeros_like(table[0])}
    start = torch.where(mask[..., None], word[baseline], embedded)

    theirs = captum.attribute(
        embedded, start, n_steps=100, additional_forward_args=torch.arange(len(batch))
    )
    ours = integrated(model, batch, batch.labels, baseline=baseline, tolerance=1e-4)
    torch.testing.assert_close(ours.scores, theirs.detach().sum(-1), atol=1e-4, rtol=0)
    assert float(ours.gap.max()) < 1e-4


def test_occlusion_equals_captums(bert: tuple[HuggingFace, Batch]) -> None:
    model, batch = bert
    text, rows = batch.texts["a"], torch.arange(len(batch))
    numbers = word_numbers(text)
    features = torch.where(numbers < 0, int(numbers.max()) + 1, numbers)
    embedded = model.embed(batch)["a"]
    tokens = FeatureAblation(from_tokens(model, batch, probability))
    vectors = FeatureAblation(from_embedded(model, batch, probability))
    theirs = {
        name: tokens.attribute(
            text.tokens,
            baselines=torch.where(text.mask, token, text.tokens),
            feature_mask=features,
            additional_forward_args=rows,
        )
        for name, token in (("mask", MASK), ("unk", UNKNOWN))
    }
    theirs["zero"] = vectors.attribute(
        embedded,
        baselines=embedded.masked_fill(text.mask[..., None], 0.0),
        feature_mask=features[..., None].expand_as(embedded),
        additional_forward_args=rows,
    )[..., 0]
    for how, scores in theirs.items():
        ours = occlusion(model, batch, batch.labels, operator=how)
        expected = ours.gather(1, numbers.clamp_min(0))[text.mask]
        torch.testing.assert_close(scores[text.mask].double(), expected, atol=1e-7, rtol=0)


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("piece", ENTRIES, ids=lambda piece: piece.name)
def test_batches_and_padding_change_nothing(piece: Attribution, double: bool) -> None:
    lengths = (5, 1, 8, 3)
    near = {"atol": 1e-8, "rtol": 0} if double else {"atol": 1e-5, "rtol": 1e-4}
    with attach(tiny_hf("Bert", double=double), FILLERS) as model:
        batch, padded = hf_batch(lengths), hf_batch(lengths, pad=5)
        whole = explain(piece, model, batch, batch.labels)
        again = explain(piece, model, padded, padded.labels)
        torch.testing.assert_close(again, whole, **near)
        for row in range(len(lengths)):
            one = batch.take(torch.tensor([row]))
            alone = explain(piece, model, one, one.labels)[0]
            torch.testing.assert_close(alone, whole[row, : len(alone)], **near)
