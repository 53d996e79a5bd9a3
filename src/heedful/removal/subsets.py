"""What a model says of short texts without any set of their words: all there is to know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Subsets:
    """Set number s lacks the i-th of a text's n words where bit i of s is 1. `value[b, s]` is the
    explained quantity and `decision[b, s]` the class, for s < 2ⁿ; of `short` texts only, those of
    at most `words` words."""

    words: int
    short: Bool[Tensor, " b"]
    mask: Bool[Tensor, "b w"]
    value: Float[Tensor, "b s"]
    decision: Int[Tensor, "b s"]

    def numbers(self, gone: Bool[Tensor, "b m w"]) -> Int[Tensor, "b m"]:
        """The numbers of these sets; 0 for texts that are not short."""
        gone = gone[..., : self.mask.shape[1]] & self.mask[:, None] & self.short[:, None, None]
        return (gone * (1 << bits(self.mask))[:, None]).sum(-1)

    @property
    def by_length(self) -> Iterator[tuple[int, Int[Tensor, " r"]]]:
        """The short texts of n words, for each n there is."""
        count = self.mask.sum(-1)
        for n in sorted(set(count[self.short].tolist())):
            yield n, (self.short & (count == n)).nonzero()[:, 0]

    def take(self, rows: Int[Tensor, " n"], width: int) -> Subsets:
        """Of some texts, which have at most so many words."""
        parts = (self.short, self.mask[:, :width], self.value, self.decision)
        return Subsets(self.words, *(part[rows] for part in parts))


def bits(mask: Bool[Tensor, "b w"]) -> Int[Tensor, "b w"]:
    """Which bit stands for a word: its place among the words that are there."""
    return (mask.long().cumsum(-1) - 1).clamp(min=0, max=62)
