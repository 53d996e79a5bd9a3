"""Models that write: what search asks of them, greedy and beam search.

Every example has its own limit and its own beam, so what else is in a batch changes nothing.
An example that is finished leaves the batch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.models.build import make_embedding
from heedful.models.family import Family, evaluating, requested
from heedful.randomness import example_keys, keyed_uniform
from heedful.specs import END, PAD, START
from heedful.types import Batch, Edits, Keep, Model, SiteSpec, Trace

State = Any
"""A family's own: what it remembers of sources and of the targets written so far."""


class Writer(Family):
    """A family that writes its targets, one token after the other."""

    @abstractmethod
    def start(self, batch: Batch, edits: Edits | None = None) -> State:
        """Read the sources; the targets of the batch are not looked at. Edits are called at
        every step, with its number."""

    @abstractmethod
    def step(
        self, state: State, tokens: Int[Tensor, " b"], t: int
    ) -> tuple[Float[Tensor, "b c"], State]:
        """Read one token of each target, the t-th (0 is the start); logits of the next."""

    @abstractmethod
    def reorder(self, state: State, rows: Int[Tensor, " n"]) -> State:
        """The state of some rows, or of some of them several times."""


class TargetWords(nn.Module):
    """The words a model writes: their embeddings, and the output layer made of them. Where a
    decoder's state is as wide as an embedding, the embeddings are the output layer's weights too.
    They start at length about 1, so that first logits are small."""

    def __init__(self, vectors: Float[Tensor, "v e"], size: int, trained: bool = True) -> None:
        super().__init__()
        words, width = vectors.shape
        self.embedding = make_embedding(vectors / width**0.5, trained)
        self.output = None if size == width else nn.Linear(size, words, bias=False)
        self.bias = nn.Parameter(vectors.new_zeros(words))

    def logits(self, states: Float[Tensor, "*b d"]) -> Float[Tensor, "*b v"]:
        weight = self.embedding.weight if self.output is None else self.output.weight
        return nn.functional.linear(states, weight, self.bias)


def target_trace(
    batch: Batch, step_logits: Float[Tensor, "b s c"], site: SiteSpec, keep: Keep, **parts: Any
) -> Trace:
    """The trace of given targets: `logits` follow the last token of each, which is the query that
    `site` is read from. `parts` are the other fields, `weights` and `masks` among them."""
    text = batch.texts["b"]
    place = torch.arange(text.tokens.shape[1], device=text.tokens.device)
    last = (place == text.lengths[:, None] - 1).to(step_logits.dtype)
    rows = torch.arange(len(batch), device=step_logits.device)
    return Trace(
        logits=step_logits[rows, text.lengths - 1],
        step_logits=step_logits,
        **requested(keep, readout_weights={site.name: last}),
        **parts,
    )


@dataclass(frozen=True)
class Gumbel:
    """Noise after which the largest log-probability is a sample at this temperature (Gumbel 1954).
    It is a hash of the seed, the example and the step: batches and order never change a sample."""

    temperature: float
    seed: int

    def __call__(
        self, scores: Float[Tensor, "b c"], ids: tuple[str, ...], step: int
    ) -> Float[Tensor, "b c"]:
        keys = example_keys(self.seed, ids, "answer", step)
        drawn = keyed_uniform(keys.to(scores.device), (scores.shape[-1],))
        return scores.double() / self.temperature - (-drawn.log()).log()


@dataclass(frozen=True)
class Search:
    """How targets are sought. `longest` bounds a target's tokens: a whole number counts them,
    a fraction is times the source's (2.0: twice as many). Of the hypotheses in a beam that
    ended, the best has the largest log p / length^`length_penalty`, its end counted. With `noise`
    a target is a sample, and there is no beam."""

    beam: int = 1
    longest: int | float = 2.0
    length_penalty: float = 1.0
    noise: Gumbel | None = None

    def __post_init__(self) -> None:
        if self.beam < 1 or (self.noise and self.beam > 1):
            raise HeedfulError(
                f"the beam is {self.beam}: give at least 1 (1 is greedy), and 1 for a sample."
            )
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
    """Always the likeliest token, or with noise a sample."""
    written: list[list[int]] = [[] for _ in batch.ids]
    limits = search.limits(batch)
    rows = torch.arange(len(batch), device=limits.device)
    state, tokens = writer.start(batch, edits), torch.full_like(rows, START)
    for t in range(int(limits.max()) if len(batch) else 0):
        logits, state = writer.step(state, tokens, t)
        scores = next_log_p(logits)
        if search.noise is not None:
            scores = search.noise(scores, tuple(batch.ids[row] for row in rows.tolist()), t)
        tokens = scores.argmax(-1)
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


Ended = tuple[float, list[int]]


class Beams:
    """The beams of a batch: hypotheses of every example side by side, and those that ended.

    `best[i]` is the best target of example i, known once it has left the batch."""

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
