"""Attention flow: the smallest of all cuts, by hand, and refused where it would take too long."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch

from heedful.attributions import attention, attention_flow, rollout
from heedful.errors import HeedfulError
from heedful.interventions import custom
from heedful.types import Batch, Edits, Keep, SiteCall, Trace
from layered import Layered, layered_batch
from reference import attention_flow as reference
from tiny import tiny_batch, tiny_model

LENGTHS = (2, 1, 3, 2)


class Given(Layered):
    """Its layers attend as they are told to."""

    def forward(
        self, batch: Batch, edits: Edits | None = None, keep: Keep = Keep(), embeddings=None
    ) -> Trace:  # type: ignore[no-untyped-def]
        return super().forward(batch, {s.name: custom(_told) for s in self.sites}, keep, embeddings)


def _told(call: SiteCall) -> torch.Tensor:
    """Of three positions the first sees the first two alike, the others see themselves."""
    rows = torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    return rows.to(call.weights).expand_as(call.weights)


@pytest.mark.parametrize(("layers", "flow", "product"), [(1, 0.25, 0.25), (2, 0.5, 0.4375)])
def test_flow_by_hand(layers: int, flow: float, product: float) -> None:
    """¼ goes straight; with a layer more ¼ also goes down first, where ¾ is free. Rollout gives
    that second path ¾ · ¼ only."""
    batch, model = tiny_batch((1,)), Given(layers)
    assert attention_flow(model, batch, batch.labels)[0].tolist() == [0.0, flow, 0.0]
    assert rollout(model, batch, batch.labels)[0].tolist() == pytest.approx([0.0, product, 0.0])


@pytest.mark.parametrize("read", ["first", "last", "mean"])
@pytest.mark.parametrize("layers", [1, 2])
def test_flow_is_the_smallest_of_all_cuts(read: str, layers: int) -> None:
    model, batch = Layered(layers, read=read), layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True))
    shown = attention_flow(model, batch, batch.labels)
    for text, n in enumerate(batch.texts["a"].lengths.tolist()):
        each = [
            trace.weights[f"layer{i}"][text, :, :n, :n].detach().numpy()
            for i in reversed(range(layers))
        ]
        row = trace.readout_weights["layer0"][text, :n].tolist()
        expected = reference.attention_flow(row, each)
        assert shown[text, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-12)


def test_a_decoders_row_is_where_its_flow_begins() -> None:
    model, batch = Layered(decoder=True), layered_batch((2, 1))
    trace, shown = model(batch), attention_flow(model, batch, batch.labels)
    for text, n in enumerate(batch.texts["a"].lengths.tolist()):
        row = trace.weights["cross"][text, :, 0, :n].mean(0).detach().tolist()
        each = [trace.weights[f"layer{i}"][text, :, :n, :n].detach().numpy() for i in (1, 0)]
        expected = reference.attention_flow(row, each)
        assert shown[text, 1 : n - 1].tolist() == pytest.approx(expected[1 : n - 1], abs=1e-12)


def test_one_site_flows_as_it_attends() -> None:
    model, batch = tiny_model(double=True), tiny_batch((4, 2))
    ours, theirs = (each(model, batch, batch.labels) for each in (attention_flow, attention))
    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_a_flow_is_at_least_what_rolls_out_and_at_most_all() -> None:
    model, batch = Layered(3), layered_batch((9, 5))
    flow = attention_flow(model, batch, batch.labels)[batch.texts["a"].mask].numpy()
    rolled = rollout(model, batch, batch.labels)[batch.texts["a"].mask].numpy()
    assert np.all(flow >= rolled - 1e-12) and np.all(flow <= 1 + 1e-12)


def test_texts_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("heedful.attributions.attention_flow"), "LARGEST", 50)
    model, batch = Layered(2), layered_batch((2, 4))
    with pytest.raises(HeedfulError, match="'text-1', 6 tokens through 2 layers: cut its texts"):
        attention_flow(model, batch, batch.labels)
