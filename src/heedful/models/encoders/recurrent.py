"""LSTM layers of one or two directions."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.models.encoders.encoder import Deletions, Encoder, Readout, Window
from heedful.models.encoders.lstm_deletions import FirstLayer

HIDDEN = 128  # per direction; jain2019, paper and code


class Recurrent(Encoder):
    """One `nn.LSTM` per layer, so that a deletion can enter after the first."""

    def __init__(self, embedding: int, layers: int, hidden: int, bidirectional: bool) -> None:
        super().__init__()
        self.size = hidden * (2 if bidirectional else 1)
        self.stack = nn.ModuleList(
            nn.LSTM(
                embedding if depth == 0 else self.size,
                hidden,
                batch_first=True,
                bidirectional=bidirectional,
            )
            for depth in range(layers)
        )

    def forward(
        self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]
    ) -> Float[Tensor, "b t d"]:
        return self._run(x, lengths, 0)

    def deletions(
        self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """The first layer starts from cached states on both sides of the deleted token;
        further layers see every input changed and run in full."""
        alone = len(self.stack) == 1
        first = FirstLayer(self.stack[0], x, lengths, readout if alone else None)

        def delete(examples: Tensor, positions: Tensor) -> Window:
            results, index = first.delete(examples, positions)
            if not alone:
                results = readout(self._run(results, lengths[examples] - 1, 1))
            return Window(torch.zeros_like(positions), lengths[examples], index, results)

        return Deletions(readout(self._run(first.states, lengths, 1)), delete)

    def _run(self, x: Tensor, lengths: Tensor, start: int) -> Tensor:
        for layer in list(self.stack)[start:]:
            x = _run_layer(layer, x, lengths)
        return x


def _run_layer(layer: nn.Module, x: Tensor, lengths: Tensor) -> Tensor:
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    # cuDNN's backward pass wants training mode; without dropout the mode changes nothing else
    mode, layer.training = layer.training, layer.training or torch.is_grad_enabled()
    try:
        packed = layer(packed)[0]
    finally:
        layer.training = mode
    states, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    return states
