"""Conditional encoding (Rocktäschel et al. 2016): the second text is read knowing the first."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.encoders.packed import run_packed_from
from heedful.models.encoders.recurrent import HIDDEN
from heedful.models.pair_encoder import Encoded, PairEncoder, last_states
from heedful.types import Text


class Conditional(PairEncoder):
    """An LSTM over a; another over b that starts where the first ended, with its state and its
    cell. What b ends with is the query."""

    def __init__(self, embedding: int, hidden: int | None) -> None:
        super().__init__()
        self.size = hidden or HIDDEN
        self.a = nn.LSTM(embedding, self.size, batch_first=True)
        self.b = nn.LSTM(embedding, self.size, batch_first=True)

    def forward(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> Encoded:
        states, end = run_packed_from(self.a, x, a.lengths, None)
        other, _ = run_packed_from(self.b, y, b.lengths, end)
        return Encoded(states, last_states(other, b, False))
