"""What every saliency promises, and each against a second way to compute it."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from captum.attr import InputXGradient, LayerGradientXActivation, Saliency
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from heedful.attributions import SALIENCIES, gradient, gradient_input, leave_one_out, words_left_out
from heedful.errors import HeedfulError
from heedful.models import TARGETS, OneSequence, probabilities, probability
from heedful.types import Batch, Text
from heedful.words import word_mask
from reference.deletion import delete_each
from reference.gradient import embedding_gradient
from tiny import FAMILIES, pick, rows_of, tiny_batch, tiny_model

ENCODERS = ["bilstm", "lstm", "cnn", "average"]


FEWER = {
    **{name: {"samples": 40} for name in ("lime", "kernel_shap", "contextcite")},
    "smoothgrad": {"samples": 2},
}
POSITIVE = ("attention", "rollout", "value_norm", "gradient", "leave_one_out")
OF_ANY_MODEL = [
    name
    for name in SALIENCIES
    if "layers" not in SALIENCIES[name].needs and SALIENCIES[name].fit is None
]
OF_BATCHES = [name for name in OF_ANY_MODEL if name != "prior"]  # by itself it counts in the batch


def scores_of(name: str, model: OneSequence, batch: Batch) -> Tensor:
    """The saliency; where a class is wanted, the label's."""
    make = SALIENCIES[name].make
    if name == "leave_one_out":
        return words_left_out(model, batch)
    scores: Tensor = make(model, batch, batch.labels, **FEWER.get(name, {}))
    return scores


def places(name: str, batch: Batch) -> Tensor:
    """Where there is something to score: tokens or words."""
    text = batch.texts["a"]
    return text.mask if SALIENCIES[name].level == "tokens" else word_mask(text)


@pytest.mark.parametrize(
    ("encoder", "classes"), [("bilstm", 2), ("bilstm", 3), ("lstm", 3), ("cnn", 2), ("average", 3)]
)
@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_every_saliency_scores_real_tokens_only(
    name: str, encoder: str, classes: int, ragged: Batch
) -> None:
    model = tiny_model(encoder, classes=classes)
    scores, mask = scores_of(name, model, ragged), places(name, ragged)
    assert scores.shape == mask.shape and scores.dtype == torch.float64
    assert not scores.requires_grad and bool(scores.isfinite().all())
    assert bool((scores[~mask] == 0).all()) and bool((scores[mask] != 0).any())
    if name in POSITIVE:
        assert bool((scores[mask] > 0).all())
    if not SALIENCIES[name].signed:
        assert bool((scores >= 0).all())
    assert torch.equal(scores_of(name, model, ragged), scores)


@settings(max_examples=4)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(1, 6), st.randoms())
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", OF_BATCHES)
def test_every_saliency_ignores_batches_and_padding(
    name: str, encoder: str, lengths: list[int], pad: int, random: object
) -> None:
    model = tiny_model(encoder, double=True)
    batch = tiny_batch(lengths)
    whole = scores_of(name, model, batch)
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    padded = scores_of(name, model, pick(batch, order, pad))
    torch.testing.assert_close(padded[:, : whole.shape[1]], whole[order], atol=1e-9, rtol=0)
    assert not padded[:, whole.shape[1] :].any()
    alone = scores_of(name, model, pick(batch, [0]))
    torch.testing.assert_close(alone[0], whole[0, : alone.shape[1]], atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("encoder", "training"),
    [("bilstm", False), ("bilstm", True), ("lstm", True), ("cnn", True), ("average", False)],
)
@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_no_saliency_leaves_a_trace(name: str, encoder: str, training: bool, ragged: Batch) -> None:
    model = tiny_model(encoder).train(training)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with torch.no_grad():  # what is outside does not matter
        inside = scores_of(name, model, ragged)
    assert torch.equal(scores_of(name, model, ragged), inside)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert {module.training for module in model.modules()} == {training}
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


@pytest.mark.parametrize("detached", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_gradients_equal_autograd_on_each_text(
    encoder: str, attention: str, classes: int, detached: bool, ragged: Batch
) -> None:
    model = tiny_model(encoder, attention, classes, 2, True)
    labels = torch.tensor([0, 1, classes - 1, 0, 1])
    options = {"through_attention": not detached}
    products = gradient_input(model, ragged, labels, magnitude=True, **options)
    signed = gradient_input(model, ragged, labels, magnitude=False, **options)
    norms = gradient(model, ragged, labels, **options)
    sums = gradient(model, ragged, labels, norm=1, **options)
    for example, tokens in enumerate(rows_of(ragged)):
        slope, embedded = embedding_gradient(model, tokens, int(labels[example]), detached)
        for t in range(len(tokens) - 2):
            product = float((slope[t] * embedded[t]).sum())
            assert signed[example, t + 1].item() == pytest.approx(product, abs=1e-12)
            assert products[example, t + 1].item() == pytest.approx(abs(product), abs=1e-12)
            norm = float((slope[t] ** 2).sum() ** 0.5)
            assert norms[example, t + 1].item() == pytest.approx(norm, abs=1e-12)
            assert sums[example, t + 1].item() == pytest.approx(float(slope[t].abs().sum()))


def test_the_defaults_are_bastings2020s(ragged: Batch) -> None:
    model, labels = tiny_model(double=True), ragged.labels
    through = gradient_input(model, ragged, labels, probability, True, False)
    assert torch.equal(gradient_input(model, ragged, labels), through)
    assert torch.equal(
        gradient(model, ragged, labels), gradient(model, ragged, labels, probability, True, 2)
    )


RADIAL = ("none", "unit_dot")
"""Scores that the length of an embedding does not change: along it, their slope is zero."""


@pytest.mark.parametrize(("encoder", "attention"), [each for each in FAMILIES if each != RADIAL])
def test_detaching_attention_makes_a_difference(encoder: str, attention: str) -> None:
    """A real one, except on a single token: there a softmax is 1 whatever its score."""
    model, batch = tiny_model(encoder, attention, double=True), tiny_batch((6, 1))
    detached = gradient_input(model, batch, batch.labels, through_attention=False)
    through = gradient_input(model, batch, batch.labels)
    assert (detached[0] - through[0]).abs().max() > 0.01 * detached[0].abs().max()
    alone = (detached[1] - through[1]).abs().max()
    assert alone < 1e-12 if model.sites[0].normalised else alone > 1e-6


class Explained(nn.Module):
    """The model as Captum wants it: tensors in, one number per example out."""

    def __init__(self, model: OneSequence, target: str) -> None:
        super().__init__()
        self.model, self.target = model, TARGETS[target]

    def forward(self, tokens: Tensor, lengths: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        ids = tuple(map(str, range(len(labels))))
        logits = self.model(Batch(ids, {"a": Text(tokens, lengths, mask)}, labels)).logits
        return self.target(logits, labels)

    def from_embedded(
        self, embedded: Tensor, lengths: Tensor, mask: Tensor, labels: Tensor
    ) -> Tensor:
        states = self.model.encoder(embedded, lengths).states
        weights = self.model.attention.weights(self.model.attention(states), mask)
        return self.target(self.model.decoder((weights[..., None] * states).sum(1)), labels)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_gradients_equal_captums(
    encoder: str, attention: str, classes: int, target: str, ragged: Batch
) -> None:
    model = tiny_model(encoder, attention, classes, double=True)
    explained, text, labels = Explained(model, target), ragged.texts["a"], ragged.labels
    rest = (text.lengths, text.mask, labels)
    embedded = model.embedding(text.tokens).detach().requires_grad_()
    layer = partial(LayerGradientXActivation, explained, model.embedding)
    products = [
        layer().attribute(text.tokens, additional_forward_args=rest),
        InputXGradient(explained.from_embedded).attribute(embedded, additional_forward_args=rest),
    ]
    slopes = [
        layer(multiply_by_inputs=False).attribute(text.tokens, additional_forward_args=rest),
        Saliency(explained.from_embedded).attribute(
            embedded, abs=False, additional_forward_args=rest
        ),
    ]
    settings = {"target": TARGETS[target], "through_attention": True}
    ours = gradient_input(model, ragged, labels, magnitude=False, **settings)
    for theirs in products:
        torch.testing.assert_close(ours, theirs.detach().sum(-1) * text.mask, atol=1e-12, rtol=0)
    for norm in (1, 2):
        ours = gradient(model, ragged, labels, norm=norm, **settings)
        for theirs in slopes:
            expected = theirs.detach().norm(p=norm, dim=-1) * text.mask
            torch.testing.assert_close(ours, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_leave_one_out_equals_deletion(
    encoder: str, attention: str, classes: int, ragged: Batch
) -> None:
    model = tiny_model(encoder, attention, classes, 2)
    with torch.no_grad():
        before = probabilities(model(ragged).logits)
        after = probabilities(delete_each(model, ragged))
    scores, mask = leave_one_out(model, ragged), ragged.texts["a"].mask
    for example, position in mask.nonzero().tolist():
        moved = 0.5 * (after[example, position] - before[example]).abs().sum().item()
        assert scores[example, position].item() == pytest.approx(moved, abs=1e-5)


def test_another_norm_is_refused(ragged: Batch) -> None:
    with pytest.raises(HeedfulError, match="choose 1 or 2"):
        gradient(tiny_model(), ragged, ragged.labels, norm=3)


def test_frozen_embeddings_have_gradients_too(ragged: Batch) -> None:
    model = tiny_model(double=True)
    expected = gradient_input(model, ragged, ragged.labels)
    model.requires_grad_(False)
    found = gradient_input(model, ragged, ragged.labels)
    assert torch.allclose(found, expected, rtol=0, atol=1e-15)
