"""Layers over padded texts, and how they read on after a deletion, against torch's packed ones."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from heedful.models import (
    Encoder,
    OneSequence,
    Readout,
    make_encoder,
    one_sequence,
    run_layer,
    run_packed,
    walks,
)
from heedful.models.walks import BLOCK, Walks, gru_readings, lstm_readings
from heedful.specs import ModelSpec
from heedful.types import Batch
from reference.deletion import delete_each
from tiny import tiny_batch, tiny_model

LENGTHS = torch.tensor([5, 1, 3, 5])
KINDS = {"lstm": (nn.LSTM, lstm_readings), "gru": (nn.GRU, gru_readings)}


def layer_of(kind: str, bidirectional: bool, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    made: nn.Module = KINDS[kind][0](4, 3, batch_first=True, bidirectional=bidirectional)
    return made.double()


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("bidirectional", [False, True])
def test_states_and_slopes_are_those_of_torchs_packed_layer(kind: str, bidirectional: bool) -> None:
    layer = layer_of(kind, bidirectional)
    x = torch.randn(4, 6, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, 6, 6 if bidirectional else 3, dtype=torch.float64)
    wanted, found = run_packed(layer, x, LENGTHS), run_layer(layer, x, LENGTHS)
    torch.testing.assert_close(found, wanted)
    inputs = [x, *layer.parameters()]
    slopes = torch.autograd.grad((found * weight).sum(), inputs)
    for mine, theirs in zip(
        slopes, torch.autograd.grad((wanted * weight).sum(), inputs), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("training", [False, True])
def test_slopes_are_the_same_in_single_precision(training: bool) -> None:
    """Where a CPU has a fused layer, with a backward pass of its own."""
    torch.manual_seed(3)
    layer = nn.LSTM(4, 3, batch_first=True, bidirectional=True).train(training)
    x, weight = torch.randn(4, 6, 4, requires_grad=True), torch.randn(4, 6, 6)
    slopes = [
        torch.autograd.grad((run(layer, x, LENGTHS) * weight).sum(), [x, *layer.parameters()])
        for run in (run_packed, run_layer)
    ]
    for wanted, found in zip(*slopes, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


def test_padding_holds_zeros_whatever_was_there() -> None:
    layer = nn.LSTM(2, 2, batch_first=True, bidirectional=True)
    states = run_layer(layer, torch.ones(4, 5, 2), LENGTHS)
    assert not states[1, 1:].any() and not states[2, 3:].any() and states[0].all()


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_reading_goes_on_as_the_layer_did(kind: str) -> None:
    """One step from what was carried to a token makes what is carried from it."""
    layer = layer_of(kind, bidirectional=True)
    x = torch.randn(4, 5, 4, dtype=torch.float64)
    states = run_layer(layer, x, LENGTHS)
    for reading, half in zip(
        KINDS[kind][1](layer, x, states, LENGTHS), states.chunk(2, -1), strict=True
    ):
        torch.testing.assert_close(reading.states, half.transpose(0, 1))
        there, then = (3, 2) if reading.reverse else (1, 2)
        before = tuple(part[there] for part in reading.carried)
        found = reading.step(reading.inputs[then], before)
        rows = [0, 3] if reading.reverse else [0, 2, 3]  # the others have ended, or not begun
        for mine, whole in zip(found, reading.carried, strict=True):
            torch.testing.assert_close(mine[rows], whole[then][rows])


def test_an_lstm_carries_its_states_and_cells() -> None:
    layer = layer_of("lstm", bidirectional=False)
    x = torch.randn(1, 4, 4, dtype=torch.float64)
    (reading,) = lstm_readings(layer, x, run_layer(layer, x, torch.tensor([4])), torch.tensor([4]))
    h, c = (torch.zeros(1, 1, 3, dtype=torch.float64) for _ in range(2))
    for place in range(4):
        _, (h, c) = layer(x[:, place : place + 1], (h, c))
        torch.testing.assert_close(reading.carried[0][place], h[0] / 2)
        torch.testing.assert_close(reading.carried[1][place], c[0] * 2)


def walked(encoder: Encoder, t: int) -> tuple[list[int], list[Tensor]]:
    """For each piece of the deletion of a text's middle token, how many steps it has."""
    torch.manual_seed(1)
    x, lengths = torch.randn(1, t, 4), torch.tensor([t])
    with torch.no_grad():
        encoding = encoder(x, lengths)
        readout = Readout(torch.eye(encoder.size), torch.zeros(encoder.size))
        deletions = encoder.deletions(encoding, lengths, readout)
        pieces = list(deletions.changed(torch.tensor([0]), torch.tensor([t // 2])))
    return [int((piece.index >= 0).sum()) for piece in pieces], [p.readouts for p in pieces]


@pytest.mark.parametrize("name", ["lstm", "bigru"])
def test_a_walk_ends_where_the_layer_has_forgotten(name: str) -> None:
    """A fresh layer forgets in a few dozen steps; the text goes on for hundreds."""
    torch.manual_seed(0)
    steps, _ = walked(make_encoder(ModelSpec(name, hidden=8), 4), 600)
    assert max(steps) * len(steps) > BLOCK and sum(steps) < 150


def test_a_layer_that_forgets_nothing_walks_to_the_end_of_the_text() -> None:
    torch.manual_seed(0)
    encoder = make_encoder(ModelSpec("lstm", hidden=8), 4)
    with torch.no_grad():
        encoder.stack[0].bias_ih_l0[8:16] = 40.0  # the forget gate is 1
    steps, _ = walked(encoder, 100)
    assert sum(steps) == 49 and steps == [8] * 6 + [1]


@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "orthogonal"])
@pytest.mark.parametrize("layers", [1, 2])
def test_long_texts_equal_deletion_in_single_precision(encoder: str, layers: int) -> None:
    """Walks that end early among them: what is left out is rounding."""
    model = tiny_model(encoder, layers=layers)
    batch = tiny_batch((36, 3, 30))
    with torch.no_grad():
        found = model.leave_one_out_logits(batch).less
        torch.testing.assert_close(
            found, delete_each(model, batch), atol=1e-5, rtol=0, equal_nan=True
        )


def test_who_takes_anything_for_the_same_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tolerance matters: without it walks would end after a block."""
    model, batch = tiny_model("bilstm"), tiny_batch((36,))
    with torch.no_grad():
        monkeypatch.setattr(walks, "SAME", 1e7)
        found, wanted = model.leave_one_out_logits(batch).less, delete_each(model, batch)
    assert (found - wanted).abs().nan_to_num().max() > 1e-4


@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "orthogonal", "cnn", "average", "none"])
@pytest.mark.parametrize("attention", ["additive", "gate"])
def test_few_tokens_are_read_anew_with_the_same_result(
    encoder: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = tiny_model(encoder, attention, 3, double=True), tiny_batch((4, 1, 9), pad=1)
    found = [_by(few, model, batch, monkeypatch) for few in (0, 1 << 20)]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=0, equal_nan=True)


def _by(
    few: int, model: OneSequence, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> tuple[Tensor, Tensor]:
    monkeypatch.setattr(one_sequence, "_FEW", {"cpu": {True: few, False: few}})
    read: list[int] = []
    own = model.encoder.forward
    monkeypatch.setattr(
        model.encoder, "forward", lambda x, lengths: (read.append(len(x)), own(x, lengths))[1]
    )
    deleted = model.leave_one_out_logits(batch)
    monkeypatch.undo()
    assert read == [len(batch) + 14 if few else len(batch)]
    return deleted.whole, deleted.less


@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "orthogonal"])
def test_few_walks_at_once_change_nothing(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last chunk is not whole."""
    model, batch = tiny_model(encoder, layers=1, double=True), tiny_batch((14, 3, 20))
    monkeypatch.setattr(one_sequence, "_FEW", {"cpu": {True: 0, False: 0}})
    with torch.no_grad():
        whole = model.leave_one_out_logits(batch).less
        monkeypatch.setattr(walks, "AT_ONCE", {"cpu": 16})
        found = model.leave_one_out_logits(batch).less
    torch.testing.assert_close(found, whole, atol=1e-12, rtol=0, equal_nan=True)


def test_walks_of_no_deletions_change_nothing() -> None:
    layer = layer_of("lstm", bidirectional=True)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    lengths, none = torch.tensor([3, 2]), torch.empty(0, dtype=torch.long)
    with torch.no_grad():
        readings = lstm_readings(layer, x, run_layer(layer, x, lengths), lengths)
        assert not list(Walks(readings, lengths, None).changed(none, none))
