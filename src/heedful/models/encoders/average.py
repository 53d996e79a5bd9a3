"""jain2019's `average` encoder: each token by itself, one linear layer and a squashing."""

from __future__ import annotations

from itertools import pairwise, starmap

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.encoders.alone import unchanged
from heedful.models.encoders.encoder import Deletions, Encoder, Encoding, Readout

# the released code and the paper's appendix differ
SIZES = {"code": (128, "tanh"), "paper": (256, "relu")}


class Average(Encoder):
    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        default, activation = SIZES[sizes]
        self.size = hidden or default
        widths = [embedding] + [self.size] * layers
        self.layers = nn.ModuleList(starmap(nn.Linear, pairwise(widths)))
        self.activation = torch.tanh if activation == "tanh" else torch.relu

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        states = x
        for layer in self.layers:
            states = self.activation(layer(states))
        return Encoding(states, x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        return unchanged(encoding, readout)


PIECE = Piece(
    name="average",
    description="per-token linear layer and squashing; no token sees another",
    make=Average,
    paper="jain2019",
)
