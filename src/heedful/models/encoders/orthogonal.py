"""mohankumar2020's orthogonal LSTM: every state is made orthogonal to the mean of the earlier
ones before it is handed on, so that states cannot lie in a narrow cone.

The paper has one layer; where there are more, each is made like the first.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.encoders.encoder import Deletions, Encoder, Encoding, Readout
from heedful.models.encoders.padding import without_padding
from heedful.models.encoders.recurrent import HIDDEN
from heedful.models.encoders.rerun import rerun


class Orthogonal(Encoder):
    """The weights are those of left-to-right `nn.LSTM` layers; the steps are our own."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = hidden or HIDDEN
        self.stack = nn.ModuleList(
            nn.LSTM(embedding if depth == 0 else self.size, self.size, batch_first=True)
            for depth in range(layers)
        )

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(self._run(x, lengths), x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        return rerun(self._run, encoding, lengths, readout)

    def _run(self, x: Tensor, lengths: Tensor) -> Tensor:
        for layer in self.stack:
            x = without_padding(_walk(layer, x), lengths)
        return x


def _walk(layer: nn.Module, x: Float[Tensor, "b t e"]) -> Float[Tensor, "b t d"]:
    """Left to right, so padding comes after all that counts."""
    weights: dict[str, Tensor] = dict(layer.named_parameters())
    bias = weights["bias_ih_l0"] + weights["bias_hh_l0"]
    inputs = nn.functional.linear(x, weights["weight_ih_l0"], bias)
    recurrent = weights["weight_hh_l0"].t()
    h = c = total = x.new_zeros(len(x), len(recurrent))
    states = []
    for given in inputs.unbind(1):  # an index in each step would cost as much as all inputs
        h, c = _step(given, h, c, recurrent)
        h = _orthogonal(h, total)
        total = total + h
        states.append(h)
    return torch.stack(states, 1)


def _step(given: Tensor, h: Tensor, c: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
    enter, forget, candidate, leave = torch.addmm(given, h, recurrent).chunk(4, -1)
    c = forget.sigmoid() * c + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * c.tanh(), c


def _orthogonal(h: Float[Tensor, "b d"], total: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    """Gram–Schmidt against the sum of the earlier states, which points where their mean does.
    Where that is 0, nothing is subtracted."""
    length = (total * total).sum(-1, keepdim=True)
    share = (h * total).sum(-1, keepdim=True) / torch.where(length > 0, length, 1.0)
    return h - share * total


PIECE = Piece(
    name="orthogonal",
    description="left-to-right LSTM, each state orthogonal to the mean of the earlier ones",
    make=Orthogonal,
    paper="mohankumar2020",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)
