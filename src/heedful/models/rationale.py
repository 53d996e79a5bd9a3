"""Select, then predict (Lei et al. 2016): a generator takes words, the encoder reads only those.

Whatever is not taken is a zero vector to the encoder. So given the selection, other words cannot
change a logit; they have a say in what is selected, which is what a rationale leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.entries import ModelPart, by_name
from heedful.models.encoders import Changed, Deletions, Encoder, Encoding, Readout
from heedful.models.hard_selection import HardKuma, gates_of
from heedful.models.recurrent import run_packed

_GENERATOR = 50


class Rationale(Encoder):
    """A bidirectional GRU reads the whole text and sets a gate for each token; gates are drawn in
    training, and afterwards the likeliest of 0, 1 and between (Bastings et al. 2019). The terms
    `sparsity` and `coherence` keep them few and together."""

    def __init__(self, inner: Encoder, embedding: int) -> None:
        super().__init__()
        self.inner = inner
        self.size, self.directions = inner.size, inner.directions
        self.generator = nn.GRU(embedding, _GENERATOR, batch_first=True, bidirectional=True)
        self.shapes = nn.Linear(2 * _GENERATOR, 2)

    @property
    def walks(self) -> bool:
        return True

    def hidden_for(self, width: int) -> int | None:
        return self.inner.hidden_for(width)

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        gates = self.gates(x, lengths)
        drawn = gates.sample() if self.training else gates.likeliest()
        return replace(self.read(x, drawn, lengths), x=x, cache=gates)

    def gates(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> HardKuma:
        """Of each token, from the whole text."""
        return gates_of(self.shapes(run_packed(self.generator, x, lengths)))

    def read(
        self, x: Float[Tensor, "b t e"], drawn: Float[Tensor, "b t"], lengths: Int[Tensor, " b"]
    ) -> Encoding:
        """What the encoder makes of the tokens that are taken. The others are zeros, not products
        with zero: nothing of them is left, not even a sign."""
        taken = torch.where(drawn[..., None] > 0, drawn[..., None] * x, 0.0)
        encoding: Encoding = self.inner(taken, lengths)
        return encoding

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """Another text may be another selection, so each shorter text is read anew."""

        def changed(examples: Tensor, positions: Tensor) -> Iterator[Changed]:
            x, left = encoding.x[examples], lengths[examples] - 1
            place = torch.arange(x.shape[1] - 1, device=x.device)
            index = place + (place >= positions[:, None]).long()
            shorter = x.gather(1, index[..., None].expand(-1, -1, x.shape[2]))
            states = self(shorter, left).states
            index = index.masked_fill(place >= left[:, None], -1)
            rows = torch.arange(len(positions), device=x.device)
            yield Changed(rows, index.t(), readout(states).transpose(0, 1))

        return Deletions(readout(encoding.states), changed)


ENTRIES = by_name(
    ModelPart(
        "rationale",
        "a generator takes words by HardKuma gates, and the encoder reads only these",
        Rationale,
        paper="lei2016",
        citation="gates: Bastings et al. 2019, Interpretable Neural Predictions with "
        "Differentiable Binary Variables, ACL",
    )
)
