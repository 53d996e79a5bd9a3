"""ConvBERT's attention is reached; its convolution reads no padding."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from heedful.attributions import explain
from heedful.errors import HeedfulError
from heedful.interventions import uniform
from heedful.models import attach
from heedful.types import Batch, Keep
from test_hf_attach import assert_same, state
from test_hf_forward import arguments, everywhere, same
from tiny_hf import FILLERS, hf_batch, tiny_hf


def alone(module: torch.nn.Module, batch: Batch) -> Tensor:
    """The logits of each text without any padding."""
    rows = [batch.take(torch.tensor([row])) for row in range(len(batch))]
    return torch.cat([module(**arguments(row)).logits for row in rows])


@torch.no_grad()
def test_a_text_has_the_answer_that_it_has_alone() -> None:
    module, batch = tiny_hf("ConvBert", double=True), hf_batch(pad=2)
    before, expected = state(module), alone(module, batch)
    assert (module(**arguments(batch)).logits - expected).abs().max() > 0.01  # padding is read
    with attach(module, FILLERS) as model:
        torch.testing.assert_close(model.logits(batch), expected)
        again = model(batch, everywhere(model, same())).logits
        torch.testing.assert_close(again, expected)
        moved = model(batch, everywhere(model, uniform())).logits
    assert (moved - expected).abs().max() > 0.01
    assert_same(before, state(module))
    padded = module(**arguments(batch)).logits
    assert (padded - expected).abs().max() > 0.01  # nothing is left behind


@torch.no_grad()
def test_the_heads_of_attention_are_half_of_what_is_projected() -> None:
    module, batch, seen = tiny_hf("ConvBert"), hf_batch((8,)), list[Tensor]()
    dense = module.convbert.encoder.layer[0].attention.output.dense
    own = module(**arguments(batch), output_attentions=True).attentions
    with attach(module, FILLERS) as model:
        trace = model(batch, keep=Keep(values=True))
        dense.register_forward_pre_hook(lambda part, given: seen.append(given[0]))
        model(batch)
    for site, theirs in zip(model.sites, own, strict=True):
        torch.testing.assert_close(trace.weights[site.name], theirs)
    first = model.sites[0].name
    mixed = (trace.weights[first] @ trace.values[first]).transpose(1, 2).flatten(2)
    torch.testing.assert_close(seen[0][..., : mixed.shape[-1]], mixed)
    assert seen[0].shape[-1] == 2 * mixed.shape[-1] and trace.projections[first] is None


@torch.no_grad()
def test_what_is_hidden_is_hidden_from_the_convolution_too() -> None:
    module, batch = tiny_hf("ConvBert"), hf_batch((8,))
    text = batch.texts["a"]
    hidden = torch.zeros_like(text.mask)
    hidden[:, 4] = True
    other = torch.where(hidden, 5 + (text.tokens + 1) % 40, text.tokens)
    with attach(module, FILLERS) as model:
        plain, one, two = (
            model(replace(batch, texts={"a": replace(text, tokens=tokens, hidden=some)})).logits
            for tokens, some in ((text.tokens, None), (text.tokens, hidden), (other, hidden))
        )
    torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)
    assert (one - plain).abs().max() > 1e-3


def test_explanations_are_made_or_refused_in_a_sentence() -> None:
    batch = hf_batch()
    with attach(tiny_hf("ConvBert"), FILLERS) as model:
        for how in (
            "attention",
            "rollout",
            "gradient_attention",
            "gradient",
            "effective_attention",
        ):
            scores = explain(how, model, batch, batch.labels)
            assert bool(scores.isfinite().all()) and bool(scores.any())
        for how in ("value_norm", "lrp"):
            with pytest.raises(HeedfulError, match="leave"):
                explain(how, model, batch, batch.labels)
