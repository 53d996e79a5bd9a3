"""An attached model says what the model itself says, however it is asked."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from heedful.models import HuggingFace, attach
from heedful.types import Batch, Edit, Keep, Model, Text, rows
from tiny_hf import FILLERS, PAD, hf_batch, tiny_hf, with_target

ENCODERS = ["Bert", "Roberta", "DistilBert", "Albert", "ModernBert", "DebertaV2", "SqueezeBert"]
ENCODERS += ["Longformer"]
DECODERS = ["GPT2", "Llama", "Bloom"]
BOTH = ["Bart", "T5"]
CLASSIFIERS = [(name, "classification") for name in [*ENCODERS, *DECODERS, *BOTH]]
WRITERS = [(name, "language") for name in [*DECODERS, "Marian", *BOTH]]
TARGETED = {"Marian", *BOTH}


def batch_for(name: str, task: str, batch: Batch | None = None) -> Batch:
    batch = batch or hf_batch()
    if task == "language" and name in TARGETED:
        return with_target(batch, start=PAD if name == "T5" else 2)
    return batch


def eager(module: Any, batch: Batch, **options: Any) -> Any:
    """The model as its maker meant it: called with tokens and masks, attention `eager`."""
    return eager_copy(module)(**arguments(batch), **options)


def arguments(batch: Batch) -> dict[str, Tensor]:
    text, target = batch.texts["a"], batch.texts.get("target")
    given = {"input_ids": padded(text), "attention_mask": real(text).long()}
    if target is not None:
        given |= {
            "decoder_input_ids": padded(target),
            "decoder_attention_mask": real(target).long(),
        }
    return given


def eager_copy(module: Any) -> Any:
    """The same weights in a module that was made with eager attention, not switched to it."""
    copy = type(module)._from_config(deepcopy(module.config), attn_implementation="eager")
    copy = copy.to(module.dtype).train(module.training)
    copy.load_state_dict(module.state_dict())
    return copy


def real(text: Text) -> Tensor:
    return torch.arange(text.tokens.shape[1]) < text.lengths[:, None]


def padded(text: Text) -> Tensor:
    return text.tokens.masked_fill(~real(text), PAD)


def answer(output: Any, batch: Batch) -> Tensor:
    """Class logits, or the last token's."""
    if output.logits.ndim == 2:
        return output.logits
    text = batch.texts.get("target", batch.texts["a"])
    picked: Tensor = output.logits[torch.arange(len(batch)), text.lengths - 1]
    return picked


def same() -> Edit:
    return lambda call: call.weights.clone()


def everywhere(model: HuggingFace, edit: Edit) -> dict[str, Edit]:
    return {site.name: edit for site in model.sites}


@pytest.mark.parametrize(
    ("name", "task", "dtype"),
    [(*each, torch.float32) for each in CLASSIFIERS + WRITERS]
    + [(name, "classification", torch.bfloat16) for name in ("Bert", "GPT2", "Llama", "T5")],
)
@torch.no_grad()
def test_logits_equal_eager_to_the_last_bit(name: str, task: str, dtype: torch.dtype) -> None:
    module, batch = tiny_hf(name, task).to(dtype), batch_for(name, task)
    expected = answer(eager(module, batch), batch).float()
    with attach(module, FILLERS) as model:
        assert isinstance(model, Model)
        assert torch.equal(model(batch).logits, expected)
        assert torch.equal(model(batch, everywhere(model, same())).logits, expected)
        assert torch.equal(model.leave_one_out_logits(batch).whole, expected.double())


@pytest.mark.parametrize(
    ("name", "task"),
    [(name, "classification") for name in ("Bert", "DebertaV2", "Albert", "Llama", "Bart", "T5")],
)
def test_so_they_do_while_training(name: str, task: str) -> None:
    """Dropout draws the same numbers, and gradients are the same."""
    module, batch = tiny_hf(name, task).train(), batch_for(name, task)
    reference = eager_copy(module)
    torch.manual_seed(1)
    expected = answer(reference(**arguments(batch)), batch)
    expected.sum().backward()
    slopes = {key: p.grad for key, p in reference.named_parameters() if p.grad is not None}
    with attach(module, FILLERS) as model:
        torch.manual_seed(1)
        logits = model(batch, everywhere(model, same())).logits
        logits.sum().backward()
    assert torch.equal(logits, expected)
    again = {key: p.grad for key, p in module.named_parameters() if p.grad is not None}
    assert slopes.keys() == again.keys()
    for key, slope in slopes.items():
        torch.testing.assert_close(again[key], slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "task"),
    [each for each in CLASSIFIERS + WRITERS if each[0] != "Longformer"],  # its own are windows
)
@torch.no_grad()
def test_weights_are_the_models_own(name: str, task: str) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    output = eager(module, batch, output_attentions=True)
    kinds = ["attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"]
    theirs = [each for kind in kinds for each in getattr(output, kind, None) or ()]
    if name == "SqueezeBert":  # gives scores
        theirs = [each.softmax(-1) for each in theirs]
    with attach(module, FILLERS) as model:
        trace = model(batch)
    assert len(theirs) == len(model.sites)
    unmatched = list(theirs)
    for site in model.sites:
        weights, mask = trace.weights[site.name], trace.masks[site.name]
        live = mask.any(-1, keepdim=True)
        match = [i for i, each in enumerate(unmatched) if _equal(each, weights, live)]
        assert match, site
        unmatched.pop(match[0])
        assert not (weights * ~mask).any() and mask.dtype == torch.bool
        torch.testing.assert_close(
            weights.sum(-1), live.squeeze(-1).float().expand_as(weights[..., 0])
        )


def _equal(theirs: Tensor, ours: Tensor, live: Tensor) -> bool:
    return theirs.shape == ours.shape and torch.equal(theirs * live, ours)


@pytest.mark.parametrize(
    ("name", "task", "dtype"),
    [(*each, torch.float32) for each in CLASSIFIERS + WRITERS]
    + [(name, "classification", torch.float64) for name in ("Bert", "Albert", "GPT2", "Bart")],
)
@torch.no_grad()
def test_batch_size_and_padding_change_nothing(name: str, task: str, dtype: torch.dtype) -> None:
    module = tiny_hf(name, task).to(dtype)
    single = dtype == torch.float32  # not for Llama and T5: parts of them always are
    close = {"rtol": 1e-5, "atol": 2e-5} if single else {"rtol": 1e-8, "atol": 1e-8}
    batch = batch_for(name, task)
    wide = batch_for(name, task, hf_batch(pad=3))
    with attach(module, FILLERS) as model:
        trace, wider = model(batch, keep=Keep(values=True)), model(wide)
        torch.testing.assert_close(wider.logits, trace.logits, **close)
        for i in range(len(batch)):
            alone = model(batch.take(torch.tensor([i])))
            torch.testing.assert_close(alone.logits[0], trace.logits[i], **close)
            for site, weights in alone.weights.items():
                q, k = weights.shape[2:]
                torch.testing.assert_close(weights[0], trace.weights[site][i, :, :q, :k], **close)
                assert torch.equal(alone.masks[site][0], trace.masks[site][i, :, :q, :k])


@pytest.mark.parametrize(
    ("name", "task"),
    [(name, task) for name in DECODERS for task in ("classification", "language")]
    + [("T5", "language")],
)
def test_padding_on_the_left_is_not_seen_from_outside(name: str, task: str) -> None:
    module, batch = tiny_hf(name, task, double=True), batch_for(name, task)
    hidden = torch.zeros_like(batch.texts["a"].mask)
    hidden[:, 2] = batch.texts["a"].mask[:, 2]
    batch = replace(batch, texts={**batch.texts, "a": replace(batch.texts["a"], hidden=hidden)})
    tilt: Edit = lambda call: call.weights * torch.linspace(1, 2, call.weights.shape[-1])  # noqa: E731
    keep, traces = Keep(values=True, readout_weights=True, embeddings=True), {}
    for padding in ("right", "left"):
        with attach(module, FILLERS, padding=padding) as model:
            edits = {model.sites[0].name: tilt}
            traces[padding] = model(batch, edits, keep)
    right, left = traces["right"], traces["left"]
    close = {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(left.logits, right.logits, **close)
    for site in right.weights:
        assert torch.equal(left.masks[site], right.masks[site])
        torch.testing.assert_close(left.weights[site], right.weights[site], **close)
        torch.testing.assert_close(left.readout_weights[site], right.readout_weights[site], **close)
        keys = right.masks[site].any(2)[..., None]
        torch.testing.assert_close(left.values[site] * keys, right.values[site] * keys, **close)
    slopes = [
        torch.autograd.grad(each.logits.sum(), each.embeddings["a"])[0] for each in (left, right)
    ]
    torch.testing.assert_close(*slopes, **close)


@pytest.mark.parametrize(
    ("name", "task", "padding"),
    [(*each, "right") for each in CLASSIFIERS + WRITERS]
    + [(name, "classification", "left") for name in [*DECODERS, "XLNet"]]
    + [("IBert", "classification", "right")],
)
def test_embeddings_take_the_place_of_tokens(name: str, task: str, padding: str) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    with attach(module, FILLERS, padding=padding) as model:
        plain = model(batch)
        embedded = model.embed(batch)["a"]
        assert not embedded.requires_grad
        given = model(batch, embeddings={"a": embedded})
        assert torch.equal(given.logits, plain.logits)
        other = model(batch, embeddings={"a": embedded.roll(1, -1)})
        assert (other.logits - plain.logits).abs().max() > 1e-3
        kept = model(batch, keep=Keep(embeddings=True))
        assert torch.equal(kept.logits, plain.logits)
        leaf = kept.embeddings["a"]
        assert leaf.is_leaf and torch.equal(leaf, embedded)
        (slope,) = torch.autograd.grad(kept.logits.square().sum(), leaf)
        assert bool((slope[~real(batch.texts["a"])] == 0).all()) and bool(slope.any())


def test_embeddings_are_the_ones_inputs_embeds_means() -> None:
    """Where passing `inputs_embeds` is safe: one text, no padding."""
    for name in ("Bert", "Albert", "DistilBert", "GPT2", "Llama"):
        module, batch = tiny_hf(name), hf_batch((6,))
        with attach(module, FILLERS) as model:
            embedded = model.embed(batch)["a"] * 1.5
            ours = model(batch, embeddings={"a": embedded}).logits
        torch.testing.assert_close(module(inputs_embeds=embedded).logits, ours)


@pytest.mark.parametrize(("name", "task"), CLASSIFIERS + WRITERS)
@torch.no_grad()
def test_hidden_tokens_get_no_weight_and_say_nothing(name: str, task: str) -> None:
    module, batch = tiny_hf(name, task), batch_for(name, task)
    text = batch.texts["a"]
    hidden = torch.zeros_like(text.mask)
    # one place before the end a decoder that is given the text reads the text itself
    hidden[:, 1] = text.lengths > 3
    other = torch.where(hidden, 5 + (text.tokens + 1) % 40, text.tokens)
    with attach(module, FILLERS) as model:
        one, two = (
            model(
                replace(batch, texts={**batch.texts, "a": replace(text, tokens=t, hidden=hidden)})
            )
            for t in (text.tokens, other)
        )
        plain = model(batch)
    torch.testing.assert_close(one.logits, two.logits, rtol=1e-5, atol=1e-5)
    assert (one.logits - plain.logits).abs().max() > 1e-4
    for site in model.sites:
        if site.keys == "a":
            assert not one.weights[site.name][text.lengths > 3, ..., 1].any()
            assert not one.masks[site.name][text.lengths > 3, ..., 1].any()


def test_segments_are_token_types() -> None:
    module, batch = tiny_hf("Bert"), hf_batch()
    text = batch.texts["a"]
    segments = (torch.arange(text.tokens.shape[1]) > 3).long().expand_as(text.tokens).clone()
    paired = replace(batch, texts={"a": replace(text, segments=segments)})
    with attach(module, FILLERS) as model, torch.no_grad():
        expected = eager(module, batch, token_type_ids=segments).logits
        assert torch.equal(model(paired).logits, expected)
        assert not torch.equal(model(batch).logits, expected)
    with attach(tiny_hf("GPT2"), FILLERS) as model, torch.no_grad():
        assert torch.equal(model(paired).logits, model(batch).logits)


def test_rows_leave_out_padding_and_look_back_only() -> None:
    batch = hf_batch((2, 5))
    with attach(tiny_hf("GPT2"), FILLERS) as model, torch.no_grad():
        view = rows(model(batch), model.sites[-1].name)
    assert len(view.query) == 2 * (4 + 7)
    assert torch.equal(view.mask.sum(-1), view.query + 1)


def test_windows_are_masks() -> None:
    """ModernBERT's local layers see two places to either side here."""
    batch = hf_batch((9,))
    with attach(tiny_hf("ModernBert"), FILLERS) as model, torch.no_grad():
        trace = model(batch)
    place = torch.arange(11)
    near = (place[:, None] - place).abs() <= 2
    seen = [bool(torch.equal(trace.masks[site.name][0, 0], near)) for site in model.sites]
    assert seen == [False, True, False]
    assert trace.masks[model.sites[0].name].all()


def test_sites_are_named_by_module_and_call() -> None:
    with attach(tiny_hf("Albert"), FILLERS) as model:
        names = [site.name for site in model.sites]
        assert names == [
            f"encoder.albert_layer_groups.0.albert_layers.0.attention#{n}" for n in range(2)
        ]
    with attach(tiny_hf("Bart"), FILLERS) as model:
        assert [(site.name, site.keys) for site in model.sites] == [
            ("encoder.layers.0.self_attn", "a"),
            ("encoder.layers.1.self_attn", "a"),
            ("decoder.layers.0.self_attn", "target"),
            ("decoder.layers.0.encoder_attn", "a"),
            ("decoder.layers.1.self_attn", "target"),
            ("decoder.layers.1.encoder_attn", "a"),
        ]
        assert all(site.level == "tokens" and not site.linear for site in model.sites)


@pytest.mark.parametrize(("name", "task"), [*CLASSIFIERS, *WRITERS])
def test_without_weights_the_logits_are_the_same_to_the_last_bit(name: str, task: str) -> None:
    batch = batch_for(name, task)
    with attach(tiny_hf(name, task), FILLERS) as model, torch.no_grad():
        whole, bare = model(batch), model(batch, keep=Keep(weights=False))
    assert torch.equal(whole.logits, bare.logits)
    assert whole.weights and not bare.weights


@pytest.mark.parametrize("name", ["Bert", "DebertaV2", "Bloom"])
def test_without_weights_a_row_that_sees_nothing_still_mixes_nothing(name: str) -> None:
    """All tokens hidden: eager attention would look everywhere."""
    batch = hf_batch()
    text = batch.texts["a"]
    hidden = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
    blind = replace(batch, texts={"a": replace(text, hidden=hidden)})
    with attach(tiny_hf(name), FILLERS) as model, torch.no_grad():
        whole, bare = model(blind), model(blind, keep=Keep(weights=False))
    assert torch.equal(whole.logits, bare.logits)
    assert not any(bool(weights.any()) for weights in whole.weights.values())


def test_without_weights_edits_are_still_made() -> None:
    batch = hf_batch()
    with attach(tiny_hf("Bert", "classification"), FILLERS) as model, torch.no_grad():
        edits = {model.sites[0].name: lambda call: torch.zeros_like(call.weights)}
        whole, bare = model(batch, edits), model(batch, edits, Keep(weights=False))
        untouched = model(batch)
    assert torch.equal(whole.logits, bare.logits)
    assert not torch.equal(whole.logits, untouched.logits)
