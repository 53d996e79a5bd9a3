"""Attention within windows is weights of each token by each other, and goes back where it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from heedful.attributions import explain
from heedful.errors import HeedfulError
from heedful.experiments import ForwardBatch, head_effects, head_means, null_space
from heedful.interventions import custom, permute, put_out, uniform
from heedful.models import attach, span
from heedful.types import Edit, Keep
from reference.windows import weights as weights_by_hand
from test_hf_forward import answer, arguments, everywhere, real, same
from tiny_hf import END, FILLERS, PAD, START, hf_batch, tiny_hf, with_target

WINDOWS = 4, 16
"""The texts have up to 10 tokens: windows are shorter, and longer."""


def tiny_led(double: bool = False) -> Any:
    torch.manual_seed(0)
    sizes = {
        **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
        **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2),
        **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 32),
        **dict.fromkeys(("max_encoder_position_embeddings", "max_decoder_position_embeddings"), 64),
    }
    tokens = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
    config = transformers.LEDConfig(
        vocab_size=50, d_model=16, attention_window=4, decoder_start_token_id=END, **sizes, **tokens
    )
    module = transformers.LEDForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.4)
    return (module.double() if double else module).eval()


def as_matrix(output: Any, side: int, row: int, layer: int, t: int) -> Tensor:
    """What transformers gives of one text, put where it belongs; only the first token is seen by
    all, and sees all."""
    local = output.attentions[layer][row]
    matrix = torch.zeros(len(local), t, t)
    for query in range(t):
        matrix[:, query, 0] = local[:, query, 0]
        for key in range(max(1, query - side), min(t, query + side + 1)):
            matrix[:, query, key] = local[:, query, 1 + key - query + side]
    matrix[:, 0] = output.global_attentions[layer][row][:, :t, 0]
    return matrix


@pytest.mark.parametrize("window", WINDOWS)
@torch.no_grad()
def test_weights_are_those_of_the_module_and_of_its_paper(window: int) -> None:
    module, batch = tiny_hf("Longformer", attention_window=window), hf_batch()
    text, t = batch.texts["a"], batch.texts["a"].tokens.shape[1]
    states: list[Tensor] = []
    first = module.longformer.encoder.layer[0].attention.self
    first.register_forward_pre_hook(lambda part, given: states.append(given[0]))
    theirs = module(**arguments(batch), output_attentions=True)
    with attach(module, FILLERS) as model:
        trace = model(batch)
    for row, length in enumerate(text.lengths.tolist()):
        there = [place < length for place in range(t)]
        by_hand = weights_by_hand(first, states[0][row, :t].numpy(), there, [0], window // 2)
        own = trace.weights[model.sites[0].name][row]
        torch.testing.assert_close(own.double(), torch.from_numpy(by_hand), atol=1e-5, rtol=1e-4)
        assert torch.equal(trace.masks[model.sites[0].name][row, 0], own[0] > 0)
        for layer, site in enumerate(model.sites):
            whole = as_matrix(theirs, window // 2, row, layer, length)
            assert torch.equal(trace.weights[site.name][row, :, :length, :length], whole)
            assert not trace.weights[site.name][row, :, length:].any()


@pytest.mark.parametrize(
    ("window", "dtype"), [(4, torch.float32), (16, torch.float32), (4, torch.bfloat16)]
)
@torch.no_grad()
def test_weights_put_back_give_the_same_logits_and_others_do_not(
    window: int, dtype: torch.dtype
) -> None:
    module = tiny_hf("Longformer", attention_window=window).to(dtype)
    with attach(module, FILLERS) as model:
        for lengths in ((5, 1, 8, 3), (6, 2), (0,)):  # of 10, 8 and 2 tokens
            batch = hf_batch(lengths)
            expected = module(**arguments(batch)).logits.float()
            assert torch.equal(model.logits(batch), expected)
            assert torch.equal(model(batch, everywhere(model, same())).logits, expected)
            moved = model(batch, everywhere(model, uniform())).logits
            assert (moved - expected).abs().max() > 0.01


def test_a_weight_without_a_place_is_refused() -> None:
    """A row that nobody may change by accident: what is asked is what is measured, or nothing."""

    def far(call: Any) -> Tensor:
        weights = call.weights.clone()
        weights[0, 0, 1, 5] = 1e-9
        return weights

    batch = hf_batch()
    with attach(tiny_hf("Longformer"), FILLERS) as model, torch.no_grad():
        site = model.sites[0].name
        with pytest.raises(HeedfulError, match="outside of the windows of LongformerSelfAttention"):
            model(batch, {site: far})
        near: Edit = lambda call: far(call).roll(-2, -1).roll(2, -1) * call.mask  # noqa: E731
        assert torch.equal(model(batch, {site: near}).logits, model(batch).logits)


def test_slopes_of_weights_are_those_of_small_steps() -> None:
    """Of the token that sees all, of one in its window, and of one that only the first sees."""
    module, batch = tiny_hf("Longformer", double=True), hf_batch((8,))
    with attach(module, FILLERS) as model:
        site = model.sites[0].name
        own = model(batch).weights[site].detach()
        free = own.clone().requires_grad_()
        logits = model(batch, {site: custom(lambda call: free)}).logits
        (slopes,) = torch.autograd.grad(logits[0, 0], free)
        for place in ((0, 0, 0, 9), (0, 1, 0, 0), (0, 0, 4, 5), (0, 1, 7, 0), (0, 1, 6, 8)):
            steps = []
            for step in (1e-3, -1e-3):
                moved = own.clone()
                moved[place] += step
                edits: dict[str, Edit] = {site: lambda call, moved=moved: moved}
                with torch.no_grad():
                    steps.append(model(batch, edits).logits[0, 0])
            risen = (steps[0] - steps[1]) / 2e-3
            torch.testing.assert_close(slopes[place].double(), risen, rtol=1e-2, atol=1e-5)
        assert not slopes[0, :, 4, 9].any()  # out of its window


def test_attaching_twice_is_attaching_once() -> None:
    batch = hf_batch()
    module = tiny_hf("Longformer")
    with attach(module, FILLERS) as one, torch.no_grad():
        expected = one(batch, everywhere(one, uniform())).logits
        with attach(module, FILLERS) as two:
            assert torch.equal(two(batch, everywhere(two, uniform())).logits, expected)
        assert torch.equal(one(batch, everywhere(one, uniform())).logits, expected)


def test_questions_are_refused_in_a_sentence() -> None:
    """A reader of Longformer asserts that each text has three separators."""
    module = tiny_hf("Longformer", "span", sep_token_id=END)
    with (
        pytest.raises(HeedfulError, match="LongformerForQuestionAnswering cannot run on two short"),
        attach(module, FILLERS, span),
    ):
        pass


def test_dropout_draws_what_it_would_draw() -> None:
    module, batch = tiny_hf("Longformer").train(), hf_batch()
    torch.manual_seed(1)
    expected = module(**arguments(batch)).logits
    with attach(module, FILLERS) as model:
        torch.manual_seed(1)
        assert torch.equal(model(batch, everywhere(model, same())).logits, expected)


def test_explanations_are_made_or_refused_in_a_sentence() -> None:
    batch = hf_batch()
    with attach(tiny_hf("Longformer"), FILLERS) as model:
        for how in ("attention", "rollout", "gradient_attention", "gradient", "leave_one_out"):
            scores = explain(how, model, batch, batch.labels)
            assert bool(scores.isfinite().all()) and bool(scores.any())
        for how in ("value_norm", "effective_attention", "value_zeroing", "decompx", "lrp"):
            with pytest.raises(HeedfulError, match="leave|be followed"):
                explain(how, model, batch, batch.labels)
        with torch.no_grad():
            shown = ForwardBatch(model, batch, model(batch))
        means = head_means(model, [batch])  # of values that are not shown
        effects = [(name, effect.tvd) for _, name, effect in head_effects(shown, means, 4)]
        assert {name for name, _ in effects} == {"zero", "permute"}
        assert all(bool((moved > 0).any()) for _, moved in effects)
        with pytest.raises(HeedfulError, match="does not show the values"):
            null_space(model, batch)


@torch.no_grad()
def test_hidden_tokens_neither_look_nor_are_seen() -> None:
    """A masked token of Longformer mixes nothing."""
    module, batch = tiny_hf("Longformer"), hf_batch((8,))
    text = batch.texts["a"]
    hidden = torch.zeros_like(text.mask)
    hidden[:, 4] = True
    batch = replace(batch, texts={"a": replace(text, hidden=hidden)})
    given = {**arguments(batch), "attention_mask": (real(text) & ~hidden).long()}
    with attach(module, FILLERS) as model:
        trace = model(batch)
        assert torch.equal(trace.logits, module(**given).logits)
        for site in model.sites:
            assert not trace.weights[site.name][..., 4].any()
            assert not trace.weights[site.name][:, :, 4].any()


@torch.no_grad()
def test_leds_encoder_has_windows_and_its_decoder_has_none() -> None:
    module, batch = tiny_led(), with_target(hf_batch())
    output = module(**arguments(batch), output_attentions=True)
    expected = answer(output, batch)
    with attach(module, FILLERS) as model:
        assert [site.name.split(".")[0] for site in model.sites] == ["encoder"] * 2 + [
            "decoder"
        ] * 4
        trace = model(batch, keep=Keep(values=True))
        assert torch.equal(trace.logits, expected)
        assert torch.equal(model(batch, everywhere(model, same())).logits, expected)
        moved = model(batch, {model.sites[0].name: permute(seed=1)})
        assert (moved.logits - expected).abs().max() > 1e-3
    weights = trace.weights[model.sites[0].name]
    place = torch.arange(10)
    assert not (weights * ((place[:, None] - place).abs() > 2)).any()
    for query in range(10):
        for key in range(max(0, query - 2), min(10, query + 3)):
            theirs = output.encoder_attentions[0][:, :, query, key - query + 2]
            there = (query < batch.texts["a"].lengths)[:, None]
            assert torch.equal(weights[:, :, query, key], theirs * there)


@torch.no_grad()
def test_leds_weights_values_and_projection_make_its_next_step() -> None:
    module, batch, seen = tiny_led(double=True), with_target(hf_batch()), list[Tensor]()
    linear = module.led.encoder.layers[1].self_attn.output
    with attach(module, FILLERS) as model:
        site = model.sites[1].name
        trace = model(batch, {site: permute(seed=3)}, Keep(values=True))
        linear.register_forward_hook(lambda part, given, out: seen.append(out))
        model(batch, {site: permute(seed=3)})
        projection, values = trace.projections[site], trace.values[site]
        assert projection is not None
        rows = torch.einsum("bhqk,bhkd,hde->bqe", trace.weights[site].double(), values, projection)
        there = real(batch.texts["a"])
        ours, theirs = (rows + linear.bias)[there], seen[0][:, :10][there]
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)
        nothing = put_out(torch.zeros(4, 2, 10, 8, dtype=torch.float64))
        seen.clear()
        model(batch, {site: nothing})
        assert torch.equal(seen[0][:, :10], linear.bias.expand(4, 10, 16))
