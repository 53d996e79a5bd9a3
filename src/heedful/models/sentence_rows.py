"""Texts as rows of sentences and back: all sentences of a batch go through an encoder at once.

Only tokens of the text are in a sentence; start and end tokens are in none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.types import Text


@dataclass(frozen=True)
class SentenceRows:
    """One row per sentence of the batch, text by text. `member` says which tokens of its text
    a sentence has, `row` and `place` where each token stands (0 where it is in none)."""

    member: Bool[Tensor, "b s t"]
    row: Int[Tensor, "b t"]
    place: Int[Tensor, "b t"]
    lengths: Int[Tensor, " n"]

    @property
    def counts(self) -> Int[Tensor, " b"]:
        """Sentences of each text; one without tokens has one, and it is empty."""
        return self.member.any(-1).sum(-1).clamp_min(1)

    def split(self, x: Float[Tensor, "b t e"]) -> Float[Tensor, "n l e"]:
        """Zeros after a sentence's end, and all of an empty one."""
        there = self.member.any(1)
        out = x.new_zeros(len(self.lengths), int(self.lengths.max()), x.shape[-1])
        return out.index_put((self.row[there], self.place[there]), x[there])

    def join(self, states: Float[Tensor, "n l d"]) -> Float[Tensor, "b t d"]:
        """Each token's state at its place in the text; zeros where there is no token."""
        there = self.member.any(1)
        return torch.where(there[..., None], states[self.row, self.place], 0.0)


def sentence_rows(text: Text) -> SentenceRows:
    member = _members(text)
    counts = member.any(-1).sum(-1).clamp_min(1)
    there = member.any(1)
    number = member.to(torch.uint8).argmax(1)
    row = number + (counts.cumsum(0) - counts)[:, None]
    place = (member.cumsum(-1) - 1).gather(1, number[:, None]).squeeze(1)
    lengths = torch.zeros(int(counts.sum()), dtype=torch.int64, device=row.device)
    lengths = lengths.index_put((row[there],), torch.ones_like(row[there]), accumulate=True)
    # an empty row is one of a single zero vector, which no attention sees
    return SentenceRows(member, row * there, place * there, lengths.clamp_min(1))


def _members(text: Text) -> Bool[Tensor, "b s t"]:
    """Sentences that hold a token, in their order: numbers may have gaps after deletions."""
    given = torch.zeros_like(text.tokens) if text.sentences is None else text.sentences
    given = given.masked_fill(~text.mask, -1)
    numbers = torch.arange(max(1, int(given.max()) + 1), device=given.device)
    member = given[:, None] == numbers[:, None]
    order = (~member.any(-1)).to(torch.int8).argsort(dim=-1, stable=True)
    width = max(1, int(member.any(-1).sum(-1).max()))
    return member.gather(1, order[..., None].expand_as(member))[:, :width]
