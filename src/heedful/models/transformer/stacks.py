"""The two stacks of layers, each of which can begin at any layer."""

from __future__ import annotations

from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from heedful.models.transformer.attention import Read
from heedful.models.transformer.layers import DecoderLayer, EncoderLayer, Shape
from heedful.models.transformer.record import Record
from heedful.types import Mask, SiteMask, SiteSpec

States = dict[str, Tensor]
"""What each layer was given, under the layer's name, and `memory`: what the encoder made."""


class EncoderStack(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.size) if shape.before else nn.Identity()
        self.sites = tuple(
            SiteSpec(f"encoder.{n}", "a", "tokens", linear=False, main=False)
            for n in range(shape.layers)
        )

    def forward(
        self,
        states: Float[Tensor, "b k d"],
        mask: Mask,
        record: Record,
        kept: States,
        first: int = 0,
    ) -> Float[Tensor, "b k d"]:
        """From the layer `first` on, which is given the states."""
        for number, layer in list(enumerate(self.layers))[first:]:
            kept[f"encoder.{number}"] = states
            states = layer(states, mask, record.at(self.sites[number]))
        out: Tensor = self.norm(states)
        return out


class DecoderStack(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.size) if shape.before else nn.Identity()
        self.sites = tuple(
            (
                SiteSpec(f"decoder.{n}.self", "b", "tokens", linear=False, main=False),
                SiteSpec(f"decoder.{n}.cross", "a", "tokens", False, n == shape.layers - 1),
            )
            for n in range(shape.layers)
        )

    @property
    def _stack(self) -> list[DecoderLayer]:
        return cast("list[DecoderLayer]", list(self.layers))

    def forward(
        self,
        states: Float[Tensor, "b q d"],
        memory: Float[Tensor, "b k d"],
        masks: tuple[SiteMask, SiteMask],
        record: Record,
        kept: States,
        first: int = 0,
    ) -> Float[Tensor, "b q d"]:
        for number, layer in list(enumerate(self._stack))[first:]:
            kept[f"decoder.{number}"] = states
            own, cross = self.sites[number]
            uses = (record.at(own), record.at(cross))
            states, _ = layer(states, layer.cross.read(memory), masks, uses)
        out: Tensor = self.norm(states)
        return out

    def sources(self, memory: Float[Tensor, "b k d"]) -> tuple[Read, ...]:
        """What every layer's cross-attention reads of the source; once for all steps."""
        return tuple(layer.cross.read(memory) for layer in self._stack)

    def step(
        self,
        states: Float[Tensor, "b 1 d"],
        sources: tuple[Read, ...],
        before: tuple[Read, ...],
        masks: tuple[SiteMask, SiteMask],
        record: Record,
    ) -> tuple[Float[Tensor, "b 1 d"], tuple[Read, ...]]:
        """One token more; what was read of those before is handed on."""
        reads = []
        for number, layer in enumerate(self._stack):
            own, cross = self.sites[number]
            uses = (record.at(own), record.at(cross))
            past = before[number] if before else None
            states, read = layer(states, sources[number], masks, uses, past)
            reads.append(read)
        return self.norm(states), tuple(reads)
