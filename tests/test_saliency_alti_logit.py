"""ALTI-Logit: vector by vector for Llama, and the whole logit for every family."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("transformers")

from heedful.attributions import alti_logit, alti_logit_relevance
from heedful.errors import HeedfulError
from heedful.models import attach, contrast, logit
from heedful.types import Batch, Keep
from heedful.words import present
from reference import alti_logit as reference
from tiny import tiny_batch, tiny_model
from tiny_hf import DECODERS, FILLERS, LAYERS, hf_batch, tiny_hf

LENGTHS = (5, 1, 8)
OTHERS = ("OPT", "Gemma2", "Gemma3Text", "Olmo2")
KNOWN = [name for name in DECODERS if name not in OTHERS]
NEAR = {"atol": 1e-5, "rtol": 0}  # some norms are in single precision


def every_token(batch: Batch) -> Batch:
    text = batch.texts["a"]
    return replace(batch, texts={"a": replace(text, mask=present(text), words=None)})


def test_llama_equals_the_sums_over_layers_heads_and_tokens() -> None:
    module = tiny_hf("Llama", classes=3, double=True)
    batch = every_token(hf_batch(LENGTHS, classes=3))
    numbers = {key: value.numpy() for key, value in module.state_dict().items()}
    with attach(module, FILLERS) as model:
        scores, gap = alti_logit_relevance(model, batch, batch.labels)
        explained = logit(model(batch).logits.detach(), batch.labels)
    for row, length in enumerate(batch.texts["a"].lengths.tolist()):
        tokens, label = batch.texts["a"].tokens[row, :length].tolist(), int(batch.labels[row])
        expected, start, forwards = reference.alti_logit(numbers, tokens, label, module.config)
        assert scores[row, :length].tolist() == pytest.approx(expected, abs=1e-5)
        assert float(gap[row]) == pytest.approx(start + sum(forwards), abs=1e-5)
        whole = sum(expected) + start + sum(forwards)
        assert float(explained[row]) == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_left_out_is_the_embedding_and_the_forward_parts(name: str) -> None:
    """Without biases: the states before the first layer, and what each feed-forward part adds."""
    module = tiny_hf(name, double=True)
    with torch.no_grad():
        for key, parameter in module.named_parameters():
            if "bias" in key:
                parameter.zero_()
    batch = every_token(hf_batch((6,)))
    with attach(module, FILLERS) as model:
        scores, gap = alti_logit_relevance(model, batch, batch.labels)
        with outside_of_attention(module) as added:
            model(batch)
        slope = slope_of_last(module, int(batch.labels[0]), sum_of_all(module, model, batch))
    left = sum(float((part[0, -1] * slope).sum()) for part in added)
    assert len(added) == LAYERS + 1 and abs(left) > 1e-2
    assert float(gap[0]) == pytest.approx(left, abs=1e-5)
    assert float(scores.abs().sum()) > 1e-2


@pytest.mark.parametrize("name", KNOWN)
def test_biases_are_all_that_is_missing_besides(name: str) -> None:
    """Of any target, scores and gap are the explained number; no token has part of a bias."""
    batch = every_token(hf_batch(LENGTHS, classes=3))
    with attach(tiny_hf(name, classes=3, double=True), FILLERS) as model:
        scores, gap = alti_logit_relevance(model, batch, batch.labels)
        explained = logit(model(batch).logits.detach(), batch.labels)
        own = alti_logit(model, batch, batch.labels, contrast)
        top = model(batch).logits.scatter(1, batch.labels[:, None], -1e9).argmax(-1)
        other = alti_logit(model, batch, top, logit)
    torch.testing.assert_close(scores.sum(-1) + gap, explained, **NEAR)
    torch.testing.assert_close(own, scores - other, **NEAR)


def test_mixing_is_by_the_states_that_the_next_norm_is_given() -> None:
    """GPT-2's, which its output projections add a bias to."""
    module, batch = tiny_hf("GPT2", double=True), every_token(hf_batch((4,)))
    given: dict[str, Tensor] = {}
    with ExitStack() as stack:
        for number, layer in enumerate(module.transformer.h):
            for part in ("ln_1", "ln_2"):

                def keep(norm: nn.Module, args: Any, key: str = f"{part}{number}") -> None:
                    given[key] = args[0][0].detach()

                stack.callback(getattr(layer, part).register_forward_pre_hook(keep).remove)
        with attach(module, FILLERS) as model:
            trace = model(batch, keep=Keep(values=True))
            slope = slope_of_last(module, int(batch.labels[0]), sum_of_all(module, model, batch))
            scores = alti_logit(model, batch, batch.labels)[0]
    tokens = torch.eye(len(scores), dtype=torch.float64)
    expected = torch.zeros(len(scores), dtype=torch.float64)
    for number, site in enumerate(model.sites):
        weights, values = trace.weights[site.name][0], trace.values[site.name][0]
        projection = trace.projections[site.name]
        assert projection is not None
        parts = torch.einsum("hqk,hkd,hde->qke", weights, values, projection).detach()
        expected += parts[-1] @ slope @ tokens
        x, y = given[f"ln_1{number}"], given[f"ln_2{number}"]
        assert not torch.allclose(y, x + parts.sum(1), atol=1e-3)
        near = torch.zeros(len(scores), len(scores), dtype=torch.float64)
        for i in range(len(scores)):
            for j in range(len(scores)):
                part = parts[i, j] + (x[i] if i == j else 0.0)
                near[i, j] = max(0.0, float(y[i].abs().sum() - (y[i] - part).abs().sum()))
        tokens = near / near.sum(-1, keepdim=True) @ tokens
    torch.testing.assert_close(scores, expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", ["GPT2", "Llama"])
def test_batches_padding_and_parts_change_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, module = hf_batch(LENGTHS), tiny_hf(name, double=True)
    with attach(module, FILLERS) as model:
        whole = alti_logit(model, batch, batch.labels)
        padded = alti_logit(model, hf_batch(LENGTHS, pad=3), batch.labels)
        monkeypatch.setattr(import_module("heedful.attributions.alti_logit"), "AT_ONCE", 1)
        alone = alti_logit(model, batch.take(torch.tensor([1])), batch.labels[1:2])
    with attach(module, FILLERS, padding="left") as model:
        left = alti_logit(model, batch, batch.labels)
    mask = batch.texts["a"].mask
    assert not whole[~mask].any() and bool((whole[mask] != 0).all())
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole, **NEAR)
    torch.testing.assert_close(alone[0], whole[1, : alone.shape[1]], **NEAR)
    torch.testing.assert_close(left, whole, **NEAR)


def test_next_tokens_are_explained_too() -> None:
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf("Llama", "language"), FILLERS) as model:
        best = model(batch).logits.argmax(-1)
        scores, gap = alti_logit_relevance(model, batch, best)
        explained = logit(model(batch).logits.detach(), best)
    torch.testing.assert_close(scores.sum(-1) + gap, explained, atol=1e-4, rtol=0)


def test_nothing_is_left_behind() -> None:
    module, batch = tiny_hf("GPT2"), hf_batch(LENGTHS)
    with attach(module, FILLERS) as model:
        plain = model(batch).logits
        with torch.no_grad():
            first = alti_logit(model, batch, batch.labels)
            assert not torch.is_grad_enabled()
        assert torch.equal(alti_logit(model, batch, batch.labels), first)
        assert torch.equal(model(batch).logits, plain)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    assert all(parameter.grad is None for parameter in module.parameters())


def test_other_models_are_refused() -> None:
    batch = tiny_batch([4, 2])
    with pytest.raises(HeedfulError, match="does not know OneSequence: it knows gemma"):
        alti_logit(tiny_model(), batch, batch.labels)
    for name in ("Bert", "Gemma2"):
        with (
            attach(tiny_hf(name), FILLERS) as model,
            pytest.raises(HeedfulError, match=f"does not know '{name.lower()}'"),
        ):
            alti_logit(model, hf_batch(), hf_batch().labels)


@contextmanager
def outside_of_attention(module: Any) -> Iterator[list[Tensor]]:
    """The states before the first layer, and what feed-forward parts give."""
    added: list[Tensor] = []

    def first(part: nn.Module, args: Any, options: Any) -> None:
        added.append((args[0] if args else options["hidden_states"]).detach())

    base = module.base_model
    layers = base.h if hasattr(base, "h") else base.layers
    with ExitStack() as stack:
        hook = layers[0].register_forward_pre_hook(first, with_kwargs=True)
        stack.callback(hook.remove)
        for layer in layers:
            keep = layer.mlp.register_forward_hook(
                lambda part, args, out: added.append(out.detach())
            )
            stack.callback(keep.remove)
        yield added


def last_norm(module: Any) -> Any:
    names = ("norm", "ln_f", "final_layernorm", "final_layer_norm")
    return next(
        getattr(module.base_model, name) for name in names if hasattr(module.base_model, name)
    )


def sum_of_all(module: Any, model: Any, batch: Batch) -> Tensor:
    """The last state, as the last norm is given it."""
    given: list[Tensor] = []
    hook = last_norm(module).register_forward_pre_hook(lambda part, args: given.append(args[0]))
    model(batch)
    hook.remove()
    return given[0][0, -1].detach()


def slope_of_last(module: Any, label: int, state: Tensor) -> Tensor:
    """The norm as a matrix: x ↦ (x − mean) / σ ⊙ γ, and then the classifier's row."""
    norm = last_norm(module)
    centred = state - state.mean() if isinstance(norm, nn.LayerNorm) else state
    epsilon = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    gain = norm.weight + 1 if module.config.model_type == "gemma" else norm.weight
    read = gain * module.score.weight[label] / (centred.square().mean() + epsilon).sqrt()
    return (read - read.mean() if isinstance(norm, nn.LayerNorm) else read).detach()
