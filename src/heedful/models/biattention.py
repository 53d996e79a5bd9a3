"""Two texts that attend to each other (Seo et al. 2017; McCann et al. 2017).

One matrix of similarities, a row for each token of the text and a column for each of the question,
makes both attentions. Each token of the text attends to the question; then the question attends to
the text, by each token's best match (Seo et al. 2017, §2.4). That second attention is over what
the text's tokens have become, [h; g; h ∘ g] with what they saw of the question, g: it is the one
that is shown. Seo et al. and McCann et al. read on with an LSTM; here the decoder is linear, so
both attentions lead to the prediction and nothing else does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.entries import Entries, ModelFamily
from heedful.errors import unknown_name
from heedful.models.attention import masked_softmax
from heedful.models.build import check_parts, outputs
from heedful.models.family import edited, keep_again, requested, visible
from heedful.models.pair import Separate, TwoTexts, among_candidates, candidate_token_logits
from heedful.specs import ModelSpec
from heedful.types import Batch, Edits, Keep, SiteSpec, Trace

ENTRIES = Entries(ModelFamily)

TO_QUESTION = SiteSpec(
    "text_to_question", keys="b", level="tokens", linear=False, main=False, queries="a"
)
TO_TEXT = SiteSpec("question_to_text", keys="a", level="tokens", linear=True)


class Similarity(nn.Module, ABC):
    """One number for each token of the text and each of the question."""

    @abstractmethod
    def forward(
        self, h: Float[Tensor, "b t d"], g: Float[Tensor, "b u d"]
    ) -> Float[Tensor, "b t u"]: ...


class Trilinear(Similarity):
    """w · [h; g; h ∘ g] (Seo et al. 2017)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.text = nn.Linear(size, 1, bias=False)
        self.question = nn.Linear(size, 1, bias=False)
        self.both = nn.Parameter(nn.Linear(size, 1, bias=False).weight[0].detach())

    def forward(
        self, h: Float[Tensor, "b t d"], g: Float[Tensor, "b u d"]
    ) -> Float[Tensor, "b t u"]:
        alone: Tensor = self.text(h) + self.question(g).transpose(1, 2)
        return alone + (h * self.both) @ g.transpose(1, 2)


class DotSimilarity(Similarity):
    """h · g / √d (McCann et al. 2017, who do not scale)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale: float = size**0.5

    def forward(
        self, h: Float[Tensor, "b t d"], g: Float[Tensor, "b u d"]
    ) -> Float[Tensor, "b t u"]:
        return h @ g.transpose(1, 2) / self.scale


SIMILARITIES: dict[str, type[Similarity]] = {"trilinear": Trilinear, "dot": DotSimilarity}


@ENTRIES.entry(
    "two texts that attend to each other, a linear decoder",
    name="biattention",
    kind="pair",
    citation="Seo et al. 2017, Bidirectional Attention Flow for Machine Comprehension, ICLR; "
    "McCann et al. 2017",
)
class BiAttention(TwoTexts):
    """embeddings → encoders → text to question → question to text → linear decoder."""

    def __init__(self, spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> None:
        super().__init__(spec, vectors)
        self.encoder = Separate(spec, vectors.shape[1])
        self.attention = SIMILARITIES[spec.attention](self.encoder.size)
        self.decoder = nn.Linear(3 * self.encoder.size, outputs(classes))

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return TO_QUESTION, TO_TEXT

    def run(self, batch: Batch, embedded: Mapping[str, Tensor], edits: Edits, keep: Keep) -> Trace:
        x, y = self.dropout(embedded["a"]), self.dropout(embedded["b"])
        h, g = self.encoder.states(x, batch.texts["a"], y, batch.texts["b"])
        return self._attend(batch, (h, g), edits, keep)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        """From the states of both texts on; no encoder runs again. What the text sees of the
        question stays, unless it is edited."""
        g = trace.states[TO_QUESTION.name]
        h = trace.states[TO_TEXT.name][..., : g.shape[-1]]
        known = None if TO_QUESTION.name in edits else trace.weights[TO_QUESTION.name]
        return self._attend(batch, (h, g), edits, keep_again(trace), known)

    def _attend(
        self,
        batch: Batch,
        states: tuple[Float[Tensor, "b t d"], Float[Tensor, "b u d"]],
        edits: Edits,
        keep: Keep,
        known: Float[Tensor, "b 1 t u"] | None = None,
    ) -> Trace:
        """From the states on; `known` weights of the text's tokens are taken as they are."""
        h, g = states
        text, question = (visible(batch.texts[side]) for side in "ab")
        pairs, rows = text[:, None, :, None] & question[:, None, None], text[:, None, None]
        scores: Tensor = self.attention(h, g)[:, None]
        each = known
        if each is None:
            own = masked_softmax(scores, pairs)
            each = edited(TO_QUESTION, own, pairs, batch.ids, edits)
        seen = each[:, 0].to(g.dtype) @ g
        mixed = torch.cat([h, seen, h * seen], -1)
        best = scores.masked_fill(~pairs, float("-inf")).amax(-1)
        best = best.masked_fill(~pairs.any(-1), 0.0)[:, :, None]
        row = edited(TO_TEXT, masked_softmax(best, rows), rows, batch.ids, edits)
        context = torch.einsum("bt,btd->bd", row[:, 0, 0].to(mixed.dtype), mixed)
        names = TO_QUESTION.name, TO_TEXT.name
        logits = (
            {TO_TEXT.name: candidate_token_logits(self.decoder, mixed, batch)}
            if keep.token_logits
            else {}
        )
        return Trace(
            logits=among_candidates(self.decoder(self.dropout(context)), batch),
            weights=dict(zip(names, (each, row), strict=True)),
            masks=dict(zip(names, (pairs, rows), strict=True)),
            **requested(
                keep,
                states=dict(zip(names, (g, mixed), strict=True)),
                values=dict(zip(names, (g[:, None], mixed[:, None]), strict=True)),
                token_logits=logits,
                readout_weights=dict(
                    zip(names, (row[:, 0, 0], row.new_ones(len(batch), 1)), strict=True)
                ),
            ),
        )


def check(spec: ModelSpec) -> None:
    """Its attention is a similarity of two tokens."""
    check_parts(replace(spec, attention="dot"))
    if spec.attention not in SIMILARITIES:
        raise unknown_name("attention of biattention", spec.attention, list(SIMILARITIES))
