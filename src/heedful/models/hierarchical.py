"""Words make sentences, sentences make the text: attention at both levels (Yang et al. 2016).

Start and end tokens are not read: a sentence holds the text's own tokens. A text whose
sentences are not known is one sentence. The last attention is the one over sentences, and
what follows it is linear; the weights of a text's words are those within each sentence times
the sentence's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.models.attention.attention import Attention
from heedful.models.family import Family
from heedful.models.level import Level, make_level
from heedful.models.one_sequence import visible
from heedful.models.parts import check_parts, embedded, make_embedding, outputs
from heedful.models.rerun_without import without_each
from heedful.models.sentence_rows import sentence_rows
from heedful.specs import ModelSpec
from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    SiteCall,
    SiteSpec,
    TokenLogits,
    Trace,
)

WORDS = SiteSpec(name="words", keys="a", level="tokens", linear=False, main=False)
SENTENCES = SiteSpec(name="sentences", keys="a", level="sentences", linear=True)


class Hierarchical(Family):
    """embedding → words → sentence vectors → sentences → linear decoder."""

    def __init__(
        self,
        embedding: nn.Embedding,
        words: Level,
        sentences: Level,
        decoder: nn.Linear,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding
        self.words = words
        self.sentences = sentences
        self.decoder = decoder

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        levels = ((WORDS, self.words), (SENTENCES, self.sentences))
        return tuple(replace(site, normalised=own.attention.normalised) for site, own in levels)

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return {WORDS.name: self.words.attention, SENTENCES.name: self.sentences.attention}

    def embed(self, batch: Batch) -> Embeddings:
        return {"a": self.embedding(batch.texts["a"].tokens).detach()}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        text = batch.texts["a"]
        given = embeddings["a"] if embeddings else None
        x = embedded(self.embedding, text.tokens, given, keep)
        rows = sentence_rows(text)
        states = rows.join(self.words.encode(rows.split(self.dropout(x)), rows.lengths))
        trace = self._from_words(batch, states, edits or {}, keep)
        return replace(trace, embeddings={"a": x} if keep.embeddings else {})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the states of the first level that is edited; no earlier encoder runs again."""
        keep = Keep(True, token_logits=bool(trace.token_logits), readers=bool(trace.readers))
        if WORDS.name in edits:
            return self._from_words(batch, trace.states[WORDS.name], edits, keep)
        return self._from_sentences(batch, trace.states[SENTENCES.name], edits, keep, trace)

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return without_each(lambda some: self(some).logits, batch)

    def _from_words(self, batch: Batch, states: Tensor, edits: Edits, keep: Keep) -> Trace:
        text = batch.texts["a"]
        rows = sentence_rows(text)
        mask = (rows.member & visible(text)[:, None])[:, None]
        weights = self._edited(0, self.words.weights(states, mask), mask, batch, edits)
        vectors = torch.einsum("bst,btd->bsd", weights[:, 0].to(states.dtype), states)
        before = Trace(
            logits=states.new_empty(len(batch), 0),
            weights={WORDS.name: weights},
            masks={WORDS.name: mask},
            states={WORDS.name: states} if keep.states else {},
            values={WORDS.name: states[:, None]} if keep.values else {},
        )
        above = self.sentences.encode(vectors, rows.counts)
        return self._from_sentences(batch, above, edits, keep, before)

    def _from_sentences(
        self, batch: Batch, states: Tensor, edits: Edits, keep: Keep, before: Trace
    ) -> Trace:
        """Adds what is above the words to what `before` has of them."""
        mask = before.masks[WORDS.name].any(-1)[:, :, None]
        weights = self._edited(1, self.sentences.weights(states, mask), mask, batch, edits)
        context = torch.einsum("bs,bsd->bd", weights[:, 0, 0].to(states.dtype), states)
        name, row = SENTENCES.name, weights[:, 0, 0]
        readers = {WORDS.name: self._shares(row), name: row.new_ones(len(batch), 1)}
        return Trace(
            logits=self.decoder(self.dropout(context)),
            weights={WORDS.name: before.weights[WORDS.name], name: weights},
            masks={WORDS.name: before.masks[WORDS.name], name: mask},
            states={**before.states, name: states} if keep.states else {},
            token_logits={name: self._linear(states)} if keep.token_logits else {},
            values={**before.values, name: states[:, None]} if keep.values else {},
            readers=readers if keep.readers else {},
        )

    def _shares(self, row: Float[Tensor, "b s"]) -> Float[Tensor, "b s"]:
        """How much each sentence counts; gates are brought to a sum of 1."""
        if self.sentences.attention.normalised:
            return row
        total = row.sum(-1, keepdim=True)
        return row / torch.where(total > 0, total, 1.0)

    def _edited(
        self, number: int, weights: Tensor, mask: Tensor, batch: Batch, edits: Edits
    ) -> Tensor:
        site = self.sites[number]
        if site.name not in edits:
            return weights
        return edits[site.name](SiteCall(site, weights, mask, batch.ids))

    def _linear(self, states: Tensor) -> TokenLogits:
        # a copy: the parameter itself would bring gradients into a trace made without them
        values = nn.functional.linear(states, self.decoder.weight)
        return TokenLogits(values, self.decoder.bias.clone())


def hierarchical(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> Hierarchical:
    words = make_level(spec, vectors.shape[1])
    sentences = make_level(spec, words.encoder.size)
    return Hierarchical(
        make_embedding(vectors, spec.train_embedding),
        words,
        sentences,
        nn.Linear(sentences.encoder.size, outputs(classes)),
        spec.dropout,
    )


def check(spec: ModelSpec) -> None:
    check_parts(spec)


PIECE = Piece(
    name="hierarchical",
    description="attention over the words of each sentence, then over sentences; linear decoder",
    make=hierarchical,
    paper="serrano2019",
    citation="Yang et al. 2016",
)
