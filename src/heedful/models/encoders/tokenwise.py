"""Encoders in which no token sees another: jain2019's `average`, and none at all (serrano2019)."""

from __future__ import annotations

from itertools import pairwise, starmap

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.entries import ModelPart
from heedful.models.encoders.encoder import (
    Deletions,
    Encoder,
    Encoding,
    Readout,
    unchanged,
    without_padding,
)

# the released code and the paper's appendix differ
SIZES = {"code": (128, "tanh"), "paper": (256, "relu")}


class Average(Encoder):
    """One linear layer and a squashing, each token by itself."""

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


class PassThrough(Encoder):
    """A token's state is its embedding: layers and sizes have nothing to say here."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        self.size = embedding

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(without_padding(x, lengths), x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        return unchanged(encoding, readout)

    def hidden_for(self, width: int) -> int | None:
        return None


AVERAGE_ENTRY = ModelPart(
    name="average",
    description="per-token linear layer and squashing; no token sees another",
    make=Average,
    paper="jain2019",
)

NONE_ENTRY = ModelPart(
    name="none",
    description="no encoder: states are embeddings; no token sees another",
    make=PassThrough,
    paper="serrano2019",
)
