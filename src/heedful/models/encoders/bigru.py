"""A bidirectional GRU (serrano2019: 50 per direction)."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.encoders.encoder import Deletions, Encoder, Encoding, Readout
from heedful.models.encoders.packed import run_packed
from heedful.models.encoders.rerun import rerun

HIDDEN = 50  # per direction


class Gru(Encoder):
    """One `nn.GRU` per layer, of two directions."""

    def __init__(self, embedding: int, layers: int, sizes: str, hidden: int | None) -> None:
        super().__init__()
        half = hidden or HIDDEN
        self.size = 2 * half
        self.stack: list[nn.GRU] = nn.ModuleList(  # type: ignore[assignment]
            nn.GRU(
                embedding if depth == 0 else self.size, half, batch_first=True, bidirectional=True
            )
            for depth in range(layers)
        )

    def forward(self, x: Float[Tensor, "b t e"], lengths: Int[Tensor, " b"]) -> Encoding:
        return Encoding(self._run(x, lengths), x)

    def deletions(
        self, encoding: Encoding, lengths: Int[Tensor, " b"], readout: Readout
    ) -> Deletions:
        """Every state sees every token."""
        return rerun(self._run, encoding, lengths, readout)

    def hidden_for(self, width: int) -> int | None:
        """It is the width of one direction."""
        return None if width % 2 else width // 2

    def _run(self, x: Tensor, lengths: Tensor) -> Tensor:
        for layer in self.stack:
            x = run_packed(layer, x, lengths)
        return x


PIECE = Piece(
    name="bigru",
    description="bidirectional GRU, 50 per direction, one to three layers",
    make=Gru,
    paper="serrano2019",
)
