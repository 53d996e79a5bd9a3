"""One text, one attention, a linear decoder: the family jain2019 began with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.entries import ModelFamily
from heedful.models.attention.attention import Attention, TokenAttention
from heedful.models.build import (
    check_parts,
    make_attention,
    make_embedding,
    make_encoder,
    outputs,
)
from heedful.models.encoders.encoder import Encoder, Encoding, Readout
from heedful.models.family import Family, edited, linear_token_logits, visible
from heedful.models.leave_one_out import Base, logits_without
from heedful.specs import ModelSpec
from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    SiteSpec,
    Trace,
)

SITE = SiteSpec(name="attention", keys="a", level="tokens", linear=True)
_STATES_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 27}
"""Numbers; bounds the memory of deletions. A card is slow at many small steps."""


class OneSequence(Family):
    """embedding → encoder → attention → linear decoder."""

    def __init__(
        self,
        embedding: nn.Embedding,
        encoder: Encoder,
        attention: TokenAttention,
        decoder: nn.Linear,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = embedding
        self.encoder: Encoder = encoder
        self.attention: TokenAttention = attention
        self.decoder = decoder

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return (replace(SITE, normalised=self.attention.normalised),)

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return {SITE.name: self.attention}

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return {"a": self.embedding}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        x = self.embedded(batch, keep, embeddings)
        encoding: Encoding = self.encoder(self.dropout(x["a"]), batch.texts["a"].lengths)
        trace = self._attend(batch, encoding.states, edits or {}, keep)
        return replace(
            trace,
            embeddings=x if keep.embeddings else {},
            encoding=encoding if keep.encoding else None,
        )

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the states on; the encoder is not run again."""
        keep = Keep(states=True, token_logits=bool(trace.token_logits))
        return self._attend(batch, trace.states[SITE.name], edits, keep)

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

    def _attend(self, batch: Batch, states: Tensor, edits: Edits, keep: Keep) -> Trace:
        site, mask = self.sites[0], visible(batch.texts["a"])[:, None, None]
        scores: Tensor = self.attention(states)
        own = self.attention.weights(scores[:, None, None], mask)
        weights = edited(site, own, mask, batch.ids, edits)
        context = torch.einsum("bt,btd->bd", weights[:, 0, 0].to(states.dtype), states)
        return Trace(
            logits=self.decoder(self.dropout(context)),
            weights={SITE.name: weights},
            masks={SITE.name: mask},
            states={SITE.name: states} if keep.states else {},
            token_logits={SITE.name: linear_token_logits(self.decoder, states)}
            if keep.token_logits
            else {},
            values={SITE.name: states[:, None]} if keep.values else {},
            readout_weights={SITE.name: weights.new_ones(len(batch), 1)}
            if keep.readout_weights
            else {},
        )


def one_sequence(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> OneSequence:
    encoder = make_encoder(spec, vectors.shape[1])
    return OneSequence(
        make_embedding(vectors, spec.train_embedding),
        encoder,
        make_attention(spec, encoder.size),
        nn.Linear(encoder.size, outputs(classes)),
        spec.dropout,
    )


def check(spec: ModelSpec) -> None:
    check_parts(spec)


ENTRY = ModelFamily(
    name="one_sequence",
    description="one text, one attention, a linear decoder",
    make=one_sequence,
    paper="jain2019",
)
