"""Words make sentences, sentences make the text: attention at both levels (Yang et al. 2016).

Start and end tokens are not read: a sentence holds the text's own tokens. A text whose
sentences are not known is one sentence. The last attention is the one over sentences, and
what follows it is linear; the weights of a text's words are those within each sentence times
the sentence's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.entries import Entries, ModelFamily
from heedful.models.attention import Attention, TokenAttention
from heedful.models.build import check_parts, make_attention, make_embedding, make_encoder, outputs
from heedful.models.encoders import Encoder, Encoding
from heedful.models.family import (
    Family,
    edited,
    keep_again,
    linear_token_logits,
    requested,
    visible,
)
from heedful.specs import ModelSpec
from heedful.types import Batch, Edits, Keep, Mask, SiteSpec, Text, Trace

ENTRIES = Entries(ModelFamily)

WORDS = SiteSpec(name="words", keys="a", level="tokens", linear=False, main=False)
SENTENCES = SiteSpec(name="sentences", keys="a", level="sentences", linear=True)


class Level(nn.Module):
    """An encoder and the attention over its states."""

    def __init__(self, spec: ModelSpec, width: int) -> None:
        super().__init__()
        self.encoder: Encoder = make_encoder(spec, width)
        self.attention: TokenAttention = make_attention(spec, self.encoder.size)

    def encode(
        self, x: Float[Tensor, "n l e"], lengths: Int[Tensor, " n"]
    ) -> Float[Tensor, "n l d"]:
        encoding: Encoding = self.encoder(x, lengths)
        return encoding.states

    def weights(self, states: Float[Tensor, "b k d"], mask: Mask) -> Float[Tensor, "b 1 q k"]:
        """A row for each query of the mask; all see the same scores."""
        scores: Tensor = self.attention(states)
        return self.attention.weights(scores[:, None, None].expand(mask.shape), mask)


@ENTRIES.entry(
    "attention over the words of each sentence, then over sentences; linear decoder",
    name="hierarchical",
    paper="serrano2019",
    citation="Yang et al. 2016",
)
class Hierarchical(Family):
    """embedding → words → sentence vectors → sentences → linear decoder."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(spec.dropout)
        self.embedding = make_embedding(vectors, spec.train_embedding)
        self.words = Level(spec, vectors.shape[1])
        self.sentences = Level(spec, self.words.encoder.size)
        self.decoder = nn.Linear(self.sentences.encoder.size, outputs(classes))

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        levels = ((WORDS, self.words), (SENTENCES, self.sentences))
        return tuple(replace(site, normalised=own.attention.normalised) for site, own in levels)

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return {WORDS.name: self.words.attention, SENTENCES.name: self.sentences.attention}

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return {"a": self.embedding}

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        rows = sentence_rows(batch.texts["a"])
        x = rows.split(self.dropout(embedded["a"]))
        states = rows.join(self.words.encode(x, rows.lengths))
        return self._from_words(batch, states, edits, keep)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the states of the first level that is edited; no earlier encoder runs again."""
        keep = keep_again(trace)
        if WORDS.name in edits:
            return self._from_words(batch, trace.states[WORDS.name], edits, keep)
        return self._from_sentences(batch, trace.states[SENTENCES.name], edits, keep, trace)

    def _from_words(self, batch: Batch, states: Tensor, edits: Edits, keep: Keep) -> Trace:
        text = batch.texts["a"]
        rows = sentence_rows(text)
        mask = (rows.member & visible(text)[:, None])[:, None]
        own = self.words.weights(states, mask)
        weights = edited(self.sites[0], own, mask, batch.ids, edits)
        vectors = torch.einsum("bst,btd->bsd", weights[:, 0].to(states.dtype), states)
        before = Trace(
            logits=states.new_empty(len(batch), 0),
            weights={WORDS.name: weights},
            masks={WORDS.name: mask},
            **requested(keep, states={WORDS.name: states}, values={WORDS.name: states[:, None]}),
        )
        above = self.sentences.encode(vectors, rows.counts)
        return self._from_sentences(batch, above, edits, keep, before)

    def _from_sentences(
        self, batch: Batch, states: Tensor, edits: Edits, keep: Keep, before: Trace
    ) -> Trace:
        """Adds what is above the words to what `before` has of them."""
        mask = before.masks[WORDS.name].any(-1)[:, :, None]
        own = self.sentences.weights(states, mask)
        weights = edited(self.sites[1], own, mask, batch.ids, edits)
        context = torch.einsum("bs,bsd->bd", weights[:, 0, 0].to(states.dtype), states)
        name, row = SENTENCES.name, weights[:, 0, 0]
        token_logits = linear_token_logits(self.decoder, states) if keep.token_logits else None
        return Trace(
            logits=self.decoder(self.dropout(context)),
            weights={WORDS.name: before.weights[WORDS.name], name: weights},
            masks={WORDS.name: before.masks[WORDS.name], name: mask},
            **requested(
                keep,
                states={**before.states, name: states},
                values={**before.values, name: states[:, None]},
                token_logits={name: token_logits},
                readout_weights={
                    WORDS.name: self._shares(row),
                    name: row.new_ones(len(batch), 1),
                },
            ),
        )

    def _shares(self, row: Float[Tensor, "b s"]) -> Float[Tensor, "b s"]:
        """How much each sentence counts; gates are brought to a sum of 1."""
        if self.sentences.attention.normalised:
            return row
        total = row.sum(-1, keepdim=True)
        return row / torch.where(total > 0, total, 1.0)


@dataclass(frozen=True)
class SentenceRows:
    """Texts as rows of sentences, so that all sentences of a batch go through an encoder at once.

    One row per sentence of the batch, text by text. `member` says which tokens of its text a
    sentence has, `row` and `place` where each token stands (0 where it is in none)."""

    member: Bool[Tensor, "b s t"]
    row: Int[Tensor, "b t"]
    place: Int[Tensor, "b t"]
    lengths: Int[Tensor, " n"]

    @property
    def counts(self) -> Int[Tensor, " b"]:
        """Sentences of each text; one without tokens has one, and it is empty."""
        return self.member.any(-1).sum(-1).clamp_min(1)

    def split(self, x: Float[Tensor, "b t e"]) -> Float[Tensor, "n l e"]:
        """Zeros after a sentence's end, and all of an empty one."""
        there = self.member.any(1)
        out = x.new_zeros(len(self.lengths), int(self.lengths.max()), x.shape[-1])
        return out.index_put((self.row[there], self.place[there]), x[there])

    def join(self, states: Float[Tensor, "n l d"]) -> Float[Tensor, "b t d"]:
        """Each token's state at its place in the text; zeros where there is no token."""
        there = self.member.any(1)
        return torch.where(there[..., None], states[self.row, self.place], 0.0)


def sentence_rows(text: Text) -> SentenceRows:
    member = _members(text)
    counts = member.any(-1).sum(-1).clamp_min(1)
    there = member.any(1)
    number = member.to(torch.uint8).argmax(1)
    row = number + (counts.cumsum(0) - counts)[:, None]
    place = (member.cumsum(-1) - 1).gather(1, number[:, None]).squeeze(1)
    lengths = torch.zeros(int(counts.sum()), dtype=torch.int64, device=row.device)
    lengths = lengths.index_put((row[there],), torch.ones_like(row[there]), accumulate=True)
    # an empty row is one of a single zero vector, which no attention sees
    return SentenceRows(member, row * there, place * there, lengths.clamp_min(1))


def _members(text: Text) -> Bool[Tensor, "b s t"]:
    """Sentences that hold a token, in their order: numbers may have gaps after deletions."""
    given = torch.zeros_like(text.tokens) if text.sentences is None else text.sentences
    given = given.masked_fill(~text.mask, -1)
    numbers = torch.arange(max(1, int(given.max()) + 1), device=given.device)
    member = given[:, None] == numbers[:, None]
    order = (~member.any(-1)).to(torch.int8).argsort(dim=-1, stable=True)
    width = max(1, int(member.any(-1).sum(-1).max()))
    return member.gather(1, order[..., None].expand_as(member))[:, :width]


check = check_parts
