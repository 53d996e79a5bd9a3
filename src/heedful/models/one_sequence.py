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
from heedful.models.attention import TokenAttention
from heedful.models.build import check_parts, make_attention, make_embedding, make_encoder, outputs
from heedful.models.encoders import Encoder, Encoding, Readout, Window
from heedful.models.family import OneQuery, keep_again, linear_token_logits
from heedful.models.weightings import SOFTMAX, Weighting
from heedful.specs import ModelSpec
from heedful.types import Batch, Deleted, Edits, Keep, SiteSpec, TokenLogits, Trace

ENTRIES = Entries(ModelFamily)

SITE = SiteSpec(name="attention", keys="a", level="tokens", linear=True)
_STATES_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 27}
"""Numbers; bounds the memory of deletions. A card is slow at many small steps."""


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
        encoding = trace.encoding if trace else None
        encoding = encoding or self.encoder(self.embedding(text.tokens), text.lengths)
        deletions = self.encoder.deletions(encoding, text.lengths, self._readout())
        base = Base(*self._read(deletions.readouts), text.mask, self.attention.weighting)
        out = torch.full_like(base.values, float("nan"), dtype=torch.float64)
        for examples, positions in self._deletions(text.mask, deletions.width):
            window = deletions.window(examples, positions)
            scores, values = self._read(window.readouts)
            scores, values = window.placed(scores[..., None])[..., 0], window.placed(values)
            out[examples, positions] = logits_without(base, examples, window, scores, values)
        bias = self.decoder.bias.double()
        return Deleted(base.logits + bias, out + bias)

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
        largest = _unseen(self.scores, self.mask).amax(-1)
        return largest if self.weighting.normalised else torch.zeros_like(largest)

    @cached_property
    def sums(self) -> tuple[Float[Tensor, "b s c1"], Float[Tensor, "b s c1"]]:
        """Before and from each position on: Σ power · (value, 1)."""
        powers = self.powers(_unseen(self.scores, self.mask), self.top)[..., None]
        terms = torch.cat([powers * self.values, powers], -1)
        zero = terms.new_zeros(terms.shape[0], 1, terms.shape[2])
        before = torch.cat([zero, terms.cumsum(1)], 1)
        after = torch.cat([terms.flip(1).cumsum(1).flip(1), zero], 1)
        return before, after

    @property
    def logits(self) -> Float[Tensor, "b c"]:
        """Logits of the whole texts, less the bias."""
        return self.mixed(self.sums[0][:, -1])

    def powers(
        self, scores: Float[Tensor, "n w"], top: Float[Tensor, " n"]
    ) -> Float[Tensor, "n w"]:
        """A token's weight before anything is divided; 0 where a score is −∞."""
        assert self.weighting.power is not None
        return self.weighting.power(scores - top[:, None])

    def mixed(self, sums: Float[Tensor, "n c1"]) -> Float[Tensor, "n c"]:
        """Σ power · value, for a softmax over Σ power."""
        if not self.weighting.normalised:
            return sums[..., :-1]
        return sums[..., :-1] / sums[..., -1:].clamp_min(torch.finfo(sums.dtype).tiny)


def logits_without(
    base: Base,
    examples: Int[Tensor, " m"],
    window: Window,
    scores: Float[Tensor, "m w"],
    values: Float[Tensor, "m w c"],
) -> Float[Tensor, "m c"]:
    """Logits less the bias; a text that loses its only token keeps a zero context."""
    real = base.mask[examples[:, None], window.index.clamp_min(0)] & (window.index >= 0)
    scores = _unseen(scores, real)
    top = base.top[examples]
    if base.weighting.normalised and scores.shape[1]:
        top = torch.maximum(top, scores.amax(-1))
    powers = base.powers(scores, top)[..., None]
    inside = torch.cat([powers * values, powers], -1).sum(1)
    before, after = base.sums
    outside = before[examples, window.low] + after[examples, window.high]
    total = inside + (base.top[examples] - top).exp()[:, None] * outside
    return base.mixed(total)


def _unseen(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.double().masked_fill(~mask, float("-inf"))


check = check_parts
