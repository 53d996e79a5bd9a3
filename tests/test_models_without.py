"""Logits without each token: the fast way against deleting it and running the model again."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.models import ENCODERS, OneSequence, one_sequence
from heedful.types import Batch
from reference.deletion import delete_each
from tiny import FAMILIES, tiny_batch, tiny_model


def check(model: OneSequence, batch: Batch, tolerance: float) -> None:
    deleted = model.leave_one_out_logits(batch)
    torch.testing.assert_close(deleted.whole, model(batch).logits.double(), atol=1e-5, rtol=0)
    found = deleted.less
    expected = delete_each(model, batch)
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=0, equal_nan=True)


@pytest.mark.parametrize(("layers", "double"), [(1, True), (2, True), (3, True), (2, False)])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_equals_deletion(
    encoder: str, attention: str, classes: int, layers: int, double: bool
) -> None:
    model = tiny_model(encoder, attention, classes, layers, double)
    batch = tiny_batch((4, 1, 9, 2, 17), pad=2)
    with torch.no_grad():
        check(model, batch, 1e-10 if double else 1e-5)


@settings(max_examples=10)
@given(st.lists(st.integers(1, 16), min_size=1, max_size=4), st.integers(0, 5), st.integers(0, 99))
@pytest.mark.parametrize("encoder", list(ENCODERS))
def test_equals_deletion_on_any_batch(
    encoder: str, lengths: list[int], pad: int, seed: int
) -> None:
    model = tiny_model(encoder, "dot", 2, 2, True, seed)
    with torch.no_grad():
        check(model, tiny_batch(lengths, seed, pad), 1e-10)


@pytest.mark.parametrize("encoder", ["bilstm", "cnn", "average"])
def test_small_chunks_change_nothing(
    encoder: str, ragged: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model(encoder, double=True, layers=2)
    with torch.no_grad():
        whole = model.leave_one_out_logits(ragged).less
        monkeypatch.setattr(one_sequence, "_STATES_AT_ONCE", {"cpu": 1})
        torch.testing.assert_close(model.leave_one_out_logits(ragged).less, whole, equal_nan=True)


@pytest.mark.parametrize("encoder", list(ENCODERS))
def test_the_only_token_leaves_the_bias(encoder: str) -> None:
    model = tiny_model(encoder, classes=3)
    with torch.no_grad():
        logits = model.leave_one_out_logits(tiny_batch((1,))).less[0, 1]
    assert torch.equal(logits, model.decoder.bias.double())


def test_a_token_that_has_all_the_attention_loses_none_of_the_rest() -> None:
    """Scores hundreds apart: beside it the rest is rounding, yet without it the rest is all."""
    model = tiny_model("average", "dot", double=True)
    with torch.no_grad():
        model.attention.query *= 50
        batch = tiny_batch((7, 5))
        assert model(batch).weights["attention"].amax() == 1.0
        check(model, batch, 1e-9)


@pytest.mark.parametrize("encoder", list(ENCODERS))
def test_also_where_gradients_are_on(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder, layers=2)
    with torch.no_grad():
        expected = model.leave_one_out_logits(ragged).less
    found = model.leave_one_out_logits(ragged).less.detach()
    torch.testing.assert_close(found, expected, equal_nan=True)
