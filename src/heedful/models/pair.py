"""Two texts, attention over the first for a query made of the second (jain2019's questions and
inference, vashishth2019's, Rocktäschel et al. 2016).

What is attended is the passage or the premise, side a; vashishth2019's text names the sides of
question answering the other way round. The `context` decoder sees Σ α h alone, so uniform
attention removes the second text altogether; the `query` decoder sees the query as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.entries import Entries, ModelFamily
from heedful.errors import HeedfulError, unknown_name
from heedful.models.attention import WEIGHTINGS, AdditiveQuery, DotQuery, QueryAttention
from heedful.models.build import ENCODERS, check_parts, make_embedding, make_encoder, outputs
from heedful.models.encoders import Encoder
from heedful.models.family import (
    QUERY,
    Family,
    OneQuery,
    keep_again,
    linear_token_logits,
    visible,
)
from heedful.models.recurrent import LSTM_HIDDEN, last_states, run_packed_from
from heedful.specs import ModelSpec
from heedful.types import Batch, Edits, Embeddings, Keep, SiteSpec, Text, TokenLogits, Trace

ENTRIES = Entries(ModelFamily)

CONDITIONAL = "conditional"
NAME = "attention"
ATTENTIONS_FOR_QUERIES = (*WEIGHTINGS, "dot")
"""`hard` is not among them: there each token is taken or left for its own sake."""


Encoded = tuple[Float[Tensor, "b t d"], Float[Tensor, "b d"]]
"""States of the first text, and the query."""


class PairEncoder(nn.Module, ABC):
    """`size` is the width of a state and of the query."""

    size: int

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> Encoded: ...


class Separate(PairEncoder):
    """An encoder for each text, neither of which sees the other (jain2019)."""

    def __init__(self, spec: ModelSpec, embedding: int) -> None:
        super().__init__()
        self.a: Encoder = make_encoder(spec, embedding)
        self.b: Encoder = make_encoder(spec, embedding)
        self.size = self.a.size

    def states(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b u d"]]:
        """Of both texts."""
        return self.a(x, a.lengths).states, self.b(y, b.lengths).states

    def forward(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> Encoded:
        """The query is the last states, or where tokens are read in no order the mean over the
        text's: jain2019 names the last state only, and for encoders without one says nothing."""
        states, other = self.states(x, a, y, b)
        if self.b.directions:
            return states, last_states(other, b.lengths, self.b.directions)
        seen = visible(b)[..., None].to(other.dtype)
        total = torch.where(seen > 0, other, 0.0).sum(1)
        return states, total / seen.sum(1).clamp_min(1)


class Conditional(PairEncoder):
    """The second text is read knowing the first (Rocktäschel et al. 2016): an LSTM over a; another
    over b that starts where the first ended, with its state and its cell. What b ends with is the
    query."""

    def __init__(self, spec: ModelSpec, embedding: int) -> None:
        super().__init__()
        self.size = spec.hidden or LSTM_HIDDEN
        self.a = nn.LSTM(embedding, self.size, batch_first=True)
        self.b = nn.LSTM(embedding, self.size, batch_first=True)

    def forward(
        self, x: Float[Tensor, "b t e"], a: Text, y: Float[Tensor, "b u e"], b: Text
    ) -> Encoded:
        states, end = run_packed_from(self.a, x, a.lengths)
        other, _ = run_packed_from(self.b, y, b.lengths, end)
        return states, last_states(other, b.lengths, 1)


def make_query_attention(name: str, size: int) -> QueryAttention:
    """The names are those of attention without a query."""
    if name == "dot":
        return DotQuery(size)
    if name not in WEIGHTINGS:
        raise unknown_name("attention with a query", name, list(ATTENTIONS_FOR_QUERIES))
    return AdditiveQuery(size, WEIGHTINGS[name]())


class ContextDecoder(nn.Module):
    """W c + b: the second text reaches the prediction through attention alone
    (vashishth2019)."""

    linear = True

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__()
        self.final = nn.Linear(size, outputs)

    def forward(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b c"]:
        logits: Tensor = self.final(context)
        return logits


class QueryDecoder(nn.Module):
    """W₂ · tanh(W_p c + W_q q): jain2019's for questions, and Rocktäschel et al. 2016."""

    linear = False

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__()
        self.project = nn.Linear(size, size // 2)
        self.project_query = nn.Linear(size, size // 2, bias=False)
        self.final = nn.Linear(size // 2, outputs)

    def forward(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"]
    ) -> Float[Tensor, "b c"]:
        hidden = torch.tanh(self.project(context) + self.project_query(query))
        logits: Tensor = self.final(hidden)
        return logits


PairDecoder = ContextDecoder | QueryDecoder

DECODERS: dict[str, type[PairDecoder]] = {"context": ContextDecoder, "query": QueryDecoder}
IMPOSSIBLE = -1e4
"""The logit of a class that cannot be the answer: one that a softmax makes exactly 0, and small
enough that a sum of weights which is 1 up to rounding leaves it there. In token logits every token
has it, so `weights @ values + bias` stays the model's for all weights that sum to 1. Weights that
are all zero (everything erased) leave the bias in the product, where the model still masks."""


class TwoTexts(Family):
    """Pairs of texts, with embeddings of their own."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"]) -> None:
        super().__init__()
        self.dropout = nn.Dropout(spec.dropout)
        tables = {side: make_embedding(vectors, spec.train_embedding) for side in ("a", "b")}
        self.embeddings = nn.ModuleDict(tables)

    @property
    def tables(self) -> Mapping[str, nn.Module]:
        return dict(self.embeddings.items())

    def embed(self, batch: Batch) -> Embeddings:
        _check_pairs(batch)
        return super().embed(batch)

    def embedded(self, batch: Batch, keep: Keep, given: Embeddings | None) -> dict[str, Tensor]:
        _check_pairs(batch)
        return super().embedded(batch, keep, given)


def among_candidates(logits: Float[Tensor, "b c"], batch: Batch) -> Float[Tensor, "b c"]:
    """The classes that are no candidates are all but impossible."""
    allowed = batch.candidates
    if allowed is None:
        return logits
    if allowed.shape != logits.shape:
        raise HeedfulError(
            f"the corpus names candidates among {allowed.shape[1]} classes and the model has "
            f"{logits.shape[1]} logits: train it on this corpus, of three classes or more."
        )
    return logits.masked_fill(~allowed, IMPOSSIBLE)


def candidate_token_logits(
    decoder: nn.Linear, states: Float[Tensor, "b t d"], batch: Batch
) -> TokenLogits:
    """Those of impossible classes are less the bias, which is added later."""
    linear = linear_token_logits(decoder, states)
    if batch.candidates is None:
        return linear
    values = linear.values.where(batch.candidates[:, None], IMPOSSIBLE - linear.bias)
    return replace(linear, values=values)


@ENTRIES.entry(
    "two texts: attention over the first for a query made of the second",
    name="pair",
    kind="pair",
    paper="jain2019",
    citation="Rocktäschel et al. 2016; vashishth2019",
)
class Pair(TwoTexts, OneQuery):
    """embeddings → encoders → attention for a query → decoder."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> None:
        super().__init__(spec, vectors)
        encode = Conditional if spec.encoder == CONDITIONAL else Separate
        self.encoder: PairEncoder = encode(spec, vectors.shape[1])
        self.attention: QueryAttention = make_query_attention(spec.attention, self.encoder.size)
        self.decoder: PairDecoder = DECODERS[spec.decoder](self.encoder.size, outputs(classes))

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        linear, normalised = self.decoder.linear, self.attention.normalised
        return (SiteSpec(NAME, "a", "tokens", linear, normalised=normalised),)

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        a, b = batch.texts["a"], batch.texts["b"]
        states, query = self.encoder(self.dropout(embedded["a"]), a, self.dropout(embedded["b"]), b)
        return self.attend(batch, states, query, edits, keep)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From states and query on; no encoder runs again."""
        states, query = trace.states[NAME], trace.states[QUERY][:, 0]
        return self.attend(batch, states, query, edits, keep_again(trace))

    def decode(
        self, context: Float[Tensor, "b d"], query: Float[Tensor, "b d"] | None, batch: Batch
    ) -> Float[Tensor, "b c"]:
        return among_candidates(self.decoder(self.dropout(context), query), batch)

    def token_logits(
        self, states: Float[Tensor, "b t d"], batch: Batch
    ) -> Mapping[str, TokenLogits]:
        if not self.decoder.linear:
            return {}
        return {NAME: candidate_token_logits(self.decoder.final, states, batch)}


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


def _check_pairs(batch: Batch) -> None:
    if "b" not in batch.texts:
        raise HeedfulError(
            "a model of the family pair was given single texts: give it a corpus of pairs, or "
            "train the family one_sequence."
        )
