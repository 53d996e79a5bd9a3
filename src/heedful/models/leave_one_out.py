"""Leave-one-out: logits less each token in turn.

`leave_one_out_logits` runs the model on the shorter texts. `logits_without` goes on from what
stayed: a softmax mixture is a ratio of two sums over tokens, a gated one is the first of them.
Tokens outside the changed window enter through prefix and suffix sums, so a deletion costs the
width of its window, not the length of the text. Sums are float64 and never a difference of larger
sums. Weights that no such sums make (sparse ones) are for `leave_one_out_logits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.models.attention.attention import SOFTMAX, Weighting
from heedful.models.encoders.encoder import Window
from heedful.types import Batch, Deleted
from heedful.words import without_tokens

_TOKENS_AT_ONCE = 1 << 14


@torch.no_grad()
def leave_one_out_logits(logits_of: Callable[[Batch], Tensor], batch: Batch) -> Deleted:
    """NaN also where a text would have no token left at all."""
    text = batch.texts["a"]
    whole = logits_of(batch).double()
    less = whole.new_full((*text.mask.shape, whole.shape[-1]), float("nan"))
    examples, places = (text.mask & (text.lengths > 1)[:, None]).nonzero(as_tuple=True)
    order = text.lengths[examples].argsort(stable=True)
    size = max(1, _TOKENS_AT_ONCE // max(1, text.tokens.shape[1]))
    for chunk in torch.split(order, size):
        rows, gone = examples[chunk], places[chunk]
        less[rows, gone] = logits_of(_without(batch, rows, gone)).double()
    return Deleted(whole, less)


def _without(batch: Batch, rows: Tensor, places: Tensor) -> Batch:
    some = batch.take(rows)
    text = some.texts["a"]
    gone = torch.zeros_like(text.mask).scatter(1, places[:, None], True)
    return replace(some, texts={**some.texts, "a": without_tokens(text, gone)})


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
