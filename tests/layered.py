"""A tiny model of several layers and heads, written out: the contract's other family.

Start and end tokens are attended like any other but belong to no word. The prediction is
read from the first position, the last one, or the mean of all. `decoder=True` adds a second
stack, as long as the text, that attends to itself and then to the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from heedful.models import Family, masked_softmax
from heedful.types import (
    Batch,
    Edits,
    Embeddings,
    Keep,
    SiteCall,
    SiteSpec,
    Text,
    Trace,
)
from tiny import WORDS, tiny_batch


@dataclass
class Left:
    """What the sites of one pass leave."""

    weights: dict[str, Tensor] = field(default_factory=dict)
    masks: dict[str, Tensor] = field(default_factory=dict)
    values: dict[str, Tensor] = field(default_factory=dict)


class Layered(Family):
    sites: tuple[SiteSpec, ...] = ()
    fillers: Mapping[str, int] = {"unk": 1}

    def __init__(
        self,
        layers: int = 2,
        heads: int = 2,
        size: int = 6,
        classes: int = 3,
        read: str = "first",
        decoder: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int, scale: float = 1.0) -> nn.Parameter:
            return nn.Parameter(scale * torch.randn(*shape, generator=generator).double())

        self.layers, self.heads, self.read, self.decoder = layers, heads, read, decoder
        self.words, self.places = drawn(WORDS, size), drawn(64, size, scale=0.5)
        names = [f"layer{i}" for i in range(layers)]
        names += ["decoder", "cross"] if decoder else []
        self.maps = nn.ParameterDict(
            {f"{name}_{kind}": drawn(size, size, scale=0.6) for name in names for kind in "qkvo"}
        )
        self.start = drawn(1, size)
        self.out = drawn(size, classes)
        self.sites = tuple(
            SiteSpec(name, "decoder" if name == "decoder" else "a", "tokens", False)
            for name in names
        )

    def embed(self, batch: Batch) -> Embeddings:
        return {"a": self.words[batch.texts["a"].tokens].detach()}

    def embedded(self, batch: Batch, keep: Keep, given: Embeddings | None) -> dict[str, Tensor]:
        return dict(given or {"a": self.words[batch.texts["a"].tokens]})

    def run(self, batch: Batch, embedded: Embeddings, edits: Edits, keep: Keep) -> Trace:
        text, left = batch.texts["a"], Left()
        states = embedded["a"] + self.places[: text.tokens.shape[1]]
        seen, readers = self._seen(text), self._readers(text)
        for site in self.sites[: self.layers]:
            states = self._layer(site, states, states, seen, batch, edits, left)
        read_at = [site.name for site in self.sites]
        if self.decoder:
            own = (self.start + self.places[: states.shape[1]]).expand_as(states)
            own = self._layer(self.sites[-2], own, own, seen, batch, edits, left)
            states = self._layer(self.sites[-1], own, states, seen, batch, edits, left)
            read_at = ["decoder", "cross"]
        return Trace(
            logits=torch.tanh(torch.einsum("bq,bqd->bd", readers, states)) @ self.out,
            weights=left.weights,
            masks=left.masks,
            values=left.values if keep.values else {},
            projections={site.name: self._joined(site) for site in self.sites},
            readout_weights=dict.fromkeys(read_at, readers) if keep.readout_weights else {},
        )

    def _layer(
        self,
        site: SiteSpec,
        states: Tensor,
        attended: Tensor,
        mask: Tensor,
        batch: Batch,
        edits: Edits,
        left: Left,
    ) -> Tensor:
        q, k, v = (
            self._split(x @ self.maps[f"{site.name}_{kind}"])
            for x, kind in ((states, "q"), (attended, "k"), (attended, "v"))
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        weights = masked_softmax(scores, mask.expand_as(scores))
        if site.name in edits:
            weights = edits[site.name](SiteCall(site, weights, mask, batch.ids))
        left.weights[site.name], left.masks[site.name], left.values[site.name] = weights, mask, v
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2)
        return torch.tanh(states + mixed @ self.maps[f"{site.name}_o"])

    def _joined(self, site: SiteSpec) -> Tensor:
        """The output projection by head."""
        return self.maps[f"{site.name}_o"].detach().unflatten(0, (self.heads, -1))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _seen(self, text: Text) -> Tensor:
        place = torch.arange(text.tokens.shape[1])
        seen = place < text.lengths[:, None]
        seen = (seen if text.hidden is None else seen & ~text.hidden)[:, None, None]
        return seen & (place <= place[:, None]) if self.read == "last" else seen

    def _readers(self, text: Text) -> Tensor:
        place = torch.arange(text.tokens.shape[1])
        lengths = text.lengths[:, None]
        chosen = {"first": place == 0, "last": place == lengths - 1, "mean": place < lengths}
        rows = chosen[self.read].expand(len(lengths), -1).double()
        return rows / rows.sum(-1, keepdim=True)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self(batch, edits)


def layered_batch(lengths: tuple[int, ...], seed: int = 0, pad: int = 0) -> Batch:
    """Each two neighbouring tokens make a word, the last may stand alone."""
    batch = tiny_batch(lengths, seed, pad, 3)
    text = batch.texts["a"]
    words = ((text.mask.long().cumsum(-1) - 1) // 2).masked_fill(~text.mask, -1)
    return replace(batch, texts={"a": replace(text, words=words)})
