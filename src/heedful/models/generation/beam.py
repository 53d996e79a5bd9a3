"""The beams of a batch: hypotheses of every example side by side, and those that ended."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.specs import END, START

Ended = tuple[float, list[int]]


class Beams:
    """`best[i]` is the best target of example i, known once it has left the batch."""

    def __init__(
        self, examples: int, width: int, penalty: float, limits: Int[Tensor, " b"]
    ) -> None:
        self._width, self._penalty, self._limits = width, penalty, limits
        self._examples = torch.arange(examples, device=limits.device)  # those not finished
        self._scores = torch.full((examples, width), -math.inf, dtype=torch.float64)
        self._scores = self._scores.to(limits.device)
        self._scores[:, 0] = 0  # all hypotheses begin alike: one of them is enough
        self._written = torch.full_like(limits, START)[:, None, None].repeat(1, width, 1)
        self._ended: list[list[Ended]] = [[] for _ in range(examples)]
        self.best: list[list[int]] = [[] for _ in range(examples)]

    @property
    def last(self) -> Int[Tensor, " n"]:
        """The token each hypothesis ends with for now."""
        return self._written[:, :, -1].reshape(-1)

    def repeated(self) -> Int[Tensor, " n"]:
        """Each example as many times as a beam is wide."""
        return self._examples.repeat_interleave(self._width)

    def advance(self, log_p: Float[Tensor, "n c"], t: int) -> Int[Tensor, " m"]:
        """Write one token more; the rows of the hypotheses to go on with."""
        scores, tokens, parents = self._candidates(log_p)
        self._keep_ended(scores, tokens, parents, t)
        order = (tokens == END).to(torch.int8).argsort(dim=-1, stable=True)[:, : self._width]
        scores, tokens, parents = (x.gather(1, order) for x in (scores, tokens, parents))
        lines = torch.arange(len(tokens), device=tokens.device)[:, None]
        self._written = torch.cat([self._written[lines, parents], tokens[..., None]], -1)
        self._scores = scores
        return self._going(t, parents + lines * self._width)

    def _candidates(self, log_p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Twice as many as a beam is wide: at most one for each hypothesis ends it."""
        count, words = len(self._examples), log_p.shape[-1]
        total = (self._scores[..., None] + log_p.reshape(count, self._width, words)).flatten(1)
        scores, chosen = total.topk(min(2 * self._width, total.shape[1]), dim=-1)
        return scores, chosen % words, chosen // words

    def _keep_ended(self, scores: Tensor, tokens: Tensor, parents: Tensor, t: int) -> None:
        ended = (tokens == END) & scores.isfinite()
        ended[:, self._width :] = False
        for line, place in ended.nonzero().tolist():
            hypothesis = self._written[line, int(parents[line, place]), 1:].tolist()
            score = float(scores[line, place]) / (t + 1) ** self._penalty
            self._ended[int(self._examples[line])].append((score, hypothesis))

    def _going(self, t: int, rows: Tensor) -> Tensor:
        """Let the finished examples go."""
        numbers = self._examples.tolist()
        limits = self._limits[self._examples].tolist()
        full = [len(self._ended[number]) >= self._width for number in numbers]
        going = []
        for line, number in enumerate(numbers):
            alive = bool(self._scores[line].isfinite().any())
            if not full[line] and limits[line] > t + 1 and alive:
                going.append(line)
            else:
                self.best[number] = self._best(number, line)
        lines = torch.tensor(going, dtype=torch.long, device=rows.device)
        self._examples, self._scores = self._examples[lines], self._scores[lines]
        self._written = self._written[lines]
        return rows[lines].reshape(-1)

    def _best(self, number: int, line: int) -> list[int]:
        if self._ended[number]:
            return max(self._ended[number], key=lambda each: each[0])[1]
        cut: list[int] = self._written[line, 0, 1:].tolist()
        return cut
