"""Integrated gradients: Captum, a plain sum, completeness, and steps for those who need them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from captum.attr import IntegratedGradients
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from captum_face import from_embedded
from counting import Counting
from heedful.attributions import FLOOR, integrated, integrated_gradients, nodes
from heedful.errors import HeedfulError
from heedful.models import TARGETS, probability
from heedful.specs import UNKNOWN
from heedful.types import Batch, Trace
from reference.integrated import riemann
from tiny import FAMILIES, batch_of, pick, tiny_batch, tiny_model


def start_of(model: Any, batch: Batch, baseline: str) -> Tensor:
    """Words become the unknown word or zero; start, end and padding are what they are."""
    start = model.embed(batch)["a"].clone()
    unknown = model.embedding.weight[UNKNOWN].detach()
    start[batch.texts["a"].mask] = unknown if baseline != "zero" else torch.zeros_like(unknown)
    return start


@pytest.mark.parametrize("baseline", ["mask", "zero"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_scores_equal_captums(
    encoder: str,
    attention: str,
    classes: int,
    baseline: str,
    ragged: Batch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At our nodes, so that a CNN's kinks do not matter; Captum's weights are single precision."""
    model = tiny_model(encoder, attention, classes, double=True)
    captum = IntegratedGradients(from_embedded(model, ragged, probability))
    places, weights = (each.tolist() for each in nodes(8))
    monkeypatch.setattr(
        "captum.attr._core.integrated_gradients.approximation_parameters",
        lambda method: (lambda n: weights, lambda n: places),
    )
    theirs = captum.attribute(
        model.embed(ragged)["a"],
        baselines=start_of(model, ragged, baseline),
        additional_forward_args=torch.arange(len(ragged)),
        n_steps=9,
    )
    ours = integrated(model, ragged, ragged.labels, baseline=baseline, steps=8, max_steps=8)
    torch.testing.assert_close(ours.scores, theirs.detach().sum(-1), atol=1e-7, rtol=0)
    assert ours.steps.tolist() == [9] * len(ragged)


@pytest.mark.parametrize("encoder", ["bilstm", "average"])
def test_enough_steps_equal_captums_enough_steps(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder, double=True)
    captum = IntegratedGradients(from_embedded(model, ragged, probability))
    theirs = captum.attribute(
        model.embed(ragged)["a"],
        baselines=start_of(model, ragged, "mask"),
        additional_forward_args=torch.arange(len(ragged)),
    )
    ours = integrated(model, ragged, ragged.labels, tolerance=1e-4)
    torch.testing.assert_close(ours.scores, theirs.detach().sum(-1), atol=1e-4, rtol=0)
    assert int(ours.steps.max()) < 50


@pytest.mark.parametrize("steps", [2, 4, 8, 16, 64])
def test_the_rule_is_exact_for_polynomials_and_nested(steps: int) -> None:
    places, weights = nodes(steps)
    for degree in range(steps + 1):
        value = float((weights * places**degree).sum())
        assert value == pytest.approx(1 / (degree + 1), abs=1e-14)
    torch.testing.assert_close(nodes(2 * steps)[0][::2], places, atol=1e-15, rtol=0)
    assert bool((weights > 0).all())


def test_two_steps_are_simpsons_rule() -> None:
    places, weights = nodes(2)
    assert places.tolist() == pytest.approx([0, 1 / 2, 1])
    assert weights.tolist() == pytest.approx([1 / 6, 4 / 6, 1 / 6])


@pytest.mark.parametrize(
    ("encoder", "target"), [("bilstm", "probability"), ("lstm", "loss"), ("average", "logit")]
)
def test_scores_equal_a_plain_sum_of_many_steps(encoder: str, target: str) -> None:
    model, batch = tiny_model(encoder, double=True), tiny_batch((5, 3))
    ours = integrated_gradients(
        model, batch, batch.labels, TARGETS[target], tolerance=1e-6, max_steps=512
    )
    for example in range(2):
        one = pick(batch, [example])
        start = start_of(model, one, "mask")
        theirs = riemann(model, one, one.labels, TARGETS[target], start, 60)
        torch.testing.assert_close(ours[example, : len(theirs)], theirs, atol=1e-4, rtol=0)


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_scores_add_up(encoder: str, attention: str, target: str, double: bool) -> None:
    """To what lies between text and baseline, both measured apart; the gap says how nearly."""
    model, batch = tiny_model(encoder, attention, 2, double=double), tiny_batch((4, 1, 9, 6))
    found = integrated(model, batch, batch.labels, TARGETS[target], tolerance=0.01, max_steps=1024)
    with torch.no_grad():
        whole = TARGETS[target](model(batch).logits, batch.labels)
        start = {"a": start_of(model, batch, "mask")}
        nothing = TARGETS[target](model(batch, embeddings=start).logits, batch.labels)
    missing = (found.scores.sum(-1) - (whole - nothing)).abs()
    torch.testing.assert_close(found.gap, missing, atol=1e-12 if double else 1e-5, rtol=0)
    assert bool((found.gap <= 0.01 * (whole - nothing).abs() + 2 * FLOOR).all())
    assert found.scores.dtype == torch.float64 and not found.scores.requires_grad
    assert not found.scores[~batch.texts["a"].mask].any()


def test_only_texts_with_a_gap_get_more_steps_and_no_node_is_computed_twice() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 1, 7, 8, 2, 6))
    few = integrated(model, batch, batch.labels, steps=4, max_steps=4)
    counting = Counting(model)
    more = integrated(counting, batch, batch.labels, steps=4, max_steps=64, tolerance=0.01)
    same = more.steps == 5
    assert 0 < int(same.sum()) < len(batch)
    assert torch.equal(few.scores[same], more.scores[same])
    assert bool((more.gap[~same] < few.gap[~same]).all())
    assert counting.rows == int(more.steps.sum())


def test_a_rule_that_grew_equals_one_that_began_there() -> None:
    model, batch = tiny_model("cnn", double=True), tiny_batch((9, 6))
    grown = integrated(model, batch, batch.labels, steps=2, max_steps=16, tolerance=0.0)
    begun = integrated(model, batch, batch.labels, steps=16, max_steps=16)
    assert grown.steps.tolist() == begun.steps.tolist() == [17, 17]
    torch.testing.assert_close(grown.scores, begun.scores, atol=1e-12, rtol=0)


def test_steps_stop_where_they_must_and_the_gap_says_so() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 6))
    found = integrated(model, batch, batch.labels, tolerance=0.0, steps=2, max_steps=7)
    assert found.steps.tolist() == [5, 5] and bool((found.gap > FLOOR).all())


def test_a_linear_model_is_integrated_by_the_fewest_steps() -> None:
    """On paper: two tokens, f = their sum of products with (2, −1); the baseline is zero."""
    model = Linear(torch.tensor([[0.0, 0], [0, 0], [5, 5], [5, 5], [1, 2], [3, 1]]).double())
    batch = batch_of([[2, 4, 5, 3]], ("one",), [1], 0)
    found = integrated(
        model, batch, batch.labels, TARGETS["logit"], baseline="zero", steps=2, max_steps=2
    )
    assert found.scores[0].tolist() == pytest.approx([0, 1 * 2 - 2 * 1, 3 * 2 - 1 * 1, 0])
    assert found.gap.item() == pytest.approx(0, abs=1e-12)


class Linear(nn.Module):
    """Logit = Σ over tokens of (2, −1) · embedding."""

    sites, fillers = (), {"unk": 1}

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.vectors = vectors

    def embed(self, batch: Batch) -> dict[str, Tensor]:
        return {"a": self.vectors[batch.texts["a"].tokens]}

    def forward(
        self, batch: Batch, edits: Any = None, keep: Any = None, embeddings: Any = None
    ) -> Trace:
        x = (embeddings or self.embed(batch))["a"]
        return Trace((x @ x.new_tensor([2.0, -1.0])).sum(1, keepdim=True), {}, {})

    def resume(self, batch: Batch, trace: Any, edits: Any) -> Any:
        raise NotImplementedError

    def leave_one_out_logits(self, batch: Batch, trace: Any = None) -> Any:
        raise NotImplementedError


@settings(max_examples=5)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(1, 6), st.randoms())
def test_batches_padding_order_and_chunks_change_nothing(
    lengths: list[int], pad: int, random: object
) -> None:
    model, batch = tiny_model(double=True), tiny_batch(lengths)
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    whole = integrated(model, batch, batch.labels)
    other = pick(batch, order, pad)
    padded = integrated(model, other, other.labels, tokens_at_once=17)
    width = whole.scores.shape[1]
    torch.testing.assert_close(padded.scores[:, :width], whole.scores[order], atol=1e-8, rtol=0)
    assert torch.equal(padded.steps, whole.steps[order])
    one = pick(batch, [0])
    alone = integrated(model, one, one.labels).scores[0]
    torch.testing.assert_close(alone, whole.scores[0, : len(alone)], atol=1e-8, rtol=0)


def test_memory_that_is_too_small_makes_chunks_smaller() -> None:
    model, batch = tiny_model(double=True), tiny_batch((9, 5, 7))
    small = Counting(model, room=40)
    expected = integrated_gradients(model, batch, batch.labels)
    torch.testing.assert_close(integrated_gradients(small, batch, batch.labels), expected)
    assert small.refused


def test_bad_settings_are_refused(ragged: Batch) -> None:
    model = tiny_model()
    with pytest.raises(HeedfulError, match="unknown baseline 'blur'"):
        integrated(model, ragged, ragged.labels, baseline="blur")
    with pytest.raises(HeedfulError, match="no 'pad' token"):
        integrated(model, ragged, ragged.labels, baseline="pad")
    for steps in (0, 5, 16):
        with pytest.raises(HeedfulError, match="an even number from 2 to 8"):
            integrated(model, ragged, ragged.labels, steps=steps, max_steps=8)
