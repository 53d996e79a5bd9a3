"""Two texts, attention over the first for a query made of the second (jain2019's questions and
inference, vashishth2019's, Rocktäschel et al. 2016).

What is attended is the passage or the premise, side a; vashishth2019's text names the sides of
question answering the other way round. The `context` decoder sees Σ α h alone, so uniform
attention removes the second text altogether; the `query` decoder sees the query as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.catalogue import Piece
from heedful.errors import HeedfulError, unknown_name
from heedful.models.attention.attention import Attention, QueryAttention
from heedful.models.candidates import among_candidates, token_candidates
from heedful.models.family import Family
from heedful.models.one_sequence import visible
from heedful.models.pair_attention import ATTENTIONS_FOR_QUERIES, make_query_attention
from heedful.models.pair_conditional import Conditional
from heedful.models.pair_decoder import DECODERS, PairDecoder
from heedful.models.pair_encoder import Encoded, PairEncoder, Separate
from heedful.models.parts import check_parts, embedded, make_embedding, make_encoder, outputs
from heedful.models.registry import ENCODERS
from heedful.models.rerun_without import without_each
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

CONDITIONAL = "conditional"
NAME, QUERY = "attention", "query"


class Pair(Family):
    """embeddings → encoders → attention for a query → decoder."""

    def __init__(
        self,
        embeddings: nn.ModuleDict,
        encoder: PairEncoder,
        attention: QueryAttention,
        decoder: PairDecoder,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embeddings = embeddings
        self.encoder: PairEncoder = encoder
        self.attention: QueryAttention = attention
        self.decoder: PairDecoder = decoder

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        linear, normalised = self.decoder.linear, self.attention.normalised
        return (SiteSpec(NAME, "a", "tokens", linear, normalised=normalised),)

    @property
    def attentions(self) -> Mapping[str, Attention]:
        return {NAME: self.attention}

    def embed(self, batch: Batch) -> Embeddings:
        _check_pairs(batch)
        tables = self.embeddings.items()
        return {side: table(batch.texts[side].tokens).detach() for side, table in tables}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        """A side that `embeddings` does not name keeps its own."""
        _check_pairs(batch)
        given = embeddings or {}
        x = {
            side: embedded(table, batch.texts[side].tokens, given.get(side), keep)
            for side, table in self.embeddings.items()
        }
        a, b = batch.texts["a"], batch.texts["b"]
        encoded = self.encoder(self.dropout(x["a"]), a, self.dropout(x["b"]), b)
        trace = self._attend(batch, encoded, edits or {}, keep)
        return replace(trace, embeddings=x if keep.embeddings else {})

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From states and query on; no encoder runs again."""
        keep = Keep(True, token_logits=bool(trace.token_logits), readers=bool(trace.readers))
        encoded = Encoded(trace.states[NAME], trace.states[QUERY][:, 0])
        return self._attend(batch, encoded, edits, keep)

    def without_each(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        """Deletes tokens of side a."""
        return without_each(lambda some: self(some).logits, batch)

    def _attend(self, batch: Batch, encoded: Encoded, edits: Edits, keep: Keep) -> Trace:
        states, query = encoded.states, encoded.query
        mask = visible(batch.texts["a"])
        weights = self.attention.weights(self.attention(states, query), mask)[:, None, None]
        if NAME in edits:
            call = SiteCall(self.sites[0], weights, mask[:, None, None], batch.ids)
            weights = edits[NAME](call)
        context = torch.einsum("bt,btd->bd", weights[:, 0, 0].to(states.dtype), states)
        logits = self.decoder(self.dropout(context), query)
        return Trace(
            logits=among_candidates(logits, batch),
            weights={NAME: weights},
            masks={NAME: mask[:, None, None]},
            states={NAME: states, QUERY: query[:, None]} if keep.states else {},
            token_logits=self._linear(states, batch) if keep.token_logits else {},
            values={NAME: states[:, None]} if keep.values else {},
            readers={NAME: weights.new_ones(len(batch), 1)} if keep.readers else {},
        )

    def _linear(self, states: Tensor, batch: Batch) -> dict[str, TokenLogits]:
        linear = self.decoder.token_logits(states)
        return {} if linear is None else {NAME: token_candidates(linear, batch)}


def pair(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> Pair:
    encoder = _make_encoder(spec, vectors.shape[1])
    tables = {side: make_embedding(vectors, spec.train_embedding) for side in ("a", "b")}
    return Pair(
        nn.ModuleDict(tables),
        encoder,
        make_query_attention(spec.attention, encoder.size),
        DECODERS[spec.decoder](encoder.size, outputs(classes)),
        spec.dropout,
    )


def check(spec: ModelSpec) -> None:
    """`conditional` is an encoder of pairs only."""
    if spec.encoder == CONDITIONAL:
        if spec.layers != 1:
            raise HeedfulError(f"--layers is {spec.layers}: a conditional encoder has 1.")
        spec = replace(spec, encoder="lstm")
    if spec.encoder not in ENCODERS:
        raise unknown_name("encoder of pairs", spec.encoder, [*ENCODERS, CONDITIONAL])
    check_parts(spec, tuple(DECODERS))
    if spec.attention not in ATTENTIONS_FOR_QUERIES:
        raise unknown_name("attention of pairs", spec.attention, list(ATTENTIONS_FOR_QUERIES))


def _make_encoder(spec: ModelSpec, width: int) -> PairEncoder:
    if spec.encoder == CONDITIONAL:
        return Conditional(width, spec.hidden)
    return Separate(make_encoder(spec, width), make_encoder(spec, width))


def _check_pairs(batch: Batch) -> None:
    if "b" not in batch.texts:
        raise HeedfulError(
            "a model of the family pair was given single texts: give it a corpus of pairs, or "
            "train the family one_sequence."
        )


PIECE = Piece(
    name="pair",
    description="two texts: attention over the first for a query made of the second",
    make=pair,
    kind="pair",
    paper="jain2019",
    citation="Rocktäschel et al. 2016; vashishth2019",
)
