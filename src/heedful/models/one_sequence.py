"""One text, one attention, a linear decoder (jain2019's first family).

Leave-one-out goes on from the encoded text. A softmax mixture is a ratio of two sums over tokens, a
gated one is the first of them: tokens outside the window that a deletion changes enter through
prefix and suffix sums, so a deletion costs the width of its window, not the length of the text. The
sums are float64, and never a difference of larger sums. Sparse weights are made of no such sums;
those models run the shorter texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.entries import Entries, ModelFamily
from heedful.models.attention import SOFTMAX, TokenAttention, Weighting
from heedful.models.build import check_parts, make_attention, make_embedding, make_encoder, outputs
from heedful.models.encoders import Changed, Encoder, Encoding, Readout
from heedful.models.family import OneQuery, keep_again, linear_token_logits
from heedful.specs import ModelSpec
from heedful.types import Batch, Deleted, Edits, Keep, SiteSpec, Text, TokenLogits, Trace

ENTRIES = Entries(ModelFamily)

SITE = SiteSpec(name="attention", keys="a", level="tokens", linear=True)
_STATES_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 27}
"""Numbers; bounds the memory of deletions. A card is slow at many small steps."""
_FEW = {"cpu": {True: 1 << 10, False: 0}, "cuda": {True: 1 << 13, False: 1 << 12}}
"""Tokens, by device and by whether the encoder walks: where texts and all their deletions have no
more, the encoder reads them anew as one padded batch. That is more arithmetic in fewer calls, and
a call costs more than the arithmetic of a short text, most of all on a card."""


@ENTRIES.entry("one text, one attention, a linear decoder", name="one_sequence", paper="jain2019")
class OneSequence(OneQuery):
    """embedding → encoder → attention → linear decoder."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(spec.dropout)
        self.embedding = make_embedding(vectors, spec.train_embedding)
        self.encoder: Encoder = make_encoder(spec, vectors.shape[1])
        self.attention: TokenAttention = make_attention(spec, self.encoder.size)
        self.decoder = nn.Linear(self.encoder.size, outputs(classes))

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return (replace(SITE, normalised=self.attention.normalised),)

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return {"a": self.embedding}

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        dropped: Tensor = self.dropout(embedded["a"])
        encoding: Encoding = self.encoder(dropped, batch.texts["a"].lengths)
        trace = self.attend(batch, encoding.states, None, edits, keep)
        return replace(trace, encoding=encoding) if keep.encoding else trace

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the states on; the encoder is not run again."""
        return self.attend(batch, trace.states[SITE.name], None, edits, keep_again(trace))

    def decode(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"] | None, batch: Batch
    ) -> Float[Tensor, "b c"]:
        logits: Tensor = self.decoder(self.dropout(context))
        return logits

    def token_logits(
        self, states: Float[Tensor, "b t d"], batch: Batch
    ) -> Mapping[str, TokenLogits]:
        return {SITE.name: linear_token_logits(self.decoder, states)}

    @torch.no_grad()
    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        """Deletes each token of the text in turn, without starting anew each time where
        weights are made of sums."""
        if self.attention.weighting.power is None:
            return super().leave_one_out_logits(batch)
        text = batch.texts["a"]
        rows, width = text.tokens.shape
        if rows * width * width <= _FEW[text.tokens.device.type][self.encoder.walks]:
            return self._anew(text)
        encoding = trace.encoding if trace else None
        encoding = encoding or self.encoder(self.embedding(text.tokens), text.lengths)
        deletions = self.encoder.deletions(encoding, text.lengths, self._readout())
        base = Base(*self._read(deletions.readouts), text.mask, self.attention.weighting)
        out = torch.full_like(base.values, float("nan"), dtype=torch.float64)
        for examples, positions in self._deletions(text.mask, deletions.width):
            less = Less(base, examples, positions)
            for piece in deletions.changed(examples, positions):
                less.add(piece, *self._read(piece.readouts))
            out[examples, positions] = less.logits
        bias = self.decoder.bias.double()
        return Deleted(base.logits + bias, out + bias)

    def _anew(self, text: Text) -> Deleted:
        """One batch of the whole texts and of all that are shorter."""
        examples, positions = text.mask.nonzero(as_tuple=True)
        rows, width = text.tokens.shape
        places = torch.arange(width, device=examples.device)
        every = torch.cat([torch.arange(rows, device=examples.device), examples])
        gone = torch.cat([torch.full_like(every[:rows], width), positions])  # nothing in whole ones
        index = (places + (places >= gone[:, None])).clamp_max(width - 1)
        lengths = text.lengths[every] - (gone < width).long()
        mask = text.mask[every[:, None], index] & (places < lengths[:, None])
        states = self.encoder(self.embedding(text.tokens)[every[:, None], index], lengths).states
        read = self._read(self._readout()(states))
        base = Base(*read, mask, self.attention.weighting)
        logits = base.mixed(base.terms.sum(1)) + self.decoder.bias.double()
        less = logits.new_full((rows, width, logits.shape[-1]), float("nan"))
        less[examples, positions] = logits[rows:]
        return Deleted(logits[:rows], less)

    def _readout(self) -> Readout:
        """Attention's linear part and the decoder, in one product."""
        weight, bias = self.attention.linear()
        return Readout(
            torch.cat([weight, self.decoder.weight]),
            torch.cat([bias, torch.zeros_like(self.decoder.bias)]),
        )

    def _read(self, readouts: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and token logits from readouts."""
        values = readouts[..., -self.decoder.out_features :]
        return self.attention.scores(readouts[..., : -self.decoder.out_features]), values

    def _deletions(self, mask: Tensor, width: int | None) -> Iterator[tuple[Tensor, Tensor]]:
        """Deletions of like positions together: they have about equally far to go."""
        positions, examples = mask.t().nonzero(as_tuple=True)
        most = _STATES_AT_ONCE[mask.device.type]
        states = mask.shape[1] if width is None else min(width, mask.shape[1])
        size = max(1, most // (states * self.encoder.size))
        yield from zip(torch.split(examples, size), torch.split(positions, size), strict=True)


@dataclass(frozen=True)
class Base:
    """Scores and token logits of the whole texts, and how weights are made of the scores: a
    softmax or gates."""

    scores: Float[Tensor, "b t"]
    values: Float[Tensor, "b t c"]
    mask: Bool[Tensor, "b t"]
    weighting: Weighting = SOFTMAX

    @cached_property
    def top(self) -> Float[Tensor, " b"]:
        """What powers are taken against: the largest score; for gates 0, which changes nothing."""
        lowest = torch.finfo(torch.float64).min  # of a text without tokens
        largest = _unseen(self.scores, self.mask).amax(-1).clamp_min(lowest)
        return largest if self.weighting.normalised else torch.zeros_like(largest)

    @cached_property
    def terms(self) -> Float[Tensor, "b t c1"]:
        """Of each token: power · (value, 1)."""
        powers = self.powers(_unseen(self.scores, self.mask), self.top[:, None])[..., None]
        return torch.cat([powers * self.values, powers], -1)

    @cached_property
    def sums(self) -> tuple[Float[Tensor, "b s c1"], Float[Tensor, "b s c1"]]:
        """Before and from each position on: Σ power · (value, 1)."""
        terms = self.terms
        zero = terms.new_zeros(terms.shape[0], 1, terms.shape[2])
        before = torch.cat([zero, terms.cumsum(1)], 1)
        after = torch.cat([terms.flip(1).cumsum(1).flip(1), zero], 1)
        return before, after

    @property
    def logits(self) -> Float[Tensor, "b c"]:
        """Logits of the whole texts, less the bias."""
        return self.mixed(self.sums[0][:, -1])

    def powers(self, scores: Float[Tensor, "*n"], top: Float[Tensor, ...]) -> Float[Tensor, "*n"]:
        """A token's weight before anything is divided; 0 where a score is −∞."""
        assert self.weighting.power is not None
        return self.weighting.power(scores - top)

    def mixed(self, sums: Float[Tensor, "n c1"]) -> Float[Tensor, "n c"]:
        """Σ power · value, for a softmax over Σ power."""
        if not self.weighting.normalised:
            return sums[..., :-1]
        return sums[..., :-1] / sums[..., -1:].clamp_min(torch.finfo(sums.dtype).tiny)


class Less:
    """The logits of texts without a token each, from the pieces that its deletion changed."""

    def __init__(self, base: Base, examples: Int[Tensor, " m"], positions: Int[Tensor, " m"]):
        self.base, self.examples, self.positions = base, examples, positions
        self.low, self.high = positions, positions + 1  # what is not as it was
        self.top = base.top[examples]
        self.sums = torch.zeros_like(base.sums[0][examples, 0])

    def add(
        self, piece: Changed, scores: Float[Tensor, "w n"], values: Float[Tensor, "w n c"]
    ) -> None:
        """Join tokens that stand elsewhere than those of the pieces before."""
        rows, index = piece.rows, piece.index
        there = index >= 0
        real = self.base.mask[self.examples[rows], index.clamp_min(0)] & there
        scores = _unseen(scores, real)
        top = before = self.top[rows]
        if self.base.weighting.normalised:
            top = torch.maximum(top, scores.amax(0))
        powers = self.base.powers(scores, top)[..., None]
        inside = torch.cat([powers * values, powers], -1).sum(0)
        self.sums[rows] = self.sums[rows] * (before - top).exp()[:, None] + inside
        self.top[rows] = top
        first = torch.where(there, index, self.positions[rows]).amin(0)
        self.low = self.low.index_put((rows,), torch.minimum(self.low[rows], first))
        self.high = self.high.index_put((rows,), torch.maximum(self.high[rows], index.amax(0) + 1))

    @property
    def logits(self) -> Float[Tensor, "m c"]:
        """Less the bias; a text that loses its only token keeps a zero context."""
        before, after = self.base.sums
        outside = before[self.examples, self.low] + after[self.examples, self.high]
        shrunk = (self.base.top[self.examples] - self.top).exp()[:, None]
        return self.base.mixed(self.sums + shrunk * outside)


def _unseen(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.double().masked_fill(~mask, float("-inf"))


check = check_parts
