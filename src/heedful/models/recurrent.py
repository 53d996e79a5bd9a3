"""Recurrent encoders: LSTM, GRU, and the LSTM of orthogonal states."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, is_grad_enabled, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.entries import Entries, ModelPart
from heedful.models.encoders import (
    Changed,
    Deletions,
    Encoder,
    Encoding,
    Readout,
    without_padding,
)
from heedful.models.walks import (
    Carried,
    Reading,
    Walks,
    gru_readings,
    lstm_inputs,
    lstm_readings,
    lstm_walk,
)

ENTRIES = Entries(ModelPart)


def run_layer(
    layer: nn.LSTM | nn.GRU, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t d"]:
    """The states of a layer over texts of these lengths; zeros in padding.

    Each direction runs by itself from each text's own first token, so that padding comes after all
    that counts. Padded layers are faster than packed ones: on a CPU several times, most of all
    backwards; on a card the host need not wait for lengths, and cuDNN may keep small layers in
    one kernel."""
    rows = torch.arange(len(x), device=x.device)[:, None]
    places = torch.arange(x.shape[1], device=x.device)
    mirrored = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    zero = x.new_zeros(1, len(x), layer.hidden_size)
    start: Any = (zero, zero) if isinstance(layer, nn.LSTM) else zero
    run: Any = torch.lstm if isinstance(layer, nn.LSTM) else torch.gru
    # cuDNN's backward pass wants training mode; without dropout the mode changes nothing else
    mode = layer.training or is_grad_enabled()
    parts: list[Tensor] = []
    for weights in layer.all_weights:  # of each direction
        back = len(parts) == 1
        given = _taken(x, (rows * x.shape[1] + mirrored).t()) if back else x.transpose(0, 1)
        with _unflattened() if x.is_cuda else nullcontext():
            states = run(given, start, weights, True, 1, 0.0, mode, False, False)[0]
        parts.append(_taken(states, mirrored * len(x) + rows) if back else states.transpose(0, 1))
    return without_padding(torch.cat(parts, -1), lengths)


@contextmanager
def _unflattened() -> Iterator[None]:
    """One direction's weights are not all that cuDNN keeps in one piece. It copies them, which is
    little beside the steps."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single")
        yield


def _taken(x: Float[Tensor, "a b e"], rows: Int[Tensor, "c d"]) -> Float[Tensor, "c d e"]:
    return x.flatten(0, 1).index_select(0, rows.flatten()).view(*rows.shape, -1)


def run_packed(
    layer: nn.Module, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t d"]:
    """The same by one packed layer of both directions."""
    return run_packed_from(layer, x, lengths)[0]


def run_packed_from(
    layer: nn.Module, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], start: Any = None
) -> tuple[Float[Tensor, "b t d"], Any]:
    """States, and what the layer ended with; `start` is what another layer ended with."""
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    # cuDNN's backward pass wants training mode; without dropout the mode changes nothing else
    mode, layer.training = layer.training, layer.training or is_grad_enabled()
    try:
        packed, end = layer(packed, start)
    finally:
        layer.training = mode
    states, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    return states, end


LSTM_HIDDEN = 128  # per direction; jain2019, paper and code
GRU_HIDDEN = 50  # per direction; serrano2019


def last_states(
    states: Float[Tensor, "b t d"], lengths: Int[Tensor, " b"], directions: int
) -> Float[Tensor, "b d"]:
    """What each direction ends with: the one at the end of the text, the other at its start."""
    end = states[torch.arange(len(states), device=states.device), lengths - 1]
    if directions == 1:
        return end
    half = states.shape[-1] // 2
    return torch.cat([end[:, :half], states[:, 0, half:]], -1)


def _layers(
    kind: type[nn.LSTM | nn.GRU], embedding: int, size: int, layers: int, directions: int
) -> nn.ModuleList:
    """The first layer reads embeddings, the others states as wide as `size`."""
    return nn.ModuleList(
        kind(wide, size // directions, batch_first=True, bidirectional=directions == 2)
        for wide in [embedding, *[size] * (layers - 1)]
    )


class Layered(Encoder):
    """A layer after the other, so that deletions can walk on in the first."""

    stack: nn.ModuleList

    @abstractmethod
    def layer(self, layer: Any, x: Tensor, lengths: Tensor) -> Float[Tensor, "b t d"]:
        """The states of a layer; zeros in padding."""

    @abstractmethod
    def readings(
        self, layer: nn.Module, x: Tensor, states: Tensor, lengths: Tensor
    ) -> list[Reading]:
        """How a layer with these states reads on, without gradients."""

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(self._run(x, lengths, 0), x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """The first layer walks on from where the token is gone; further layers see every input
        changed and run in full."""
        layer, *later = self.stack
        states = self.layer(layer, encoding.x, lengths) if later else encoding.states
        readings = self.readings(layer, encoding.x, states, lengths)
        walks = Walks(readings, lengths, None if later else readout)
        if not later:  # walks bound their own memory
            return Deletions(readout(states), walks.changed, width=1)

        def changed(examples: Tensor, positions: Tensor) -> Iterator[Changed]:
            rows = torch.arange(len(positions), device=positions.device)
            places = torch.arange(states.shape[1] - 1, device=positions.device)
            index = places + (places >= positions[:, None])
            shorter = states[examples[:, None], index]
            for piece in walks.changed(examples, positions):
                there = piece.index >= 0
                place = piece.index - (piece.index > positions[piece.rows]).long()
                shorter[piece.rows.expand_as(place)[there], place[there]] = piece.readouts[there]
            found = self._run(shorter, lengths[examples] - 1, 1)
            index = torch.where(index < lengths[examples, None], index, -1)
            yield Changed(rows, index.t(), readout(found).transpose(0, 1))

        return Deletions(readout(encoding.states), changed)

    def _run(self, x: Tensor, lengths: Tensor, start: int) -> Tensor:
        for layer in list(self.stack)[start:]:
            x = self.layer(layer, x, lengths)
        return x


class Recurrent(Layered):
    """One `nn.LSTM` per layer."""

    def __init__(self, embedding: int, layers: int, hidden: int, bidirectional: bool) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.size = hidden * self.directions
        self.stack = _layers(nn.LSTM, embedding, self.size, layers, self.directions)

    def layer(self, layer: Any, x: Tensor, lengths: Tensor) -> Tensor:
        return run_layer(layer, x, lengths)

    def readings(
        self, layer: nn.Module, x: Tensor, states: Tensor, lengths: Tensor
    ) -> list[Reading]:
        return lstm_readings(layer, x, states, lengths)


@ENTRIES.entry(
    "bidirectional GRU, 50 per direction, one to three layers", name="bigru", paper="serrano2019"
)
class Gru(Layered):
    """One `nn.GRU` per layer, of two directions (serrano2019: 50 each)."""

    directions = 2

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = 2 * (hidden or GRU_HIDDEN)
        self.stack = _layers(nn.GRU, embedding, self.size, layers, 2)

    def layer(self, layer: Any, x: Tensor, lengths: Tensor) -> Tensor:
        return run_layer(layer, x, lengths)

    def readings(
        self, layer: nn.Module, x: Tensor, states: Tensor, lengths: Tensor
    ) -> list[Reading]:
        return gru_readings(layer, x, states, lengths)


@ENTRIES.entry(
    "left-to-right LSTM, each state orthogonal to the mean of the earlier ones",
    name="orthogonal",
    paper="mohankumar2020",
    citation=("Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL"),
)
class Orthogonal(Layered):
    """mohankumar2020's LSTM: every state is made orthogonal to the mean of the earlier ones before
    it is handed on, so that states cannot lie in a narrow cone. The weights are those of
    left-to-right `nn.LSTM` layers. The paper has one layer; where there are more, each is made
    like the first."""

    directions = 1

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = hidden or LSTM_HIDDEN
        self.stack = _layers(nn.LSTM, embedding, self.size, layers, 1)

    def layer(self, layer: nn.Module, x: Tensor, lengths: Tensor) -> Tensor:
        return without_padding(_walk(layer, x), lengths)

    def readings(
        self, layer: nn.Module, x: Tensor, states: Tensor, lengths: Tensor
    ) -> list[Reading]:
        """The sum of the earlier states is carried too, so a walk hardly ever ends early."""
        inputs, recurrent = lstm_inputs(layer, x)
        step = partial(_orthogonal_walk, recurrent=recurrent * 2)
        carried: Carried = tuple(states.new_zeros(3, *states[:, 0].shape))
        passed = []
        for given in inputs:
            carried = step(given, carried)
            passed.append(carried)
        whole = tuple(torch.stack(part) for part in zip(*passed, strict=True))
        return [Reading(inputs, whole, step, unit=2.0)]


def _walk(layer: nn.Module, x: Float[Tensor, "b t e"]) -> Float[Tensor, "b t d"]:
    """Left to right, so padding comes after all that counts."""
    weights: dict[str, Tensor] = dict(layer.named_parameters())
    bias = weights["bias_ih_l0"] + weights["bias_hh_l0"]
    inputs = nn.functional.linear(x, weights["weight_ih_l0"], bias)
    recurrent = weights["weight_hh_l0"].t()
    h = c = total = x.new_zeros(len(x), len(recurrent))
    states = []
    for given in inputs.unbind(1):  # an index in each step would cost as much as all inputs
        h, c = lstm_step(torch.addmm(given, h, recurrent), c)
        h = _orthogonal(h, total)
        total = total + h
        states.append(h)
    return torch.stack(states, 1)


def lstm_step(
    gates: Float[Tensor, "b g"], c: Float[Tensor, "b h"]
) -> tuple[Float[Tensor, "b h"], Float[Tensor, "b h"]]:
    """State and cell after one step, from gates in PyTorch's order."""
    enter, forget, candidate, leave = gates.chunk(4, -1)
    c = forget.sigmoid() * c + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * c.tanh(), c


def _orthogonal_walk(inputs: Tensor, carried: Carried, recurrent: Tensor) -> Carried:
    """From half the state, twice the cell and half the sum of the states to the same."""
    h, c, total = carried
    h, c = lstm_walk(inputs, (h, c), recurrent)
    h = _orthogonal(h, total)
    return h, c, total + h


def _orthogonal(h: Float[Tensor, "b d"], total: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    """Gram–Schmidt against the sum of the earlier states, which points where their mean does.
    Where that is 0, nothing is subtracted."""
    length = (total * total).sum(-1, keepdim=True)
    share = (h * total).sum(-1, keepdim=True) / torch.where(length > 0, length, 1.0)
    return h - share * total


@ENTRIES.entry("left-to-right LSTM, 128 wide, one to three layers", paper="jain2019")
def lstm(embedding: int, layers: int, sizes: str, hidden: int | None) -> Recurrent:
    return Recurrent(embedding, layers, hidden or LSTM_HIDDEN, bidirectional=False)


@ENTRIES.entry("bidirectional LSTM, 128 per direction, one to three layers", paper="jain2019")
def bilstm(embedding: int, layers: int, sizes: str, hidden: int | None) -> Recurrent:
    return Recurrent(embedding, layers, hidden or LSTM_HIDDEN, bidirectional=True)
