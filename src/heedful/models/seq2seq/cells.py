"""The decoder's recurrence: one LSTM step, of one layer or two."""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Cells(nn.Module):
    """The first layer reads a target token and what attention fed back; the second reads the
    first. Hidden states and cells of all layers are one tensor, `[b, layers, 2, size]`."""

    def __init__(self, width: int, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.width, self.size = width, size
        self.dropout = nn.Dropout(dropout)
        inputs = [width + size] + [size] * (layers - 1)
        self.layers = nn.ModuleList(nn.LSTMCell(each, size) for each in inputs)

    @property
    def _stack(self) -> list[nn.LSTMCell]:
        return cast("list[nn.LSTMCell]", list(self.layers))

    def read(self, embedded: Float[Tensor, "*b e"]) -> Float[Tensor, "*b g"]:
        """What tokens add to the first layer's gates: for all steps at once where they are
        known."""
        cell = self._stack[0]
        return nn.functional.linear(
            embedded, cell.weight_ih[:, : self.width], cell.bias_ih + cell.bias_hh
        )

    def forward(
        self,
        read: Float[Tensor, "b g"],
        fed: Float[Tensor, "b d"],
        memory: Float[Tensor, "b l 2 d"],
    ) -> Float[Tensor, "b l 2 d"]:
        """One step."""
        first, *others = self._stack
        gates = torch.addmm(read, fed, first.weight_ih[:, self.width :].t())
        gates = torch.addmm(gates, memory[:, 0, 0], first.weight_hh.t())
        out = [_gated(gates, memory[:, 0, 1])]
        for depth, cell in enumerate(others, 1):
            below = self.dropout(out[-1][:, 0])
            out.append(torch.stack(cell(below, (memory[:, depth, 0], memory[:, depth, 1])), 1))
        return torch.stack(out, 1)


def _gated(gates: Tensor, cell: Tensor) -> Tensor:
    """Gates in PyTorch's order: input, forget, candidate, output."""
    enter, forget, candidate, leave = gates.chunk(4, -1)
    cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
    return torch.stack([leave.sigmoid() * cell.tanh(), cell], 1)
