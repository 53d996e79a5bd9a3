"""The Transformer (Vaswani et al. 2017) as a generating family.

One table of embeddings serves both sides and, where widths agree, the output layer. In the
encoder all tokens attend all, start and end among them; cross-attention sees the source's own
tokens only, as in every other family; a target token attends itself and those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.entries import ModelFamily
from heedful.errors import HeedfulError, unknown_name
from heedful.models.family import visible
from heedful.models.generation import TargetWords, Writer, last_given, present
from heedful.models.transformer_layers import (
    DecoderStack,
    EncoderStack,
    MultiHead,
    Read,
    Record,
    Shape,
    sinusoids,
)
from heedful.specs import ModelSpec
from heedful.types import Batch, Edits, Embeddings, Keep, SiteSpec, Text, Trace


@dataclass(frozen=True)
class Writing:
    """Where a search stands: what is read of the sources and of the targets so far."""

    sources: Mapping[int, Read]
    before: Mapping[int, Read]
    mask: Bool[Tensor, "b k"]
    ids: tuple[str, ...]
    edits: Edits


class Transformer(Writer):
    def __init__(self, words: TargetWords, shape: Shape) -> None:
        super().__init__()
        self.words = words
        width = words.embedding.embedding_dim
        self.project = nn.Identity() if width == shape.size else nn.Linear(width, shape.size)
        self.encoder, self.decoder = EncoderStack(shape), DecoderStack(shape)
        self.dropout = nn.Dropout(shape.dropout)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return (*self.encoder.sites, *(site for pair in self.decoder.sites for site in pair))

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return {"a": self.words.embedding, "b": self.words.embedding}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        embedded = self.embedded(batch, keep, embeddings)
        record = Record(batch.ids, edits or {})
        a = self._placed(embedded["a"])
        memory = self.encoder(a, _among(batch.texts["a"]), record)
        b = self._placed(embedded["b"])
        out, _ = self.decoder(b, self.decoder.sources(memory), _masks(batch), record)
        trace = self._trace(batch, out, record, keep)
        return replace(trace, embeddings=embedded if keep.embeddings else {})

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

    def _projections(self) -> dict[str, Tensor]:
        """The output projection of every site, by head: attentions come in the order of sites."""
        joined = [each.projection for each in self.modules() if isinstance(each, MultiHead)]
        return {site.name: each for site, each in zip(self.sites, joined, strict=True)}

    def _first(self, edits: Edits) -> tuple[str, int]:
        """The stack and the layer of the first edited site; the last layer without any."""
        names = [site.name for site in self.sites if site.name in edits]
        part, number = (names or [self.sites[-1].name])[0].split(".")[:2]
        return part, int(number)

    def _trace(self, batch: Batch, out: Tensor, record: Record, keep: Keep) -> Trace:
        text, last = batch.texts["b"], self.sites[-1].name
        logits = self.words.logits(out)
        rows = torch.arange(len(batch), device=logits.device)
        return Trace(
            logits=logits[rows, text.lengths - 1],
            step_logits=logits,
            weights=record.weights,
            masks=record.masks,
            states=record.states if keep.states else {},
            values=record.values if keep.values else {},
            projections=self._projections() if keep.values else {},
            readout_weights={last: last_given(text, logits.dtype)} if keep.readout_weights else {},
        )


def _among(text: Text) -> Tensor:
    """In the encoder everything attends everything that is there and not hidden."""
    there = present(text)
    keys = there if text.hidden is None else there & ~text.hidden
    return (there[:, :, None] & keys[:, None])[:, None]


def _masks(batch: Batch) -> tuple[Tensor, Tensor]:
    """For the target's own attention and for the source's."""
    text = batch.texts["b"]
    there = present(text)
    size = there.shape[1]
    earlier = torch.ones(size, size, dtype=torch.bool, device=there.device).tril()
    return _among(text) & earlier, (there[:, :, None] & visible(batch.texts["a"])[:, None])[:, None]


SIZES = {"paper": (512, 8, 6), "code": (256, 4, 3)}  # width, heads, layers
NORMS = ("prenorm", "postnorm")


def transformer(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> Transformer:
    """`layers` of 1, the spec's default, leaves their number to `sizes`."""
    width, heads, layers = SIZES[spec.sizes]
    size = spec.hidden or width
    layers = spec.layers if spec.layers > 1 else layers
    shape = Shape(size, heads, layers, 4 * size, spec.encoder == "prenorm", spec.dropout)
    return Transformer(TargetWords(vectors, size, spec.train_embedding), shape)


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


ENTRY = ModelFamily(
    name="transformer",
    description="Transformer encoder and decoder, every attention a site",
    make=transformer,
    kind="generation",
    paper="vashishth2019",
    citation="Vaswani et al. 2017",
)
