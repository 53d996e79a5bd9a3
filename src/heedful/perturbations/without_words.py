"""What a model says of texts without some of their words.

Whatever is done to a word is done to all its tokens. Special tokens stay, so a text that loses
every word is still a text; where attention has nothing left to see, the context is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import class_logits, probability
from heedful.perturbations.batching import Distinct, Memory, chunked, distinct
from heedful.perturbations.operators import REMOVALS, Operator
from heedful.types import Batch, Keep, Model, Target
from heedful.words import to_tokens, to_words, word_mask

Read = Callable[[Float[Tensor, "n c"], Int[Tensor, " n"]], Float[Tensor, "n f"]]
"""What is kept of some rows of logits; the second are the rows' examples."""


def removed(
    model: Model, batch: Batch, gone: Bool[Tensor, "b w"], operator: str | Operator = "delete"
) -> Float[Tensor, "b c"]:
    """Logits, float64, of each text without the words that are `gone`; one pass."""
    text = batch.texts["a"]
    shown = as_operator(operator).apply(model, batch, to_tokens(_existing(gone, batch), text))
    with torch.no_grad():
        keep = Keep(weights=False)
        logits = model(shown.batch, keep=keep, embeddings=shown.embeddings).logits.double()
    _refuse_nan(logits, batch)
    return logits


def removed_many(
    model: Model,
    batch: Batch,
    gone: Bool[Tensor, "b m w"],
    operator: str | Operator = "delete",
    tokens_at_once: int | None = None,
    memory: Memory | None = None,
    read: Read = lambda logits, example: logits,
) -> Float[Tensor, "b m f"]:
    """What `read` keeps of the logits, float64, for `m` sets of words `gone` from each text.

    Equal sets of one text are computed once. Texts of like length go together, at most
    `tokens_at_once` padded tokens, and fewer where the machine's memory is short; each such
    chunk is read at once, so whole logits are stored only where `read` keeps them. A `memory`
    of the same model, batch, operator and `read` has what was computed before.
    """
    operator, parts = as_operator(operator), distinct(_existing(gone, batch))
    if not len(parts.example):
        raise HeedfulError("there is nothing to remove from no texts: give at least one set.")

    def work(rows: Tensor) -> Tensor:
        example = parts.example[rows]
        return read(removed(model, batch.take(example), parts.gone[rows], operator), example)

    lengths = _lengths(batch, parts, operator)

    def ask(rows: Tensor) -> Tensor:
        rows = rows.to(lengths.device)
        found = list(chunked(lambda some: work(rows[some]), lengths[rows], tokens_at_once))
        order = torch.cat([some for some, _ in found]).argsort()
        return torch.cat([kept for _, kept in found])[order]

    return (Memory() if memory is None else memory).recall(parts.keys, ask)[parts.inverse]


def as_operator(operator: str | Operator) -> Operator:
    """An operator by its name in the catalogue, or as it is."""
    if isinstance(operator, Operator):
        return operator
    made: Operator = REMOVALS[operator].make()
    return made


def _existing(gone: Tensor, batch: Batch) -> Tensor:
    """Only words that are there can be removed; columns for longer texts may follow."""
    there = word_mask(batch.texts["a"])
    spare = gone.shape[-1] - there.shape[1]
    if spare < 0 or len(gone) != len(there):
        raise HeedfulError(
            f"removal was given {tuple(gone.shape)} marks for texts of up to {there.shape[1]} "
            f"words: give one mark for each of the {len(there)} texts' words."
        )
    there = torch.nn.functional.pad(there, (0, spare))
    return gone.to(there.device) & (there if gone.ndim == 2 else there[:, None])


def _lengths(batch: Batch, parts: Distinct, operator: Operator) -> Int[Tensor, " n"]:
    """Tokens of each row, as the model will see it."""
    whole = sum((text.lengths for text in batch.texts.values()), start=torch.tensor(0))
    text, lengths = batch.texts["a"], whole[parts.example]
    if not operator.shortens:
        return lengths
    sizes = to_words(torch.ones_like(text.tokens, dtype=torch.float64), text)
    gone = parts.gone[:, : sizes.shape[1]]
    return lengths - (sizes[parts.example] * gone).sum(-1).long()


def _refuse_nan(logits: Tensor, batch: Batch) -> None:
    bad = logits.isnan().any(-1).nonzero().flatten().tolist()
    if bad:
        raise HeedfulError(
            f"the model's output for example {batch.ids[bad[0]]!r} without some of its words is "
            "not a number: leave the example out or choose another removal operator."
        )


@dataclass(frozen=True)
class Answers:
    """For each set of words that was gone: the explained quantity, and the class decided for."""

    value: Float[Tensor, "b m"]
    decision: Int[Tensor, "b m"]


@dataclass(frozen=True)
class WordRemoval:
    """A model that is asked what it says of some texts without some of their words: of one class
    each, by a `target` function of the logits. What it said is kept in the `memory`, which
    another removal of the same model, texts, class, target and operator may share."""

    model: Model
    batch: Batch
    label: Int[Tensor, " b"]
    operator: str | Operator = "delete"
    target: Target = probability
    memory: Memory = field(default_factory=Memory)

    @cached_property
    def mask(self) -> Bool[Tensor, "b w"]:
        """Which words there are."""
        return word_mask(self.batch.texts["a"])

    def take(self, rows: Int[Tensor, " n"]) -> WordRemoval:
        """Of some of the texts, with a memory of its own."""
        return replace(self, batch=self.batch.take(rows), label=self.label[rows], memory=Memory())

    def answers(self, gone: Bool[Tensor, "b m w"]) -> Answers:
        """What the model says without each of these sets of words. Whole outputs are not kept: a
        language model's, of thousands of sets, would fill the memory."""
        known = self.memory.subsets
        if known is None:
            return self._asked(gone)
        number, short = known.numbers(gone), known.short[:, None]
        value, decision = known.value.gather(1, number), known.decision.gather(1, number)
        if bool(short.all()):
            return Answers(value, decision)
        found = self._asked(gone & ~short[..., None])
        return Answers(
            torch.where(short, value, found.value), torch.where(short, decision, found.decision)
        )

    def _asked(self, gone: Tensor) -> Answers:
        read = _reader(self.target, self.label)
        found = removed_many(
            self.model, self.batch, gone, self.operator, memory=self.memory, read=read
        )
        return Answers(found[..., 0], found[..., 1].long())


def _reader(target: Target, label: Tensor) -> Read:
    """Class numbers are exact in float64, so one tensor holds both."""

    def read(logits: Tensor, example: Tensor) -> Tensor:
        value = target(logits, label.to(logits.device)[example]).double()
        return torch.stack([value, class_logits(logits).argmax(-1).double()], -1)

    return read
