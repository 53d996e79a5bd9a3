"""The layers of the Transformer: multi-head attention with its weights in the open, and stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.models.attention.attention import masked_softmax
from heedful.models.family import edited
from heedful.types import Edits, Mask, SiteMask, SiteSpec

Use = Callable[[Float[Tensor, "b h q k"], Mask, Float[Tensor, "b h k d"]], Tensor]
"""Weights, mask and values to the weights that are used: where edits step in."""


@dataclass(frozen=True)
class Read:
    """Keys and values of what is attended, by head."""

    keys: Float[Tensor, "b h k d"]
    values: Float[Tensor, "b h k d"]

    def and_then(self, later: Read) -> Read:
        keys, values = torch.cat([self.keys, later.keys], 2), [self.values, later.values]
        return Read(keys, torch.cat(values, 2))

    def take(self, rows: Int[Tensor, " n"]) -> Read:
        return Read(self.keys[rows], self.values[rows])


class MultiHead(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(size, size) for _ in range(4))
        for layer in (self.query, self.key, self.value, self.out):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def read(self, states: Float[Tensor, "b k d"]) -> Read:
        return Read(self._split(self.key(states)), self._split(self.value(states)))

    def forward(
        self, states: Float[Tensor, "b q d"], read: Read, mask: Mask, use: Use
    ) -> Float[Tensor, "b q d"]:
        query = self._split(self.query(states))
        scores = query @ read.keys.transpose(-1, -2) / query.shape[-1] ** 0.5
        weights = use(masked_softmax(scores, mask.expand_as(scores)), mask, read.values)
        mixed = weights.to(read.values.dtype) @ read.values
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out

    @property
    def projection(self) -> Float[Tensor, "h d e"]:
        """The part of the output projection that each head's values go through."""
        weight = self.out.weight.detach()
        return weight.T.reshape(self.heads, -1, len(weight))

    def _split(self, states: Tensor) -> Tensor:
        return states.reshape(*states.shape[:-1], self.heads, -1).transpose(1, 2)


def sinusoids(first: int, count: int, like: Float[Tensor, "... d"]) -> Float[Tensor, "n d"]:
    """Positions `first` and on (no text is too long), as wide as `like`: sines in the even columns,
    cosines in the odd ones, wavelengths from 2π to 10000 · 2π (Vaswani et al. 2017)."""
    width = like.shape[-1]
    place = torch.arange(first, first + count, dtype=torch.float64, device=like.device)
    pair = torch.arange(0, width, 2, dtype=torch.float64, device=like.device)
    angle = place[:, None] / 10000 ** (pair / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).to(like.dtype)


class Record:
    """Where edits step in at the sites of one pass or, while writing, of one step, and what it
    leaves behind."""

    def __init__(self, ids: tuple[str, ...], edits: Edits, step: int = 0) -> None:
        self._ids, self._edits, self._step = ids, edits, step
        self.weights: dict[str, Tensor] = {}
        self.masks: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}
        self.states: dict[str, Tensor] = {}
        """What each layer was given, by the layer's name, and `memory`: what the encoder made."""

    def at(self, site: SiteSpec) -> Use:
        def use(weights: Tensor, mask: Tensor, values: Tensor) -> Tensor:
            weights = edited(site, weights, mask, self._ids, self._edits, self._step)
            self.weights[site.name], self.masks[site.name] = weights, mask
            self.values[site.name] = values
            return weights

        return use


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
    """x + part(norm(x)), or norm(x + part(x)): the norm before a part, or after it."""

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
        first: int = 0,
    ) -> Float[Tensor, "b k d"]:
        """From the layer `first` on, which is given the states."""
        for number, layer in list(enumerate(self.layers))[first:]:
            record.states[f"encoder.{number}"] = states
            states = layer(states, mask, record.at(self.sites[number]))
        out: Tensor = self.norm(states)
        record.states["memory"] = out
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

    def sources(self, memory: Float[Tensor, "b k d"], first: int = 0) -> dict[int, Read]:
        """What the cross-attention of each layer from the first on reads of the source; once for
        all steps."""
        layers = list(enumerate(self._stack))[first:]
        return {number: layer.cross.read(memory) for number, layer in layers}

    def forward(
        self,
        states: Float[Tensor, "b q d"],
        sources: Mapping[int, Read],
        masks: tuple[SiteMask, SiteMask],
        record: Record,
        before: Mapping[int, Read] | None = None,
    ) -> tuple[Float[Tensor, "b q d"], dict[int, Read]]:
        """Through the layers that have sources. `before` is what was read of earlier target tokens,
        where steps are taken one at a time; what has been read by now is handed on."""
        reads = {}
        for number, source in sources.items():
            record.states[f"decoder.{number}"] = states
            own, cross = self.sites[number]
            uses = (record.at(own), record.at(cross))
            past = before[number] if before else None
            states, reads[number] = self._stack[number](states, source, masks, uses, past)
        return self.norm(states), reads
