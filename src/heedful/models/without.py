"""The output after a deletion, from what stayed and what changed.

A softmax mixture is a ratio of two sums over tokens. Tokens outside the changed window
enter through prefix and suffix sums, so a deletion costs the width of its window, not
the length of the text. Sums are float64 and never a difference of larger sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.models.encoders.encoder import Window


@dataclass(frozen=True)
class Base:
    """Scores and token logits of the whole texts."""

    scores: Float[Tensor, "b t"]
    values: Float[Tensor, "b t c"]
    mask: Bool[Tensor, "b t"]

    @cached_property
    def top(self) -> Float[Tensor, " b"]:
        return _masked(self.scores, self.mask).amax(-1)

    @cached_property
    def sums(self) -> tuple[Float[Tensor, "b s c1"], Float[Tensor, "b s c1"]]:
        """Before and from each position on: Σ e^score · (value, 1)."""
        powers = (_masked(self.scores, self.mask) - self.top[:, None]).exp()[..., None]
        terms = torch.cat([powers * self.values, powers], -1)
        zero = terms.new_zeros(terms.shape[0], 1, terms.shape[2])
        before = torch.cat([zero, terms.cumsum(1)], 1)
        after = torch.cat([terms.flip(1).cumsum(1).flip(1), zero], 1)
        return before, after

    @property
    def logits(self) -> Float[Tensor, "b c"]:
        """Logits of the whole texts, less the bias."""
        return _ratio(self.sums[0][:, -1])


def logits_without(
    base: Base,
    examples: Int[Tensor, " m"],
    window: Window,
    scores: Float[Tensor, "m w"],
    values: Float[Tensor, "m w c"],
) -> Float[Tensor, "m c"]:
    """Logits less the bias; a text that loses its only token keeps a zero context."""
    real = base.mask[examples[:, None], window.index.clamp_min(0)] & (window.index >= 0)
    scores = _masked(scores, real)
    top = base.top[examples]
    if scores.shape[1]:
        top = torch.maximum(top, scores.amax(-1))
    powers = (scores - top[:, None]).exp()[..., None]
    inside = torch.cat([powers * values, powers], -1).sum(1)
    before, after = base.sums
    outside = before[examples, window.low] + after[examples, window.high]
    total = inside + (base.top[examples] - top).exp()[:, None] * outside
    return _ratio(total)


def _ratio(sums: Tensor) -> Tensor:
    return sums[..., :-1] / sums[..., -1:].clamp_min(torch.finfo(sums.dtype).tiny)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.double().masked_fill(~mask, float("-inf"))
