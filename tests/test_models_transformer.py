"""The Transformer family against its slow restatement, and what must never change a result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from heedful.attributions import value_norm
from heedful.errors import HeedfulError
from heedful.interventions import uniform
from heedful.models import Transformer, build, check, sinusoids
from heedful.specs import ModelSpec
from heedful.types import Keep
from reference.transformer import translate
from tiny_pairs import WORDS, close, parameters_of, rows_of, tiny_pairs, tiny_writer

NAMES = ["prenorm", "postnorm"]


@pytest.mark.parametrize("name", NAMES)
def test_forward_is_what_the_paper_says(name: str) -> None:
    model = tiny_writer(name)
    batch = tiny_pairs((4, 1, 6), (3, 5, 1))
    trace = model(batch)
    assert trace.step_logits is not None
    pairs = zip(rows_of(batch, "a"), rows_of(batch, "b"), strict=True)
    for i, (source, target) in enumerate(pairs):
        logits, weights = translate(parameters_of(model), 4, 2, name == "prenorm", source, target)
        close(trace.step_logits[i, : len(target)], torch.tensor(logits))
        for site, found in weights.items():
            _, q, k = found.shape
            close(trace.weights[site][i, :, :q, :k], torch.tensor(found))


def test_heads_are_joined_by_the_output_projection() -> None:
    """What cross-attention adds to a query is Σ_k Σ_h α v W_O + b_O: by hand from what the trace
    keeps, and by the module itself. The norms of its parts are Kobayashi's."""
    model, batch = tiny_writer("prenorm"), tiny_pairs((4, 6), (3, 2))
    added: list[torch.Tensor] = []
    cross = model.decoder.layers[-1].cross
    hook = cross.register_forward_hook(lambda module, given, out: added.append(out))
    trace = model(batch, keep=Keep(values=True, readout_weights=True))
    hook.remove()
    name = "decoder.1.cross"
    values, projection = trace.values[name], trace.projections[name]
    assert projection is not None and projection.shape[0] == values.shape[1] == 4
    parts = torch.einsum("bhqk,bhkd,hde->bqke", trace.weights[name], values, projection)
    close(parts.sum(2) + cross.out.bias, added[0])
    expected = torch.einsum(
        "bq,bqk->bk", trace.readout_weights[name].double(), parts.norm(dim=-1).double()
    )
    found = value_norm(model, batch, batch.labels)
    close(found, expected.masked_fill(~batch.texts["a"].mask, 0.0))
    own = {f"encoder.{n}": layer.attention for n, layer in enumerate(model.encoder.layers)}
    for n, layer in enumerate(model.decoder.layers):
        own |= {f"decoder.{n}.self": layer.own, f"decoder.{n}.cross": layer.cross}
    assert set(trace.projections) == set(own) == {site.name for site in model.sites}
    for site, module in own.items():
        each = trace.projections[site]
        assert each is not None and torch.equal(each.flatten(0, 1), module.out.weight.T)


def test_sites_are_named_in_order_and_one_is_main() -> None:
    model = tiny_writer("prenorm")
    assert [site.name for site in model.sites] == [
        "encoder.0", "encoder.1",
        "decoder.0.self", "decoder.0.cross", "decoder.1.self", "decoder.1.cross",
    ]  # fmt: skip
    assert [site.main for site in model.sites] == [False] * 5 + [True]
    assert [site.keys for site in model.sites] == ["a", "a", "b", "a", "b", "a"]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_what_each_head_mixes(name: str) -> None:
    """The site's output is made of weights · values and nothing else."""
    model, batch = tiny_writer(name), tiny_pairs((5, 2), (3, 4))
    assert isinstance(model, Transformer)
    found: list[torch.Tensor] = []
    layer = model.decoder.layers[-1].cross.out
    handle = layer.register_forward_pre_hook(lambda module, inputs: found.append(inputs[0]))
    trace = model(batch, keep=Keep(values=True))
    handle.remove()
    site = model.sites[-1].name
    mixed = trace.weights[site] @ trace.values[site]
    close(found[0], mixed.transpose(1, 2).flatten(2))


def test_hidden_tokens_are_seen_by_no_attention() -> None:
    model, batch = tiny_writer("prenorm"), tiny_pairs((5,), (3,))
    text = batch.texts["a"]
    hidden = torch.zeros_like(text.mask)
    hidden[0, 2] = True
    logits = []
    for token in (5, 9):
        tokens = text.tokens.clone()
        tokens[0, 2] = token
        side = replace(text, tokens=tokens, hidden=hidden)
        logits.append(model(replace(batch, texts={**batch.texts, "a": side})).logits)
    assert torch.equal(*logits)
    assert not torch.equal(logits[0], model(batch).logits)


def test_several_sites_are_resumed_from_the_first() -> None:
    model, batch = tiny_writer("postnorm"), tiny_pairs((5, 3), (3, 4))
    trace = model(batch, keep=Keep(states=True))
    edits = {name: uniform() for name in ("encoder.1", "decoder.0.self", "decoder.1.cross")}
    close(model.resume(batch, trace, edits).logits, model(batch, edits).logits)


def test_positions_are_sines_and_cosines_wherever_one_starts() -> None:
    like = torch.zeros(1, 6, dtype=torch.float64)
    waves = sinusoids(0, 5, like)
    assert torch.equal(sinusoids(3, 2, like), waves[3:])
    place = 4 / 10000 ** (2 / 6)
    close(waves[4, 2:4], torch.tensor([np.sin(place), np.cos(place)]))


def test_sizes_are_the_papers_unless_said_otherwise() -> None:
    vectors = torch.zeros(WORDS, 16)
    for spec, size, heads, layers in (
        (ModelSpec("prenorm", "dot", family="transformer", sizes="paper"), 512, 8, 6),
        (ModelSpec("postnorm", "dot", family="transformer"), 256, 4, 3),
        (ModelSpec("postnorm", "dot", 2, family="transformer", hidden=16), 16, 4, 2),
    ):
        model = build(spec, vectors, WORDS, 0)
        assert isinstance(model, Transformer)
        layer = model.decoder.layers[0]
        assert len(model.decoder.layers) == len(model.encoder.layers) == layers
        assert layer.cross.heads == heads and layer.inner.widen.weight.shape == (4 * size, size)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (ModelSpec("bilstm", "dot", family="transformer"), "prenorm"),
        (ModelSpec("prenorm", "additive", family="transformer"), "attention"),
        (ModelSpec("prenorm", "dot", 13, family="transformer"), "up to 12"),
        (ModelSpec("prenorm", "dot", hidden=12, sizes="paper", family="transformer"), "8 heads"),
        (ModelSpec("prenorm", "dot", decoder="query", family="transformer"), "one decoder"),
    ],
)
def test_wrong_specs_are_refused(spec: ModelSpec, sentence: str) -> None:
    with pytest.raises(HeedfulError, match=sentence):
        check(spec)
