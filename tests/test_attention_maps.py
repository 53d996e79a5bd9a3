"""Explanations made of attention, each against a second way to compute it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.attributions import (
    SALIENCIES,
    attention,
    effective_attention,
    felt,
    gradient_attention,
    mass_outside,
    rollout,
    summed_norm,
    text_site,
    value_norm,
)
from heedful.errors import HeedfulError
from heedful.models import TARGETS, probabilities, probability
from heedful.types import Batch, Keep, Text, Trace
from heedful.words import to_words
from layered import Layered, layered_batch
from reference import attention_maps as reference
from tiny import tiny_batch, tiny_model

NAMES = ["attention", "attention_flow", "effective_attention", "gradient_attention", "rollout"]
NAMES += ["value_norm"]
READS = ["first", "last", "mean"]
LENGTHS = (4, 1, 9, 2, 6)


def scores_of(name: str, model: object, batch: Batch) -> Tensor:
    scores: Tensor = SALIENCIES[name].make(model, batch, batch.labels)
    return scores


def cases() -> list[object]:
    kinds = [Layered(read=read) for read in READS] + [Layered(decoder=True)]
    return [*kinds, tiny_model(double=True, classes=3), tiny_model("cnn", classes=3)]


@pytest.mark.parametrize("model", cases(), ids=lambda m: getattr(m, "read", "one"))
@pytest.mark.parametrize("name", NAMES)
def test_maps_are_zero_off_the_text_and_leave_no_trace(name: str, model: object) -> None:
    batch = layered_batch(LENGTHS)
    mask = batch.texts["a"].mask
    scores = scores_of(name, model, batch)
    assert scores.shape == mask.shape and scores.dtype == torch.float64
    assert not scores.requires_grad and bool(scores.isfinite().all())
    assert bool((scores[~mask] == 0).all()) and bool((scores[mask] != 0).all())
    with torch.no_grad():
        assert torch.equal(scores_of(name, model, batch), scores)
    assert all(p.grad is None for p in model.parameters())  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", cases()[:5], ids=lambda m: getattr(m, "read", "one"))
@pytest.mark.parametrize("name", NAMES)
def test_maps_ignore_batches_and_padding(name: str, model: object) -> None:
    batch = layered_batch(LENGTHS)
    whole = scores_of(name, model, batch)
    padded = scores_of(name, model, layered_batch(LENGTHS, pad=3))
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole, atol=1e-12, rtol=0)
    assert not padded[:, whole.shape[1] :].any()
    for row in range(len(LENGTHS)):
        alone = scores_of(name, model, batch.take(torch.tensor([row])))[0]
        torch.testing.assert_close(alone, whole[row, : len(alone)], atol=1e-12, rtol=0)


@pytest.mark.parametrize("read", READS)
def test_attention_is_the_last_sites_mean_at_the_reader(read: str) -> None:
    model, batch = Layered(read=read), layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True))
    shown = attention(model, batch, batch.labels)
    outside = mass_outside(model, batch)
    for row, n in enumerate(batch.texts["a"].lengths.tolist()):
        weights = trace.weights["layer1"][row].detach().numpy()
        expected = reference.mean_row(weights, trace.readout_weights["layer1"][row].numpy())
        assert shown[row, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-12)
        assert outside[row].item() == pytest.approx(expected[0] + expected[n - 1], abs=1e-12)
    words = to_words(shown, batch.texts["a"]).sum(-1)
    torch.testing.assert_close(words + outside, torch.ones(len(batch)).double())


def test_layers_and_heads_can_be_chosen() -> None:
    model, batch = Layered(), layered_batch((5, 3))
    weights = model(batch).weights
    for layer in (0, 1):
        for head in (0, 1):
            shown = attention(model, batch, batch.labels, layer=layer, head=head)
            expected = weights[f"layer{layer}"][:, head, 0] * batch.texts["a"].mask
            torch.testing.assert_close(shown, expected)
    with pytest.raises(HeedfulError, match="no layer 2"):
        attention(model, batch, batch.labels, layer=2)
    with pytest.raises(HeedfulError, match="no head 2"):
        attention(model, batch, batch.labels, head=2)


def test_an_encoders_own_site_is_not_read_from_in_a_decoder() -> None:
    model, batch = Layered(decoder=True), layered_batch((5, 3))
    assert text_site(model).name == "cross"
    with pytest.raises(HeedfulError, match="layer0"):
        attention(model, batch, batch.labels, layer=0)


def test_nothing_attended_has_no_share_outside() -> None:
    batch = tiny_batch((3, 2))
    text = replace(batch.texts["a"], hidden=torch.tensor([[True] * 5, [False] * 5]))
    shares = mass_outside(tiny_model(double=True), replace(batch, texts={"a": text}))
    assert shares.isnan().tolist() == [True, False] and shares[1].item() == 0


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_rollout_equals_the_product_of_layers(read: str, layers: int) -> None:
    model, batch = Layered(layers, read=read), layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True))
    shown = rollout(model, batch, batch.labels)
    for row, n in enumerate(batch.texts["a"].lengths.tolist()):
        each = [trace.weights[f"layer{i}"][row, :, :n, :n].detach().numpy() for i in range(layers)]
        expected = trace.readout_weights["layer0"][row, :n].numpy() @ reference.rollout(each)
        assert expected.sum() == pytest.approx(1)
        assert shown[row, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-12)


def test_rollout_of_a_decoder_goes_through_its_cross_attention() -> None:
    model, batch = Layered(decoder=True), layered_batch(LENGTHS)
    trace = model(batch)
    shown = rollout(model, batch, batch.labels)
    for row, n in enumerate(batch.texts["a"].lengths.tolist()):
        each = [trace.weights[f"layer{i}"][row, :, :n, :n].detach().numpy() for i in range(2)]
        cross = trace.weights["cross"][row, :, 0, :n].mean(0).detach().numpy()
        expected = cross @ reference.rollout(each)
        assert shown[row, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-12)


def test_rollout_of_one_query_is_attention(ragged: Batch) -> None:
    model = tiny_model(double=True)
    expected = model(ragged).weights["attention"][:, 0, 0].detach()
    assert torch.equal(rollout(model, ragged, ragged.labels), expected)
    assert torch.equal(attention(model, ragged, ragged.labels), expected)


@pytest.mark.parametrize("read", READS)
def test_value_norms_equal_loops(read: str) -> None:
    model, batch = Layered(read=read), layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True, values=True))
    shown = value_norm(model, batch, batch.labels)
    for row, n in enumerate(batch.texts["a"].lengths.tolist()):
        weights, values, readers = (
            each["layer1"][row].detach().numpy()
            for each in (trace.weights, trace.values, trace.readout_weights)
        )
        projection = model.maps["layer1_o"].detach().numpy().reshape(2, 3, 6)
        expected = reference.value_norm(weights, values, projection, readers)
        assert shown[row, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-12)


def test_value_norms_on_paper() -> None:
    """Two heads that bring the same vector with opposite signs cancel; one of them alone would
    bring α‖v‖. Queries are averaged after the norm."""
    weights = torch.tensor([[[0.5], [1.0]], [[0.5], [0.0]]]).double()  # heads, queries, keys
    values = torch.tensor([[[3.0, 4.0]], [[3.0, 4.0]]]).double()
    both = torch.stack([torch.eye(2), -torch.eye(2)]).double()
    readers = torch.tensor([0.25, 0.75]).double()
    found = summed_norm(weights, values, both, readers)
    assert found.tolist() == pytest.approx([0.75 * 5.0])
    alone = summed_norm(weights[:1], values[:1], None, readers)
    assert alone.tolist() == pytest.approx([0.25 * 2.5 + 0.75 * 5.0])


def test_a_plain_site_brings_its_values(ragged: Batch) -> None:
    model = tiny_model(double=True)
    trace = model(ragged, keep=Keep(values=True))
    norms = trace.values["attention"][:, 0].norm(dim=-1)
    expected = trace.weights["attention"][:, 0, 0] * norms * ragged.texts["a"].mask
    torch.testing.assert_close(value_norm(model, ragged, ragged.labels), expected)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ({"projections": {}}, "needs the output projection of 'layer1'"),
        ({"projections": {"layer1": None}}, "needs the output projection of 'layer1'"),
        ({"values": {}}, "does not show the values that 'layer1' mixes"),
    ],
)
def test_a_model_that_does_not_show_enough_has_no_value_norm(what: Any, says: str) -> None:
    class Silent(Layered):
        def forward(self, *args: Any, **options: Any) -> Trace:
            return replace(super().forward(*args, **options), **what)

    batch = layered_batch((5, 3))
    with pytest.raises(HeedfulError, match=says):
        value_norm(Silent(), batch, batch.labels)


@pytest.mark.parametrize("target", ["probability", "logit"])
@pytest.mark.parametrize("classes", [2, 3])
def test_gradient_attention_has_a_closed_form_after_a_linear_site(
    classes: int, target: str, ragged: Batch
) -> None:
    """∂p_c/∂α_i = p_c (z_ic − Σ_k p_k z_ik); for one sigmoid ±p(1 − p) z_i."""
    model, label = tiny_model(double=True, classes=classes), ragged.labels
    trace = model(ragged, keep=Keep(token_logits=True))
    z, alpha = trace.token_logits["attention"].values, trace.weights["attention"][:, 0, 0]
    sign = (2.0 * label - 1)[:, None]
    own = sign * z[..., 0] if classes == 2 else z[torch.arange(len(label)), :, label]
    slope = own
    if target == "probability":
        p = probabilities(trace.logits)
        if classes == 2:
            slope = (p[:, 0] * p[:, 1])[:, None] * own
        else:
            p_c = p.gather(1, label[:, None])
            slope = p_c * (own - torch.einsum("bk,btk->bt", p, z))
    found = gradient_attention(model, ragged, label, TARGETS[target])
    torch.testing.assert_close(found, (alpha * slope).detach(), atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("model", "layer"),
    [(Layered(read=read), layer) for read in READS for layer in (-1, 0)]
    + [(Layered(decoder=True), -1)],
)
def test_gradient_attention_equals_finite_differences(model: Layered, layer: int) -> None:
    batch = layered_batch((4, 2))
    found = gradient_attention(model, batch, batch.labels, layer=layer)
    name, step = text_site(model, layer).name, 1e-5
    trace = model(batch, keep=Keep(readout_weights=True))
    weights, rows = trace.weights[name].detach(), trace.readout_weights[name] > 0
    for row in range(2):
        for key in range(1, int(batch.texts["a"].lengths[row]) - 1):
            total = 0.0
            for head in range(2):
                for query in rows[row].nonzero().squeeze(-1).tolist():
                    place = (row, head, query, key)
                    ends = [_moved(model, batch, name, weights, place, s) for s in (step, -step)]
                    slope = (ends[0] - ends[1])[row] / (2 * step)
                    total += float(weights[place] * slope)
            assert found[row, key].item() == pytest.approx(total, abs=1e-8)


def _moved(
    model: Layered, batch: Batch, name: str, weights: Tensor, place: tuple[int, ...], by: float
) -> Tensor:
    other = weights.clone()
    other[place] += by
    return probability(model(batch, {name: lambda call: other}).logits, batch.labels).detach()


def test_gradient_attention_magnitudes() -> None:
    model, batch = Layered(), layered_batch(LENGTHS)
    signed = gradient_attention(model, batch, batch.labels)
    sizes = gradient_attention(model, batch, batch.labels, magnitude=True)
    assert torch.equal(sizes, signed.abs()) and bool((signed < 0).any())


def test_effective_attention_by_hand() -> None:
    """Values (1), (1), (2): V spans (1, 1, 2)/√6, and α = (½, ½, 0) has 1/√6 along it."""
    rows = torch.tensor([[[0.5, 0.5, 0.0]]], dtype=torch.float64)
    values = torch.tensor([[[[1.0], [1.0], [2.0]]]], dtype=torch.float64)
    found = felt(rows, values, torch.ones(1, 1, 3, dtype=torch.bool))
    assert found.flatten().tolist() == pytest.approx([1 / 6, 1 / 6, 2 / 6])
    masked = felt(rows, values, torch.tensor([[[True, True, False]]]))
    assert masked.flatten().tolist() == pytest.approx([0.5, 0.5, 0.0]) and masked[0, 0, 2] == 0


@pytest.mark.parametrize("read", ["first", "last"])
def test_effective_attention_equals_gram_schmidt(read: str) -> None:
    model, batch = Layered(read=read), layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True, values=True))
    for head in (None, 0, 1):
        shown = effective_attention(model, batch, batch.labels, head=head)
        for row, n in enumerate(batch.texts["a"].lengths.tolist()):
            query = 0 if read == "first" else n - 1
            weights = trace.weights["layer1"][row, :, query, :n].detach().numpy()
            values = trace.values["layer1"][row, :, :n].detach().numpy()
            each = [reference.effective(weights[h], values[h]) for h in range(2)]
            expected = np.mean(each, 0) if head is None else each[head]
            assert shown[row, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-10)


def test_effective_attention_changes_nothing_the_head_puts_out() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(2, 3, 7, 3, generator=generator).double()
    rows = torch.softmax(torch.randn(2, 3, 7, generator=generator).double(), -1)
    found = felt(rows, values, torch.ones(2, 1, 7, dtype=torch.bool))
    torch.testing.assert_close(
        torch.einsum("bhk,bhkd->bhd", found, values), torch.einsum("bhk,bhkd->bhd", rows, values)
    )
    assert bool((found.norm(dim=-1) < rows.norm(dim=-1)).all())


def test_short_texts_keep_their_attention() -> None:
    """Three dimensions a head: texts of 1 token (3 keys) are as they were, longer ones not."""
    model, batch = Layered(), layered_batch(LENGTHS)
    plain = attention(model, batch, batch.labels)
    effective = effective_attention(model, batch, batch.labels)
    same = [bool(torch.equal(a, e)) for a, e in zip(plain, effective, strict=True)]
    assert same == [False, True, False, False, False]


def test_equal_values_share_their_weight_even_in_a_short_text() -> None:
    rows = torch.tensor([[[0.7, 0.2, 0.1]]], dtype=torch.float64)
    values = torch.tensor([[[[1.0, 0.0, 2.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]]])
    found = felt(rows, values, torch.ones(1, 1, 3, dtype=torch.bool))
    assert found.flatten().tolist() == pytest.approx([0.45, 0.45, 0.1])


def test_a_model_without_attention_to_its_text_is_named() -> None:
    class Blind(Layered):
        def __init__(self) -> None:
            super().__init__()
            self.sites = (replace(self.sites[0], keys="b"),)

    with pytest.raises(HeedfulError, match="no site"):
        text_site(Blind())


def test_texts_without_words_count_each_token() -> None:
    batch = tiny_batch((4, 2))
    text = batch.texts["a"]
    bare = replace(batch, texts={"a": Text(text.tokens, text.lengths, text.mask)})
    model = Layered()
    shown = attention(model, bare, bare.labels)
    torch.testing.assert_close(shown.sum(-1) + mass_outside(model, bare), torch.ones(2).double())
