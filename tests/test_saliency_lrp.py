"""LRP against a neuron-by-neuron restatement, and what it promises: nothing gets lost."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heedful.attributions import gradient_input, lrp, lrp_logits, lrp_relevance
from heedful.attributions.lrp import ENTRY
from heedful.errors import HeedfulError
from heedful.models import OneSequence, logit, loss, probability
from heedful.types import Batch
from reference.lrp import relevance
from tiny import FAMILIES, pick, rows_of, tiny_batch, tiny_model

ENCODERS = ["bilstm", "lstm", "cnn", "average", "bigru", "conv", "none"]
READ = [parts for parts in FAMILIES if parts[0] in ENCODERS]  # those LRP has rules for


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(("encoder", "attention"), READ)
def test_lrp_equals_the_neuron_by_neuron_rules(
    encoder: str, attention: str, layers: int, epsilon: float
) -> None:
    model = tiny_model(encoder, attention, 3, layers, double=True)
    batch, labels = tiny_batch((3, 1), classes=3), torch.tensor([2, 0])
    ours = lrp(model, batch, labels, epsilon=epsilon)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    for example, tokens in enumerate(rows_of(batch)):
        start = [float(c == labels[example]) for c in range(3)]
        theirs = relevance(parameters, encoder, attention, layers, tokens, start, epsilon)
        expected = [0.0, *theirs[1:-1], 0.0]
        assert ours[example, : len(tokens)].tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_one_sigmoid_is_explained_towards_the_class(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder, classes=2, double=True)
    towards = lrp(model, ragged, torch.ones(len(ragged), dtype=torch.int64))
    away = lrp(model, ragged, torch.zeros(len(ragged), dtype=torch.int64))
    torch.testing.assert_close(towards, -away)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(("encoder", "attention"), READ)
def test_without_biases_all_relevance_reaches_the_tokens(
    encoder: str, attention: str, layers: int, ragged: Batch
) -> None:
    """Start and end tokens are in the gap; with zero vectors they have nothing to keep."""
    model = no_biases(tiny_model(encoder, attention, 3, layers, double=True))
    with torch.no_grad():
        model.embedding.weight[2:4] = 0
    labels = torch.tensor([0, 1, 2, 0, 1])
    scores, gap = lrp_relevance(model, ragged, labels, epsilon=0.0)
    whole = logit(model(ragged).logits, labels)
    torch.testing.assert_close(scores.sum(-1), whole, atol=1e-10, rtol=0)
    torch.testing.assert_close(gap, torch.zeros_like(gap), atol=1e-10, rtol=0)
    assert whole.abs().min() > 1e-3


@pytest.mark.parametrize(("encoder", "attention"), READ)
def test_biases_and_ends_account_for_the_gap(encoder: str, attention: str) -> None:
    model, batch = tiny_model(encoder, attention, 3, 2, double=True), tiny_batch((5,))
    label = torch.tensor([1])
    scores, gap = lrp_relevance(model, batch, label, epsilon=0.0)
    torch.testing.assert_close(
        scores.sum(-1) + gap, logit(model(batch).logits.detach(), label), atol=1e-10, rtol=0
    )
    embedded = model.embed(batch)["a"].requires_grad_()
    explained = lrp_logits(model, batch, embedded, 0.0)[0, 1]
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    slope, *slopes = torch.autograd.grad(explained, [embedded, *biases], materialize_grads=True)
    ends = (slope * embedded).sum(-1)[~batch.texts["a"].mask].sum()
    kept = ends + sum((a * b).sum() for a, b in zip(biases, slopes, strict=True))
    assert gap.item() == pytest.approx(float(kept.detach()), abs=1e-10)
    assert abs(gap.item()) > 1e-3


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_logits_are_the_models_own(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder, classes=3, layers=2, double=True)
    ours = lrp_logits(model, ragged, model.embed(ragged)["a"], 1e-6)
    torch.testing.assert_close(ours, model(ragged).logits, atol=1e-12, rtol=0)


def test_a_linear_model_is_explained_by_gradient_times_input(ragged: Batch) -> None:
    """ReLU is all the `cnn` has besides sums, and its slope is its share."""
    model = tiny_model("cnn", double=True)
    expected = gradient_input(model, ragged, ragged.labels, logit, through_attention=False)
    torch.testing.assert_close(lrp(model, ragged, ragged.labels, epsilon=0.0), expected)
    assert not torch.allclose(lrp(model, ragged, ragged.labels, epsilon=0.5), expected)


@pytest.mark.parametrize("target", [probability, loss])
def test_another_quantity_only_changes_where_relevance_starts(target: object) -> None:
    model, batch = tiny_model(double=True), tiny_batch((4, 7))
    options = {"target": target, "epsilon": 0.0}
    scores, gap = lrp_relevance(model, batch, batch.labels, **options)  # type: ignore[arg-type]
    logits = model(batch).logits.detach().requires_grad_()
    (slope,) = torch.autograd.grad(target(logits, batch.labels).sum(), logits)  # type: ignore
    expected = (slope.double() * logits.detach().double()).sum(-1)
    torch.testing.assert_close(scores.sum(-1) + gap, expected, atol=1e-10, rtol=0)
    one = torch.ones_like(batch.labels)
    plain = lrp(model, batch, one, epsilon=0.0)
    torch.testing.assert_close(scores, plain * slope.double(), atol=1e-10, rtol=0)


@settings(max_examples=6)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(1, 6), st.randoms())
@pytest.mark.parametrize("encoder", ENCODERS)
def test_batches_and_padding_change_nothing(
    encoder: str, lengths: list[int], pad: int, random: object
) -> None:
    model, batch = tiny_model(encoder, layers=2, double=True), tiny_batch(lengths)
    whole = lrp(model, batch, batch.labels)
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    other = pick(batch, order, pad)
    padded = lrp(model, other, other.labels)
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole[order], atol=1e-10, rtol=0)
    assert not padded[:, whole.shape[1] :].any()
    assert not whole[~batch.texts["a"].mask].any()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_no_trace_is_left(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with torch.no_grad():
        inside = lrp(model, ragged, ragged.labels)
    assert inside.dtype == torch.float64 and not inside.requires_grad
    assert torch.equal(lrp(model, ragged, ragged.labels), inside)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    frozen = model.requires_grad_(False)
    torch.testing.assert_close(lrp(frozen, ragged, ragged.labels), inside)


def test_it_declares_what_it_is() -> None:
    assert ENTRY.name == "lrp" and ENTRY.signed and ENTRY.level == "tokens" and ENTRY.make is lrp


def test_an_unknown_model_is_refused(ragged: Batch) -> None:
    with pytest.raises(HeedfulError, match="one-sequence models"):
        lrp_logits(nn.Linear(2, 2), ragged, torch.zeros(1, 1, 2), 0.0)


@pytest.mark.parametrize("encoder", ["orthogonal", "bilstm+concat"])
def test_an_encoder_without_rules_is_refused(encoder: str, ragged: Batch) -> None:
    with pytest.raises(HeedfulError, match=r"LRP has no rules for the encoder \w+: register"):
        lrp(tiny_model(encoder), ragged, ragged.labels)


def no_biases(model: OneSequence) -> OneSequence:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.zero_()
    return model
