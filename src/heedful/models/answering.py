"""Models that write, asked how probable an answer is: one logit for "this answer"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from heedful.errors import HeedfulError, unknown_name
from heedful.models.family import Around
from heedful.models.generation import Writer
from heedful.types import Answer, Batch, Edits, Embeddings, Keep, SiteSpec, Text, Trace
from heedful.words import present

SCORES = ("mean", "sum")


Logits = Callable[[Int[Tensor, " n"], Int[Tensor, " n"]], Float[Tensor, "n c"]]
"""Those of some rows, at one query each."""


def answer_logits(
    logits: Logits, last: Int[Tensor, " b"], answer: Answer, score: str = "mean"
) -> Float[Tensor, "b 1"]:
    """One logit for "this answer", log p / (1 − p), against "anything else"; the answer's last
    token follows the query `last`.

    With n tokens and the score `mean`, log p = (1/n) Σ log p(token): p is their geometric mean,
    whatever the length; with `sum` it is the probability of the whole answer. Where the answer
    stands against another token, the logit is the difference of the two tokens' logits."""
    if answer.instead is not None:
        return _difference(logits, last, answer.tokens, answer.instead)
    tokens = answer.tokens
    total = _log_probabilities(logits, last, tokens).sum(-1, keepdim=True)
    return odds(total / (tokens >= 0).sum(-1, keepdim=True) if score == "mean" else total)


def check_score(score: str) -> None:
    if score not in SCORES:
        raise unknown_name("answer score", score, list(SCORES))


def _difference(
    logits: Logits,
    last: Int[Tensor, " b"],
    tokens: Int[Tensor, "b n"],
    instead: Int[Tensor, " b"],
) -> Float[Tensor, "b 1"]:
    end = (tokens >= 0).sum(-1, keepdim=True) - 1
    pair = torch.cat([tokens.gather(1, end), instead[:, None]], 1)
    rows = torch.arange(len(last), device=last.device)
    own, other = logits(rows, last).double().gather(1, pair).unbind(-1)
    return (own - other)[:, None]


def _log_probabilities(
    logits: Logits, last: Int[Tensor, " b"], tokens: Int[Tensor, "b n"]
) -> Float[Tensor, "b n"]:
    """log p of each token after those before it, float64; 0 after the last. It is −log(1 + odds
    against the token), which keeps its digits where p is all but 1."""
    there = tokens >= 0
    first = last + 1 - there.sum(-1)
    before = first[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
    rows = there.nonzero()[:, 0]
    scores, wanted = logits(rows, before[there]).double(), tokens[there][:, None]
    others = scores.scatter(1, wanted, -torch.inf).logsumexp(-1)
    found = F.logsigmoid(scores.gather(1, wanted)[:, 0] - others)
    return found.new_zeros(tokens.shape).masked_scatter(there, found)


_SMALLEST = 1e-300
"""Where p is 1 to the last digit, 1 − p is taken for this."""


def odds(log_p: Float[Tensor, "b 1"]) -> Float[Tensor, "b 1"]:
    """log p / (1 − p)."""
    log_p = log_p.clamp_max(-_SMALLEST)
    return log_p - (-torch.expm1(log_p)).log()


TARGET, OWN = "target", "b"
"""What a decoder has written, as targets of audits call that side, and as our families do."""


class Answering(Around):
    """A writing family, asked for the answers of its batches: its only logit is that of "this
    answer". An audit's side `target` is the family's side `b`.

    Attention to the text is read where the answer's tokens are written, each of which counts as
    much as the others: the attention of an answer is the mean of its tokens'."""

    model: Writer

    def __init__(self, model: Writer, score: str = "mean") -> None:
        super().__init__(model)
        check_score(score)
        self.score = score

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        names = {OWN: TARGET}
        return tuple(
            replace(
                site,
                keys=names.get(site.keys, site.keys),
                queries=names.get(site.queries, site.queries),
            )
            for site in self.model.sites
        )

    def embed(self, batch: Batch) -> Embeddings:
        return {"a": self.model.embed(_written(batch))["a"]}

    def forward(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        trace = self.model(_written(batch), edits, keep, embeddings)
        return self._asked(batch, trace, keep.readout_weights)

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        after = self.model.resume(_written(batch), trace, edits)
        return self._asked(batch, after, bool(trace.readout_weights))

    def _asked(self, batch: Batch, trace: Trace, readout: bool) -> Trace:
        """The trace with the answer's logit in the place of a vocabulary's."""
        text, answer = batch.texts[TARGET], batch.answer
        steps = trace.step_logits
        assert steps is not None
        if answer is None:
            raise HeedfulError("this model is asked for answers, and the batch has none.")
        return replace(
            trace,
            logits=answer_logits(
                lambda rows, places: steps[rows, places], text.lengths - 1, answer, self.score
            ),
            step_logits=None,
            embeddings={side: x for side, x in trace.embeddings.items() if side == "a"},
            readout_weights=self._readout(batch, answer, trace) if readout else {},
        )

    def _readout(self, batch: Batch, answer: Answer, trace: Trace) -> dict[str, Tensor]:
        """Where the answer is written; an encoder that a decoder reads is read everywhere."""
        by_side: Mapping[str, Tensor] = {
            TARGET: _where_written(batch.texts[TARGET], answer),
            "a": present(batch.texts["a"]),
        }
        shares = {side: there.double() / there.sum(-1, True) for side, there in by_side.items()}
        return {
            site.name: shares[site.queries].to(trace.weights[site.name].dtype)
            for site in self.sites
            if site.name in trace.weights
        }


def _written(batch: Batch) -> Batch:
    """As the family reads it."""
    texts = dict(batch.texts)
    texts[OWN] = texts.pop(TARGET)
    return replace(batch, texts=texts)


def _where_written(target: Text, answer: Answer) -> Tensor:
    """The queries that the answer's tokens follow."""
    place = torch.arange(target.tokens.shape[1], device=target.tokens.device)
    count = (answer.tokens >= 0).sum(-1, keepdim=True)
    end = target.lengths[:, None]
    return (place < end) & (place >= end - count)
