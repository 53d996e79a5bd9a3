"""Recurrent encoder and decoder with attention (vashishth2019: Bahdanau's and Luong's).

The encoder is a bidirectional LSTM, half of `hidden` in each direction, so that its states
are as wide as the decoder's. Source tokens are attended, start and end are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.models.encoders.encoder import Encoder, Encoding
from heedful.models.generation.sides import embedded_sides, last_given
from heedful.models.generation.target import TargetWords
from heedful.models.generation.writer import Writer
from heedful.models.masked_softmax import masked_softmax
from heedful.models.one_sequence import visible
from heedful.models.rerun_without import without_each
from heedful.models.seq2seq.decoder import Decoder, Memory, Source
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, SiteCall, SiteSpec, Trace

SITE = SiteSpec(name="attention", keys="a", level="tokens", linear=False)


@dataclass(frozen=True)
class Writing:
    """Where a search stands: the sources, and what was made of the targets so far."""

    source: Source
    mask: Bool[Tensor, "b k"]
    memory: Memory
    ids: tuple[str, ...]
    edits: Edits


class Seq2Seq(Writer):
    def __init__(
        self,
        embedding: nn.Embedding,
        target: TargetWords,
        encoder: Encoder,
        decoder: Decoder,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.target = target
        self.encoder: Encoder = encoder
        self.decoder: Decoder = decoder
        self.dropout = nn.Dropout(dropout)

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return (SITE,)

    def embed(self, batch: Batch) -> Embeddings:
        own = {"a": self.embedding, "b": self.target.embedding}
        return {side: own[side](text.tokens).detach() for side, text in batch.texts.items()}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        tables = {"a": self.embedding, "b": self.target.embedding}
        embedded = embedded_sides(tables, batch, keep, embeddings)
        states = self._encode(embedded["a"], batch.texts["a"].lengths)
        trace = self._write(batch, states, embedded["b"], edits or {}, keep)
        return replace(trace, embeddings=embedded if keep.embeddings else {})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the encoder's states on: all steps are written again, since an edit may change
        every one."""
        embedded = trace.embeddings.get("b")
        if embedded is None:
            embedded = self.target.embedding(batch.texts["b"].tokens)
        return self._write(batch, trace.states[SITE.name], embedded, edits, Keep(states=True))

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return without_each(lambda some: self(some).logits, batch)

    def start(self, batch: Batch, edits: Edits | None = None) -> Writing:
        text = batch.texts["a"]
        states = self._encode(self.embedding(text.tokens), text.lengths)
        memory = self.decoder.begin(_summary(states, text.lengths))
        source = self.decoder.source(states)
        return Writing(source, visible(text), memory, batch.ids, edits or {})

    def step(
        self, state: Writing, tokens: Int[Tensor, " b"], t: int
    ) -> tuple[Float[Tensor, "b c"], Writing]:
        embedded = self.dropout(self.target.embedding(tokens))
        attend = _Attention(state.mask, state.ids, state.edits, t)
        out, memory = self.decoder(
            state.source, state.memory, embedded, self.decoder.cells.read(embedded), attend
        )
        return self.target.logits(self.dropout(out)), replace(state, memory=memory)

    def reorder(self, state: Writing, rows: Int[Tensor, " n"]) -> Writing:
        return Writing(
            Source(state.source.states[rows], state.source.keys[rows]),
            state.mask[rows],
            Memory(state.memory.cells[rows], state.memory.fed[rows]),
            tuple(state.ids[row] for row in rows.tolist()),
            state.edits,
        )

    def _encode(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        encoding: Encoding = self.encoder(self.dropout(embedded), lengths)
        return encoding.states

    def _write(
        self, batch: Batch, states: Tensor, embedded: Tensor, edits: Edits, keep: Keep
    ) -> Trace:
        """All steps of the given targets, one after the other."""
        text, mask = batch.texts["b"], visible(batch.texts["a"])
        embedded = self.dropout(embedded)
        source, read = self.decoder.source(states), self.decoder.cells.read(embedded)
        memory = self.decoder.begin(_summary(states, batch.texts["a"].lengths))
        outs: list[Tensor] = []
        steps: list[_Attention] = []
        for t in range(text.tokens.shape[1]):
            attend = _Attention(mask & (text.lengths > t)[:, None], batch.ids, edits, t)
            out, memory = self.decoder(source, memory, embedded[:, t], read[:, t], attend)
            outs.append(out)
            steps.append(attend)
        return self._trace(batch, states, torch.stack(outs, 1), steps, keep)

    def _trace(
        self, batch: Batch, states: Tensor, outs: Tensor, steps: list[_Attention], keep: Keep
    ) -> Trace:
        text = batch.texts["b"]
        logits = self.target.logits(self.dropout(outs))
        rows = torch.arange(len(batch), device=logits.device)
        masks = torch.stack([step.mask for step in steps], 1)[:, None]
        return Trace(
            logits=logits[rows, text.lengths - 1],
            step_logits=logits,
            weights={SITE.name: torch.cat([step.used for step in steps], 2)},
            masks={SITE.name: masks},
            states={SITE.name: states} if keep.states else {},
            values={SITE.name: states[:, None]} if keep.values else {},
            readers={SITE.name: last_given(text, logits.dtype)} if keep.readers else {},
        )


class _Attention:
    """The site at one step: softmax, then the edit; the weights that were used stay here."""

    used: Tensor

    def __init__(self, mask: Tensor, ids: tuple[str, ...], edits: Edits, t: int) -> None:
        self.mask, self._ids, self._edits, self._t = mask, ids, edits, t

    def __call__(self, scores: Tensor) -> Tensor:
        weights = masked_softmax(scores, self.mask)[:, None, None]
        if SITE.name in self._edits:
            call = SiteCall(SITE, weights, self.mask[:, None, None], self._ids, self._t)
            weights = self._edits[SITE.name](call)
        self.used = weights
        return weights[:, 0, 0]


def _summary(states: Tensor, lengths: Tensor) -> Tensor:
    """Where each direction of the encoder ended: the last token, and the first."""
    half = states.shape[-1] // 2
    rows = torch.arange(len(states), device=states.device)
    return torch.cat([states[rows, lengths - 1, :half], states[:, 0, half:]], -1)
