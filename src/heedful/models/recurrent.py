"""Recurrent encoders: LSTM, GRU, and the LSTM of orthogonal states."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, is_grad_enabled, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.entries import Entries, ModelPart
from heedful.models.encoders import (
    Deletions,
    Encoder,
    Encoding,
    Readout,
    Window,
    without_padding,
)
from heedful.models.lstm_steps import Direction, FirstLayer, lstm_step, scan_layer

ENTRIES = Entries(ModelPart)


def run_packed(
    layer: nn.Module, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
) -> Float[Tensor, "b t d"]:
    """The states of an `nn.LSTM` or `nn.GRU` over texts of these lengths; zeros in padding."""
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


class Recurrent(Encoder):
    """One `nn.LSTM` per layer, so that a deletion can enter after the first."""

    def __init__(self, embedding: int, layers: int, hidden: int, bidirectional: bool) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.size = hidden * self.directions
        self.stack = _layers(nn.LSTM, embedding, self.size, layers, self.directions)

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        if x.is_cuda:
            return Encoding(self._run(x, lengths, 0), x)
        first = scan_layer(self.stack[0], x, lengths)
        return Encoding(self._run(_joined(first), lengths, 1), x, first)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """The first layer starts from cached states on both sides of the deleted token;
        further layers see every input changed and run in full."""
        alone = len(self.stack) == 1
        directions = encoding.cache or scan_layer(self.stack[0], encoding.x, lengths)
        first = FirstLayer(directions, lengths, readout if alone else None)

        def delete(examples: Tensor, positions: Tensor) -> Window:
            window = first.delete(examples, positions)
            if alone:
                return window
            states = self._run(window.placed(window.readouts), lengths[examples] - 1, 1)
            return replace(window, readouts=readout(states), row=None)

        return Deletions(readout(self._run(_joined(directions), lengths, 1)), delete)

    def _run(self, x: Tensor, lengths: Tensor, start: int) -> Tensor:
        for layer in list(self.stack)[start:]:
            packed = x.is_cuda
            x = run_packed(layer, x, lengths) if packed else _joined(scan_layer(layer, x, lengths))
        return x


def _joined(directions: tuple[Direction, ...]) -> Tensor:
    return torch.cat([side.states for side in directions], -1).transpose(0, 1)


class _Rerun(Encoder):
    """Layers after which every state may have seen every token: deletions run them all again."""

    stack: nn.ModuleList

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(self._run(x, lengths), x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        def delete(examples: Tensor, positions: Tensor) -> Window:
            places = torch.arange(encoding.x.shape[1] - 1, device=positions.device)
            index = places + (places >= positions[:, None])
            states = self._run(encoding.x[examples[:, None], index], lengths[examples] - 1)
            index = torch.where(index < lengths[examples, None], index, -1)
            return Window(torch.zeros_like(positions), lengths[examples], index, readout(states))

        return Deletions(readout(encoding.states), delete)

    @abstractmethod
    def layer(self, layer: nn.Module, x: Tensor, lengths: Tensor) -> Tensor: ...

    def _run(self, x: Tensor, lengths: Tensor) -> Tensor:
        for layer in self.stack:
            x = self.layer(layer, x, lengths)
        return x


@ENTRIES.entry(
    "bidirectional GRU, 50 per direction, one to three layers", name="bigru", paper="serrano2019"
)
class Gru(_Rerun):
    """One `nn.GRU` per layer, of two directions (serrano2019: 50 each)."""

    directions = 2

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = 2 * (hidden or GRU_HIDDEN)
        self.stack = _layers(nn.GRU, embedding, self.size, layers, 2)

    def layer(self, layer: nn.Module, x: Tensor, lengths: Tensor) -> Tensor:
        return run_packed(layer, x, lengths)


@ENTRIES.entry(
    "left-to-right LSTM, each state orthogonal to the mean of the earlier ones",
    name="orthogonal",
    paper="mohankumar2020",
    citation=("Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL"),
)
class Orthogonal(_Rerun):
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
