"""Layers of encoder and decoder, with the norm before a part (`prenorm`) or after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.transformer.attention import MultiHead, Read, Use
from heedful.types import Mask, SiteMask


@dataclass(frozen=True)
class Shape:
    """Sizes of a model."""

    size: int
    heads: int
    layers: int
    inner: int
    before: bool = True
    dropout: float = 0.0


class Residual(nn.Module):
    """x + part(norm(x)), or norm(x + part(x))."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.size)
        self.before = shape.before
        self.dropout = nn.Dropout(shape.dropout)

    def forward(
        self, states: Float[Tensor, "b q d"], part: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "b q d"]:
        if self.before:
            added: Tensor = self.dropout(part(self.norm(states)))
            return states + added
        out: Tensor = self.norm(states + self.dropout(part(states)))
        return out


class Inner(nn.Module):
    """Two linear maps of each position by itself, a ReLU between them."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.widen = nn.Linear(shape.size, shape.inner)
        self.narrow = nn.Linear(shape.inner, shape.size)
        for layer in (self.widen, self.narrow):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, states: Float[Tensor, "b q d"]) -> Float[Tensor, "b q d"]:
        out: Tensor = self.narrow(self.widen(states).relu())
        return out


class EncoderLayer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = MultiHead(shape.size, shape.heads)
        self.inner = Inner(shape)
        self.around_attention, self.around_inner = Residual(shape), Residual(shape)

    def forward(self, states: Float[Tensor, "b k d"], mask: Mask, use: Use) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            out: Tensor = self.attention(x, self.attention.read(x), mask, use)
            return out

        out: Tensor = self.around_inner(self.around_attention(states, attend), self.inner)
        return out


class DecoderLayer(nn.Module):
    """Attends the target so far, then the source."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.own, self.cross = (MultiHead(shape.size, shape.heads) for _ in range(2))
        self.inner = Inner(shape)
        self.around_own, self.around_cross, self.around_inner = (Residual(shape) for _ in range(3))

    def forward(
        self,
        states: Float[Tensor, "b q d"],
        source: Read,
        masks: tuple[SiteMask, SiteMask],
        uses: tuple[Use, Use],
        before: Read | None = None,
    ) -> tuple[Float[Tensor, "b q d"], Read]:
        """`before` are keys and values of earlier target tokens, where steps are taken one at
        a time; what has been read by now is handed back."""
        reads: list[Read] = []

        def own(x: Tensor) -> Tensor:
            now = self.own.read(x)
            reads.append(before.and_then(now) if before else now)
            out: Tensor = self.own(x, reads[0], masks[0], uses[0])
            return out

        def cross(x: Tensor) -> Tensor:
            out: Tensor = self.cross(x, source, masks[1], uses[1])
            return out

        states = self.around_cross(self.around_own(states, own), cross)
        return self.around_inner(states, self.inner), reads[0]
