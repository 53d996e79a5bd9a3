"""States taken apart by tokens: as in the papers' formulas, complete, and gone when it is over."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch

pytest.importorskip("transformers")

from heedful.attributions import SALIENCIES, alti, decompx, globenc, value_zeroing
from heedful.errors import HeedfulError
from heedful.models import attach, logit
from heedful.types import Batch
from heedful.words import present
from reference import decomposition as reference
from tiny import tiny_batch, tiny_model
from tiny_hf import DECODERS, FILLERS, HEADS, LAYERS, hf_batch, tiny_hf, with_target

NAMES = ("decompx", "globenc", "alti", "value_zeroing")
LIKE_BERT = ("Bert", "Roberta", "DistilBert", "Albert")
LENGTHS = (5, 1, 8)
KNOWN = [("decompx", "GPT2"), ("value_zeroing", "GPT2"), ("value_zeroing", "Llama")]
KNOWN += [("decompx", name) for name in ("Llama", "Qwen3", "ModernBert")]
KNOWN += [(saliency, name) for saliency in NAMES for name in LIKE_BERT]


def every_token(batch: Batch) -> Batch:
    """Start and end are the text's own."""
    text = batch.texts["a"]
    return replace(batch, texts={"a": replace(text, mask=present(text), words=None)})


def near(name: str) -> dict[str, float]:
    """Llama and its relations norm in single precision whatever theirs is."""
    return {"atol": 1e-9 if name in (*LIKE_BERT, "ModernBert", "GPT2") else 1e-5, "rtol": 0}


def numbers(module: Any) -> dict[str, Any]:
    return {key: value.numpy() for key, value in module.state_dict().items()}


def test_decompx_equals_the_step_by_step_rules() -> None:
    module = tiny_hf("Bert", classes=3, double=True)
    batch = every_token(hf_batch(LENGTHS, classes=3))
    with attach(module, FILLERS) as model:
        scores = decompx(model, batch, batch.labels)
    for row, length in enumerate(batch.texts["a"].lengths.tolist()):
        tokens, label = batch.texts["a"].tokens[row, :length].tolist(), int(batch.labels[row])
        expected = reference.decompx(numbers(module), tokens, label, LAYERS, HEADS)
        assert scores[row, :length].tolist() == pytest.approx(expected, abs=1e-9)


def test_decompx_of_a_decoder_equals_the_step_by_step_rules() -> None:
    """Norms without a mean, rotated and grouped keys, and a gate."""
    module = tiny_hf("Llama", classes=3, double=True)
    batch = every_token(hf_batch(LENGTHS, classes=3))
    with attach(module, FILLERS) as model:
        scores = decompx(model, batch, batch.labels)
    for row, length in enumerate(batch.texts["a"].lengths.tolist()):
        tokens, label = batch.texts["a"].tokens[row, :length].tolist(), int(batch.labels[row])
        expected = reference.decompx_llama(numbers(module), tokens, label, module.config)
        assert scores[row, :length].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("saliency", [globenc, alti, value_zeroing], ids=lambda each: each.__name__)
def test_shares_of_layers_equal_the_formulas(saliency: Any) -> None:
    module, batch = tiny_hf("Bert", double=True), every_token(hf_batch(LENGTHS))
    with attach(module, FILLERS) as model:
        scores = saliency(model, batch, batch.labels)
    restated = getattr(reference, saliency.__name__)
    for row, length in enumerate(batch.texts["a"].lengths.tolist()):
        tokens = batch.texts["a"].tokens[row, :length].tolist()
        expected = restated(numbers(module), tokens, LAYERS, HEADS)
        assert scores[row, :length].tolist() == pytest.approx(expected, abs=1e-9)
        assert float(scores[row].sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("name", [*LIKE_BERT, "ModernBert", *DECODERS])
def test_parts_of_all_tokens_are_the_logit(name: str) -> None:
    batch = every_token(hf_batch(LENGTHS))
    with attach(tiny_hf(name, double=True), FILLERS) as model:
        scores = decompx(model, batch, batch.labels)
        with torch.no_grad():
            explained = logit(model(batch).logits, batch.labels)
    torch.testing.assert_close(scores.sum(-1), explained, **near(name))
    assert explained.abs().max() > 0.1


@pytest.mark.parametrize(("saliency", "name"), KNOWN)
def test_batches_padding_and_groups_change_nothing(
    saliency: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, make = hf_batch(LENGTHS), SALIENCIES[saliency].make
    with attach(tiny_hf(name, double=True), FILLERS) as model:
        whole = make(model, batch, batch.labels)
        padded = make(model, hf_batch(LENGTHS, pad=3), batch.labels)
        monkeypatch.setattr(import_module("heedful.attributions.decomposition"), "AT_ONCE", 1)
        alone = make(model, batch, batch.labels)
    mask = batch.texts["a"].mask
    assert not whole[~mask].any() and bool((whole[mask] != 0).all()) and not whole.requires_grad
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole, **near(name))
    assert not padded[:, whole.shape[1] :].any()
    torch.testing.assert_close(alone, whole, **near(name))
    if saliency != "decompx":
        assert bool((whole >= 0).all())


def test_padding_on_the_left_changes_nothing() -> None:
    batch, module = hf_batch(LENGTHS), tiny_hf("GPT2", double=True)
    for make in (decompx, value_zeroing):
        with attach(module, FILLERS) as model:
            right = make(model, batch, batch.labels)
        with attach(module, FILLERS, padding="left") as model:
            left = make(model, batch, batch.labels)
        torch.testing.assert_close(left, right, atol=1e-9, rtol=0)


def test_single_precision_is_precise_enough() -> None:
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf("Bert"), FILLERS) as model:
        single = {name: SALIENCIES[name].make(model, batch, batch.labels) for name in NAMES}
    with attach(tiny_hf("Bert").double(), FILLERS) as model:
        for name in NAMES:
            double = SALIENCIES[name].make(model, batch, batch.labels)
            torch.testing.assert_close(single[name], double, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("saliency", NAMES)
def test_nothing_is_left_behind(saliency: str) -> None:
    module, batch = tiny_hf("Albert"), hf_batch(LENGTHS)
    with attach(module, FILLERS) as model:
        plain = model(batch).logits
        first = SALIENCIES[saliency].make(model, batch, batch.labels)
        assert torch.equal(SALIENCIES[saliency].make(model, batch, batch.labels), first)
        assert torch.equal(model(batch).logits, plain)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


@pytest.mark.parametrize(
    ("saliency", "name", "why"),
    [
        ("globenc", "GPT2", "normalise after attention"),
        ("alti", "Llama", "normalise after attention"),
    ],
)
def test_layers_of_other_kinds_are_refused(saliency: str, name: str, why: str) -> None:
    batch, module = hf_batch(LENGTHS), tiny_hf(name)
    with attach(module, FILLERS) as model, pytest.raises(HeedfulError, match=why):
        SALIENCIES[saliency].make(model, batch, batch.labels)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_a_step_without_a_rule_is_refused() -> None:
    batch, module = hf_batch(LENGTHS), tiny_hf("Bert")
    module.classifier.register_forward_hook(lambda part, given, output: torch.sin(output))
    with attach(module, FILLERS) as model, pytest.raises(HeedfulError, match="do not add up"):
        decompx(model, batch, batch.labels)


@pytest.mark.parametrize("saliency", NAMES)
def test_models_without_layers_of_text_are_refused(saliency: str) -> None:
    make, batch = SALIENCIES[saliency].make, tiny_batch([4, 2])
    with pytest.raises(HeedfulError, match=f"{saliency} follows states through the layers"):
        make(tiny_model("average"), batch, batch.labels)
    written = with_target(hf_batch(LENGTHS), (2, 3, 1))
    with (
        attach(tiny_hf("Marian", task="language"), FILLERS) as model,
        pytest.raises(HeedfulError, match=f"{saliency} follows states through the layers"),
    ):
        make(model, written, written.labels)
