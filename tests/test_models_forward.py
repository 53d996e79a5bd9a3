"""The one-sequence family against its slow restatement, and what padding must never change."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_cases import CASES, edit_case
from heedful.interventions import custom
from heedful.models import TARGETS, OneSequence, class_logits, masked_softmax, probabilities
from heedful.types import Batch, Keep, Text, rows
from reference.one_text import forward
from tiny import FAMILIES, pick, rows_of, tiny_batch, tiny_model, with_mask

EVERYTHING = Keep(states=True, embeddings=True, token_logits=True)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_forward_is_what_the_paper_says(
    encoder: str,
    attention: str,
    classes: int,
    layers: int,
    ragged: Batch,
    models: Callable[..., OneSequence],
) -> None:
    model = models(encoder, attention, classes, layers)
    parameters = {name: value.tolist() for name, value in model.state_dict().items()}
    trace = model(ragged)
    for example, tokens in enumerate(rows_of(ragged)):
        logits, weights = forward(parameters, encoder, attention, layers, tokens)
        found = trace.weights["attention"][example, 0, 0, 1 : len(tokens) - 1]
        torch.testing.assert_close(found, torch.tensor(weights), atol=1e-5, rtol=0)
        torch.testing.assert_close(trace.logits[example], torch.tensor(logits), atol=1e-5, rtol=0)


LENGTHS = st.lists(st.integers(1, 11), min_size=1, max_size=6)


@settings(max_examples=8)
@given(LENGTHS, st.integers(0, 9), st.integers(0, 1000))
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_padding_and_batching_change_nothing(
    encoder: str, attention: str, lengths: list[int], pad: int, seed: int
) -> None:
    model = tiny_model(encoder, attention, layers=2, double=True)
    batch = tiny_batch(lengths, seed, pad)
    with torch.no_grad():
        whole = model(batch)
        for example in range(len(lengths)):
            alone = model(pick(batch, [example]))
            torch.testing.assert_close(alone.logits[0], whole.logits[example])
            mine = alone.weights["attention"][0]
            theirs = whole.weights["attention"][example]
            torch.testing.assert_close(mine, theirs[..., : mine.shape[-1]])
            assert not theirs[..., mine.shape[-1] :].any()


@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_what_stands_in_the_padding_changes_nothing(
    encoder: str, attention: str, ragged: Batch
) -> None:
    model = tiny_model(encoder, attention, layers=2)
    text = ragged.texts["a"]
    padding = torch.arange(text.tokens.shape[1]) >= text.lengths[:, None]
    other = Text(text.tokens.masked_fill(padding, 7), text.lengths, text.mask)
    dirty = Batch(ragged.ids, {"a": other}, ragged.labels)
    assert torch.equal(model(dirty).logits, model(ragged).logits)
    torch.testing.assert_close(
        model.leave_one_out_logits(dirty).less,
        model.leave_one_out_logits(ragged).less,
        equal_nan=True,
        atol=0,
        rtol=0,
    )


@pytest.mark.parametrize(("encoder", "attention"), [f for f in FAMILIES if f[1] != "gate"])
def test_weights_are_a_distribution_over_real_tokens(
    encoder: str, attention: str, ragged: Batch
) -> None:
    trace = tiny_model(encoder, attention)(ragged)
    weights, mask = trace.weights["attention"], trace.masks["attention"]
    assert weights.shape == (5, 1, 1, 11) and mask.shape == (5, 1, 1, 11)
    assert bool((weights[~mask] == 0).all()) and bool((weights[mask] >= 0).all())
    assert attention == "sparsemax" or bool((weights[mask] > 0).all())
    torch.testing.assert_close(weights.sum(-1), torch.ones(5, 1, 1))
    assert weights[1, 0, 0, 1] == 1.0  # the text of one token


def test_masked_softmax_at_its_edges() -> None:
    scores = torch.tensor([[1e30, -1e30, 5.0], [-1e38, -1e38, 0.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[True, True, False], [True, True, False], [False, False, False]])
    expected = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert torch.equal(masked_softmax(scores, mask), expected)


def test_masked_softmax_has_finite_slopes() -> None:
    scores = torch.zeros(2, 3, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    masked_softmax(scores, mask)[:, 0].sum().backward()
    assert torch.equal(scores.grad, torch.tensor([[0.25, -0.25, 0.0], [0.0, 0.0, 0.0]]))


def test_shapes_are_checked_under_pytest() -> None:
    with pytest.raises(Exception, match="masked_softmax"):
        masked_softmax(torch.zeros(2, 3), torch.ones(2, 4, dtype=torch.bool))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_token_logits_are_exact(encoder: str, attention: str, classes: int, ragged: Batch) -> None:
    trace = tiny_model(encoder, attention, classes, double=True)(ragged, keep=EVERYTHING)
    linear = trace.token_logits["attention"]
    by_hand = trace.weights["attention"][:, 0] @ linear.values
    torch.testing.assert_close(by_hand[:, 0] + linear.bias, trace.logits, atol=1e-12, rtol=0)


def test_only_what_was_asked_for_is_kept(ragged: Batch) -> None:
    model = tiny_model()
    bare, full = model(ragged), model(ragged, keep=EVERYTHING)
    assert not bare.states and not bare.embeddings and not bare.token_logits
    assert full.states["attention"].shape == (5, 11, 16)
    assert full.embeddings["a"].shape == (5, 11, 5) and full.embeddings["a"].requires_grad
    assert torch.equal(bare.logits, full.logits)


def test_a_batch_without_gradients_is_traced_without_them(ragged: Batch) -> None:
    with torch.no_grad():
        trace = tiny_model()(ragged, keep=EVERYTHING)
    linear = trace.token_logits["attention"]
    kept = [trace.logits, trace.embeddings["a"], trace.states["attention"], linear.bias]
    assert not any(tensor.requires_grad for tensor in [*kept, linear.values])


@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_the_identity_edit_changes_nothing(encoder: str, attention: str, ragged: Batch) -> None:
    model = tiny_model(encoder, attention, 3)
    edited = model(ragged, {"attention": custom(lambda call: call.weights)})
    assert torch.equal(edited.logits, model(ragged).logits)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_resume_equals_a_full_run(encoder: str, attention: str, name: str, ragged: Batch) -> None:
    model = tiny_model(encoder, attention, 3, layers=2)
    allowed = dict(zip(ragged.ids, ragged.texts["a"].mask, strict=True))
    edits = {"attention": edit_case(name, allowed)}
    base = model(ragged, keep=EVERYTHING)
    full = model(ragged, edits, EVERYTHING)
    resumed = model.resume(ragged, base, edits)
    torch.testing.assert_close(resumed.logits, full.logits, atol=1e-6, rtol=0)
    assert torch.equal(resumed.weights["attention"], full.weights["attention"])
    assert "attention" in resumed.token_logits
    if name not in ("detach", "erase-positions"):
        assert not torch.equal(full.logits, base.logits)


def test_an_edit_sees_the_call(ragged: Batch) -> None:
    model, seen = tiny_model(), []

    def look(call):  # type: ignore[no-untyped-def]
        seen.append(call)
        return call.weights

    model(ragged, {"attention": custom(look)})
    (call,) = seen
    assert call.site == model.sites[0] and call.ids == ragged.ids and call.step == 0
    assert torch.equal(call.mask[:, 0, 0], ragged.texts["a"].mask)


def test_rows_leave_out_texts_with_nothing_to_attend(ragged: Batch) -> None:
    mask = ragged.texts["a"].mask.clone()
    mask[2] = False
    trace = tiny_model()(with_mask(ragged, mask))
    view = rows(trace, "attention")
    assert view.example.tolist() == [0, 1, 3, 4]
    assert torch.equal(view.mask, mask[[0, 1, 3, 4]])
    torch.testing.assert_close(trace.logits[2], tiny_model().decoder.bias)


def test_rows_of_many_heads_and_queries_name_where_they_come_from() -> None:
    trace = tiny_model()(tiny_batch((2, 3)))
    weights = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).float()
    causal = torch.ones(4, 5, dtype=torch.bool).tril().expand(2, 1, 4, 5)
    view = rows(
        type(trace)(trace.logits, {"attention": weights}, {"attention": causal}), "attention"
    )
    assert len(view.example) == 24
    at = weights[view.example, view.head, view.query]
    assert torch.equal(at, view.weights)
    assert torch.equal(view.mask, causal.expand_as(weights)[view.example, view.head, view.query])


def test_outputs_of_one_logit() -> None:
    logits = torch.tensor([[0.0], [800.0], [-40.0], [math.log(3.0)]])
    p = probabilities(logits)
    assert p.dtype == torch.float64
    assert p[1].tolist() == [0.0, 1.0]
    assert p[2, 1].item() == pytest.approx(math.exp(-40.0), rel=1e-9)
    assert p[3, 1].item() == pytest.approx(0.75, abs=1e-7)
    assert class_logits(logits).tolist()[3][0] == 0.0


def test_targets_by_hand() -> None:
    one, three = torch.tensor([[math.log(3.0)]]), torch.tensor([[0.0, math.log(2.0), 0.0]])
    yes, no = torch.tensor([1]), torch.tensor([0])
    expected = {
        "logit": (math.log(3), -math.log(3), math.log(2)),
        "probability": (0.75, 0.25, 0.5),
        "loss": (-math.log(0.75), -math.log(0.25), math.log(2)),
        "contrast": (math.log(3), -math.log(3), math.log(2)),
    }
    assert set(expected) == set(TARGETS)
    for name, values in expected.items():
        target = TARGETS[name]
        found = [target(one, yes), target(one, no), target(three, yes)]
        assert [value.item() for value in found] == pytest.approx(values, abs=1e-6)
