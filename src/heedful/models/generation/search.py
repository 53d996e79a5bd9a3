"""Greedy and beam search.

Every example has its own limit and its own beam, so what else is in a batch changes nothing.
An example that is finished leaves the batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models.evaluating import evaluating
from heedful.models.generation.beam import Beams
from heedful.models.generation.writer import Writer
from heedful.specs import END, PAD, START
from heedful.types import Batch, Edits, Model


@dataclass(frozen=True)
class Search:
    """How targets are sought. `longest` bounds a target's tokens: a whole number counts them,
    a fraction is times the source's (2.0: twice as many). Of the hypotheses in a beam that
    ended, the best has the largest log p / length^`length_penalty`, its end counted."""

    beam: int = 1
    longest: int | float = 2.0
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise HeedfulError(f"the beam is {self.beam}: give at least 1 (1 is greedy).")
        if not 0 < self.longest < math.inf:
            raise HeedfulError(f"`longest` is {self.longest}: give a number above 0.")
        if not 0 <= self.length_penalty < math.inf:
            raise HeedfulError(f"the length penalty is {self.length_penalty}: give 0 or more.")

    def limits(self, batch: Batch) -> Int[Tensor, " b"]:
        """The most tokens each target may have."""
        real = batch.texts["a"].mask.sum(-1)
        if isinstance(self.longest, int):
            return torch.full_like(real, self.longest)
        return (real * self.longest).ceil().long().clamp_min(1)


def generate(
    model: Model, batch: Batch, edits: Edits | None = None, search: Search = Search()
) -> list[list[int]]:
    """The targets a model writes, as ids without start and end."""
    if not isinstance(model, Writer):
        raise HeedfulError("this model writes no text: choose the family seq2seq or transformer.")
    with evaluating(model):
        if search.beam == 1:
            return greedy(model, batch, edits, search)
        return beam_search(model, batch, edits, search)


@torch.no_grad()
def greedy(writer: Writer, batch: Batch, edits: Edits | None, search: Search) -> list[list[int]]:
    """Always the likeliest token."""
    written: list[list[int]] = [[] for _ in batch.ids]
    limits = search.limits(batch)
    rows = torch.arange(len(batch), device=limits.device)
    state, tokens = writer.start(batch, edits), torch.full_like(rows, START)
    for t in range(int(limits.max()) if len(batch) else 0):
        logits, state = writer.step(state, tokens, t)
        tokens = next_log_p(logits).argmax(-1)
        for row, token in zip(rows.tolist(), tokens.tolist(), strict=True):
            written[row] += [token] * (token != END)
        going = ((tokens != END) & (limits[rows] > t + 1)).nonzero().squeeze(-1)
        if not len(going):
            break
        if len(going) < len(rows):
            rows, tokens, state = rows[going], tokens[going], writer.reorder(state, going)
    return written


@torch.no_grad()
def beam_search(
    writer: Writer, batch: Batch, edits: Edits | None, search: Search
) -> list[list[int]]:
    """Each step goes on with the best `beam` hypotheses that have not ended; one that ends
    among the best `beam` of its step is kept. An example is finished when `beam` of them
    are kept, or at its limit, where what has not ended counts only if nothing has."""
    limits = search.limits(batch)
    beams = Beams(len(batch), search.beam, search.length_penalty, limits)
    state = writer.reorder(writer.start(batch, edits), beams.repeated())
    for t in range(int(limits.max()) if len(batch) else 0):
        logits, state = writer.step(state, beams.last, t)
        rows = beams.advance(next_log_p(logits), t)
        if not len(rows):
            break
        state = writer.reorder(state, rows)
    return beams.best


def next_log_p(logits: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    """Log-probabilities of what can follow: anything but padding and a start."""
    logits = logits.double().index_fill(-1, logits.new_tensor([PAD, START]).long(), -math.inf)
    return torch.log_softmax(logits, -1)
