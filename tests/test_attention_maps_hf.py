"""Explanations made of attention and their measures on Hugging Face models, against what
transformers itself returns as attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heedful.attributions import (
    SALIENCIES,
    attention,
    gradient_attention,
    mass_outside,
    rollout,
    text_site,
    value_norm,
)
from heedful.errors import HeedfulError
from heedful.experiments import (
    ExclusivityParams,
    ForwardBatch,
    Intervention,
    effect,
    erasures,
    exclusivity,
    head_statistics,
    null_space,
    tvd_permuted,
)
from heedful.models import attach
from heedful.types import Batch, Keep
from heedful.words import to_words
from reference import attention_maps as reference
from reference import interventions
from tiny_hf import FILLERS, PAD, hf_batch, tiny_hf

NAMES = ["attention", "effective_attention", "gradient_attention", "rollout", "value_norm"]
LENGTHS = (5, 1, 8, 3)
READ = {"Bert": 0, "DistilBert": 0, "GPT2": -1, "Llama": -1, "Bart": -1}


def own_attention(module: Any, batch: Batch) -> Any:
    """What transformers returns when asked for attention."""
    text = batch.texts["a"]
    seen = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
    module.set_attn_implementation("eager")
    with torch.no_grad():
        return module(
            input_ids=text.tokens.masked_fill(~seen, PAD),
            attention_mask=seen.long(),
            output_attentions=True,
        )


def reading_row(name: str, n: int) -> int:
    return 0 if READ[name] == 0 else n - 1


@pytest.mark.parametrize("name", list(READ))
def test_attention_and_rollout_follow_transformers(name: str) -> None:
    module, batch = tiny_hf(name, double=True), hf_batch(LENGTHS)
    own = own_attention(module, batch)
    layers = own.encoder_attentions if name == "Bart" else own.attentions
    with attach(module, FILLERS) as model:
        shown = attention(model, batch, batch.labels)
        outside = mass_outside(model, batch)
        rolled = rollout(model, batch, batch.labels)
    last = own.cross_attentions[-1] if name == "Bart" else layers[-1]
    for row, n in enumerate(batch.texts["a"].lengths.tolist()):
        expected = last[row, :, reading_row(name, n), :n].mean(0)
        torch.testing.assert_close(shown[row, 1 : n - 1], expected[1 : n - 1])
        assert outside[row].item() == pytest.approx(float(expected[0] + expected[n - 1]))
        product = reference.rollout([each[row, :, :n, :n].numpy() for each in layers])
        start = expected.numpy() @ product if name == "Bart" else product[reading_row(name, n)]
        assert rolled[row, 1 : n - 1].tolist() == pytest.approx(start[1 : n - 1], abs=1e-10)


def test_value_norms_of_bert_equal_loops_over_its_own_weights() -> None:
    """Values, output projection and attention of the last layer are taken from the module, not
    from what Heedful keeps: f(x) = (x W_V + b_V) W_O, by head."""
    module, batch = tiny_hf("Bert", double=True), hf_batch(LENGTHS)
    text, last = batch.texts["a"], module.bert.encoder.layer[-1].attention
    with attach(module, FILLERS) as model:
        shown = value_norm(model, batch, batch.labels)
    seen = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
    module.set_attn_implementation("eager")
    with torch.no_grad():
        own = module(
            input_ids=text.tokens.masked_fill(~seen, PAD),
            attention_mask=seen.long(),
            output_attentions=True,
            output_hidden_states=True,
        )
        values = last.self.value(own.hidden_states[-2])
    heads, size = module.config.num_attention_heads, module.config.hidden_size
    width = size // heads
    matrix = last.output.dense.weight.detach().numpy()  # [out, in]
    projection = np.stack([matrix[:, h * width : (h + 1) * width].T for h in range(heads)])
    assert heads > 1 and projection.shape == (heads, width, size)
    for row, n in enumerate(text.lengths.tolist()):
        split = values[row, :n].reshape(n, heads, width).transpose(0, 1).numpy()
        weights = own.attentions[-1][row, :, :1, :n].numpy()  # read from the first token
        expected = reference.value_norm(weights, split, projection, np.ones(1))
        assert shown[row, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-10)


@pytest.mark.parametrize(
    ("name", "place", "turned"),
    [
        ("Bert", "bert.encoder.layer.1.attention.output.dense", False),
        ("DistilBert", "distilbert.transformer.layer.1.attention.out_lin", False),
        ("GPT2", "transformer.h.1.attn.c_proj", True),
        ("Llama", "model.layers.1.self_attn.o_proj", False),
        ("Bart", "model.decoder.layers.1.encoder_attn.out_proj", False),
    ],
)
def test_the_output_projection_is_found(name: str, place: str, turned: bool) -> None:
    module, batch = tiny_hf(name, double=True), hf_batch(LENGTHS)
    hooks = sum(len(each._forward_pre_hooks) for each in module.modules())
    with attach(module, FILLERS) as model, torch.no_grad():
        trace = model(batch, keep=Keep(values=True))
        last = text_site(model).name
    assert set(trace.projections) == {site.name for site in model.sites}
    weight = module.get_submodule(place).weight.detach()
    found = trace.projections[last]
    assert found is not None
    assert torch.equal(found.flatten(0, 1), weight if turned else weight.T)
    assert found.shape[:2] == trace.values[last].shape[1::2]
    assert sum(len(each._forward_pre_hooks) for each in module.modules()) == hooks


def test_what_stands_between_heads_and_projection_leaves_value_norm_out() -> None:
    """The next linear map is given something else than what the heads mixed."""
    module, batch = tiny_hf("Bert"), hf_batch(LENGTHS)
    dense = module.bert.encoder.layer[-1].attention.output.dense
    module.bert.encoder.layer[-1].attention.output.dense = nn.Sequential(nn.LayerNorm(16), dense)
    with (
        attach(module, FILLERS) as model,
        pytest.raises(HeedfulError, match="value_norm needs the output projection"),
    ):
        value_norm(model, batch, batch.labels)


@pytest.mark.parametrize("name", ["Bert", "Llama", "T5"])
@pytest.mark.parametrize("saliency", NAMES)
def test_maps_ignore_batches_and_padding(saliency: str, name: str) -> None:
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf(name, double=True), FILLERS) as model:
        whole: Tensor = SALIENCIES[saliency].make(model, batch, batch.labels)
        padded = SALIENCIES[saliency].make(model, hf_batch(LENGTHS, pad=3), batch.labels)
        alone = SALIENCIES[saliency].make(model, batch.take(torch.tensor([2])), batch.labels[2:3])
    mask = batch.texts["a"].mask
    assert not whole[~mask].any() and bool((whole[mask] != 0).all()) and not whole.requires_grad
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole, atol=1e-9, rtol=0)
    assert not padded[:, whole.shape[1] :].any()
    torch.testing.assert_close(alone[0], whole[2, : alone.shape[1]], atol=1e-9, rtol=0)


def test_gradient_attention_is_transformers_gradient_times_its_attention() -> None:
    module, batch = tiny_hf("Bert", double=True), hf_batch(LENGTHS)
    with attach(module, FILLERS) as model:
        found = gradient_attention(model, batch, batch.labels)
    text = batch.texts["a"]
    seen = torch.arange(text.tokens.shape[1]) < text.lengths[:, None]
    module.set_attn_implementation("eager")
    tokens = text.tokens.masked_fill(~seen, PAD)
    own = module(input_ids=tokens, attention_mask=seen.long(), output_attentions=True)
    p = torch.softmax(own.logits, -1).gather(1, batch.labels[:, None]).sum()
    weights = own.attentions[-1]
    (slope,) = torch.autograd.grad(p, weights)
    expected = (weights * slope)[:, :, 0].sum(1).detach() * text.mask
    torch.testing.assert_close(found, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("name", ["Bert", "GPT2"])
def test_erasures_and_interventions_equal_runs_of_the_model(name: str) -> None:
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf(name, double=True), FILLERS) as model, torch.no_grad():
        site, trace = model.sites[-1].name, model(batch)
        before = interventions.output(model, batch, {})
        found = erasures(ForwardBatch.of(model, batch))[0]
        uniform = effect(ForwardBatch.of(model, batch), Intervention("uniform", "all"))
        medians = tvd_permuted(ForwardBatch.of(model, batch), 5)
        numbers = batch.texts["a"].words
        assert numbers is not None
        for row, n in enumerate(batch.texts["a"].lengths.tolist()):
            readers = torch.zeros(trace.weights[site].shape[2])
            readers[reading_row(name, n)] = 1
            for word, tokens in enumerate(interventions.words(numbers[row].tolist())):
                new = trace.weights[site].clone()
                new[row] = interventions.erased(new[row], readers, tokens)
                after = interventions.output(model, batch, {site: new})
                expected = interventions.jsd(before[row], after[row])
                assert found.each[row, word].item() == pytest.approx(expected, abs=1e-9)
        weights = to_words(attention(model, batch, batch.labels), batch.texts["a"])
        assert torch.equal(found.top, found.each.gather(1, weights.argmax(-1)[:, None])[:, 0])
    assert bool((uniform.tvd > 0).all()) and bool((medians > 0).all())


def test_searches_and_null_spaces_hold_in_a_hugging_face_model() -> None:
    """Heads of 8 dimensions: rank([V, 1]) is 9, so only the text of 10 keys is free."""
    batch = hf_batch(LENGTHS)
    with attach(tiny_hf("Bert"), FILLERS) as model:
        found = exclusivity(
            ForwardBatch.of(model, batch), ExclusivityParams(steps=20, epsilon=0.05)
        )
        space = null_space(model, batch)
        heads = head_statistics(ForwardBatch.of(model, batch))
    assert bool((found.tvd <= 0.05).all()) and float(found.jsd.max()) > 0.02
    assert space.freedom.tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]]
    assert (space.jsd[2] > 0).all() and space.tvd.max() < 1e-4
    assert set(heads) == {(layer, head) for layer in (0, 1) for head in (0, 1)}
    assert all(values.isfinite().all() for found in heads.values() for values in found.values())
