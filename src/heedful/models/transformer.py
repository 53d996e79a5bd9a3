"""The Transformer (Vaswani et al. 2017) as a generating family.

One table of embeddings serves both sides and, where widths agree, the output layer. In the
encoder all tokens attend all, start and end among them; cross-attention sees the source's own
tokens only, as in every other family; a target token attends itself and those before it. The
layers come first: multi-head attention with its weights in the open, and stacks of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.entries import Entries, ModelFamily
from heedful.errors import HeedfulError, unknown_name
from heedful.models.attention import masked_softmax
from heedful.models.family import edited, requested, visible
from heedful.models.generation import TargetWords, Writer, target_trace
from heedful.specs import ModelSpec
from heedful.types import (
    Batch,
    Edits,
    Keep,
    Mask,
    OutputEdit,
    SiteCall,
    SiteMask,
    SiteSpec,
    Text,
    Trace,
)
from heedful.words import present

ENTRIES = Entries(ModelFamily)

Use = Callable[[Float[Tensor, "b h q k"], Mask, Float[Tensor, "b h k d"]], Tensor]
"""Weights, mask and values to what each head puts out: where edits step in."""


@dataclass(frozen=True)
class Read:
    """Keys and values of what is attended, by head."""

    keys: Float[Tensor, "b h k d"]
    values: Float[Tensor, "b h k d"]

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
        mixed = use(masked_softmax(scores, mask.expand_as(scores)), mask, read.values)
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
            edit = self._edits.get(site.name)
            of_weights = {} if isinstance(edit, OutputEdit) else self._edits
            weights = edited(site, weights, mask, self._ids, of_weights, self._step)
            self.weights[site.name], self.masks[site.name] = weights, mask
            self.values[site.name] = values
            mixed = weights.to(values.dtype) @ values
            if not isinstance(edit, OutputEdit):
                return mixed
            return edit.applied(SiteCall(site, weights, mask, self._ids, self._step), mixed)

        return use


@dataclass(frozen=True)
class Shape:
    """Sizes of a model."""

    size: int
    heads: int
    layers: int
    inner: int
    before: bool
    dropout: float


class AroundNorm(nn.Module):
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
        self.around_attention, self.around_inner = AroundNorm(shape), AroundNorm(shape)

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
        self.around_own, self.around_cross, self.around_inner = (
            AroundNorm(shape) for _ in range(3)
        )

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
            if before:
                keys = torch.cat([before.keys, now.keys], 2)
                now = Read(keys, torch.cat([before.values, now.values], 2))
            reads.append(now)
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
            SiteSpec(f"encoder.{n}", "a", "tokens", linear=False, main=False, queries="a")
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
        self.layers: list[DecoderLayer] = nn.ModuleList(  # type: ignore[assignment]
            DecoderLayer(shape) for _ in range(shape.layers)
        )
        self.norm = nn.LayerNorm(shape.size) if shape.before else nn.Identity()
        self.sites = tuple(
            (
                SiteSpec(f"decoder.{n}.self", "b", "tokens", False, main=False, queries="b"),
                SiteSpec(
                    f"decoder.{n}.cross", "a", "tokens", False, n == shape.layers - 1, queries="b"
                ),
            )
            for n in range(shape.layers)
        )

    def sources(self, memory: Float[Tensor, "b k d"], first: int = 0) -> dict[int, Read]:
        """What the cross-attention of each layer from the first on reads of the source; once for
        all steps."""
        layers = list(enumerate(self.layers))[first:]
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
            states, reads[number] = self.layers[number](states, source, masks, uses, past)
        return self.norm(states), reads


@dataclass(frozen=True)
class Writing:
    """Where a search stands: what is read of the sources and of the targets so far."""

    sources: Mapping[int, Read]
    before: Mapping[int, Read]
    mask: Bool[Tensor, "b k"]
    ids: tuple[str, ...]
    edits: Edits


@ENTRIES.entry(
    "Transformer encoder and decoder, every attention a site",
    name="transformer",
    kind="generation",
    paper="vashishth2019",
    citation="Vaswani et al. 2017",
)
class Transformer(Writer):
    """Encoder and decoder, every attention a site; the last cross-attention is the main one."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> None:
        """`layers` of 1, the spec's default, leaves their number to `sizes`."""
        super().__init__()
        usual, heads, layers = SIZES[spec.sizes]
        size, width = spec.hidden or usual, vectors.shape[1]
        layers = spec.layers if spec.layers > 1 else layers
        shape = Shape(size, heads, layers, 4 * size, spec.encoder == "prenorm", spec.dropout)
        self.words = TargetWords(vectors, size, spec.train_embedding)
        self.project = nn.Identity() if width == size else nn.Linear(width, size)
        self.encoder, self.decoder = EncoderStack(shape), DecoderStack(shape)
        self.dropout = nn.Dropout(spec.dropout)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return (*self.encoder.sites, *(site for pair in self.decoder.sites for site in pair))

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return {"a": self.words.embedding, "b": self.words.embedding}

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        record = Record(batch.ids, edits)
        a = self._placed(embedded["a"])
        memory = self.encoder(a, _among(batch.texts["a"]), record)
        b = self._placed(embedded["b"])
        out, _ = self.decoder(b, self.decoder.sources(memory), _masks(batch), record)
        return self._trace(batch, out, record, keep)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the layer of the first edited site on, with what it was given before."""
        record = Record(batch.ids, edits)
        record.states.update(trace.states)
        record.weights.update(trace.weights)
        record.masks.update(trace.masks)
        part, number = self._first(edits)
        memory = trace.states["memory"]
        if part == "encoder":
            given = trace.states[f"encoder.{number}"]
            memory = self.encoder(given, _among(batch.texts["a"]), record, number)
            number = 0
        sources = self.decoder.sources(memory, number)
        out, _ = self.decoder(trace.states[f"decoder.{number}"], sources, _masks(batch), record)
        return self._trace(batch, out, record, Keep(states=True))

    def start(self, batch: Batch, edits: Edits | None = None) -> Writing:
        text = batch.texts["a"]
        a = self._placed(self.words.embedding(text.tokens))
        memory = self.encoder(a, _among(text), Record(batch.ids, edits or {}))
        return Writing(self.decoder.sources(memory), {}, visible(text), batch.ids, edits or {})

    def step(
        self, state: Writing, tokens: Int[Tensor, " b"], t: int
    ) -> tuple[Float[Tensor, "b c"], Writing]:
        b = self._placed(self.words.embedding(tokens)[:, None], t)
        own = torch.ones(len(tokens), 1, 1, t + 1, dtype=torch.bool, device=tokens.device)
        masks = (own, state.mask[:, None, None])
        record = Record(state.ids, state.edits, t)
        out, before = self.decoder(b, state.sources, masks, record, state.before)
        return self.words.logits(out[:, 0]), replace(state, before=before)

    def reorder(self, state: Writing, rows: Int[Tensor, " n"]) -> Writing:
        return Writing(
            {number: read.take(rows) for number, read in state.sources.items()},
            {number: read.take(rows) for number, read in state.before.items()},
            state.mask[rows],
            tuple(state.ids[row] for row in rows.tolist()),
            state.edits,
        )

    def _placed(self, embedded: Tensor, first: int = 0) -> Tensor:
        """Embeddings at a length that positions do not drown, and the positions."""
        states = self.project(embedded * embedded.shape[-1] ** 0.5)
        out: Tensor = self.dropout(states + sinusoids(first, states.shape[1], states))
        return out

    def _first(self, edits: Edits) -> tuple[str, int]:
        """The stack and the layer of the first edited site; the last layer without any."""
        names = [site.name for site in self.sites if site.name in edits]
        part, number = (names or [self.sites[-1].name])[0].split(".")[:2]
        return part, int(number)

    def _trace(self, batch: Batch, out: Tensor, record: Record, keep: Keep) -> Trace:
        # attentions come in the order of sites
        heads = [part for part in self.modules() if isinstance(part, MultiHead)]
        joined = {site.name: part.projection for site, part in zip(self.sites, heads, strict=True)}
        return target_trace(
            batch,
            self.words.logits(out),
            self.sites[-1],
            keep,
            weights=record.weights,
            masks=record.masks,
            projections=joined if keep.values else {},
            **requested(keep, states=record.states, values=record.values),
        )


def _among(text: Text) -> Tensor:
    """In the encoder everything attends everything that is there and not hidden."""
    there = present(text)
    keys = there if text.hidden is None else there & ~text.hidden
    return (there[:, :, None] & keys[:, None])[:, None]


def _masks(batch: Batch) -> tuple[Tensor, Tensor]:
    """For the target's own attention and for the source's."""
    text = batch.texts["b"]
    size = text.tokens.shape[1]
    earlier = torch.ones(size, size, dtype=torch.bool, device=text.tokens.device).tril()
    cross = present(text)[:, :, None] & visible(batch.texts["a"])[:, None]
    return _among(text) & earlier, cross[:, None]


SIZES = {"paper": (512, 8, 6), "code": (256, 4, 3)}  # width, heads, layers
NORMS = ("prenorm", "postnorm")


def check(spec: ModelSpec) -> None:
    if spec.encoder not in NORMS:
        raise unknown_name("encoder of the family transformer", spec.encoder, list(NORMS))
    if spec.attention != "dot":
        raise unknown_name("attention of the family transformer", spec.attention, ["dot"])
    if spec.decoder:
        raise HeedfulError("the family transformer has one decoder: leave --decoder out.")
    if not 1 <= spec.layers <= 12:
        raise HeedfulError(f"--layers is {spec.layers}: the family transformer has up to 12.")
    if spec.sizes in SIZES and (spec.hidden or 0) % SIZES[spec.sizes][1]:
        raise HeedfulError(
            f"--hidden is {spec.hidden}: give a multiple of the {SIZES[spec.sizes][1]} heads."
        )
