"""LSTM layers of one or two directions."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.encoders.encoder import Deletions, Encoder, Encoding, Readout, Window
from heedful.models.encoders.lstm_deletions import FirstLayer
from heedful.models.encoders.packed import run_packed
from heedful.models.encoders.scan import Direction, scan_layer

HIDDEN = 128  # per direction; jain2019, paper and code


class Recurrent(Encoder):
    """One `nn.LSTM` per layer, so that a deletion can enter after the first."""

    def __init__(self, embedding: int, layers: int, hidden: int, bidirectional: bool) -> None:
        super().__init__()
        self.directions = 2 if bidirectional else 1
        self.size = hidden * self.directions
        self.stack = nn.ModuleList(
            nn.LSTM(
                embedding if depth == 0 else self.size,
                hidden,
                batch_first=True,
                bidirectional=bidirectional,
            )
            for depth in range(layers)
        )

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
            found = first.delete(examples, positions)
            edges = torch.zeros_like(positions), lengths[examples]
            if alone:
                return Window(*edges, found.index, found.results, found.row)
            states = self._run(found.results[found.row], lengths[examples] - 1, 1)
            return Window(*edges, found.index, readout(states))

        return Deletions(readout(self._run(_joined(directions), lengths, 1)), delete)

    def hidden_for(self, width: int) -> int | None:
        """It is the width of one direction."""
        return None if width % self.directions else width // self.directions

    def _run(self, x: Tensor, lengths: Tensor, start: int) -> Tensor:
        for layer in list(self.stack)[start:]:
            x = (
                run_packed(layer, x, lengths)
                if x.is_cuda
                else _joined(scan_layer(layer, x, lengths))
            )
        return x


def _joined(directions: tuple[Direction, ...]) -> Tensor:
    return torch.cat([side.states for side in directions], -1).transpose(0, 1)
