"""What a model says of texts without some of their words.

Whatever is done to a word is done to all its tokens. Special tokens stay, so a text that loses
every word is still a text; where attention has nothing left to see, the context is zero.

Many rows go through the model each distinct one once, like lengths together, as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.models import class_logits, probability, shared_prefixes
from heedful.perturbations.operators import REMOVALS, Operator
from heedful.types import Batch, Keep, Model, Target
from heedful.words import to_tokens, to_words, word_mask

T = TypeVar("T")
TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 1 << 15}
"""By device: more gains nothing there."""
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
        alone = int(lengths[rows].max()) > _at_once(lengths, tokens_at_once) // 2
        with shared_prefixes() if alone else nullcontext():
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


class Memory:
    """What was kept of each output, by example and set of words, for one model, batch, operator
    and way of reading: whoever makes it sees to that. It lives as long as several measures ask
    about the same texts. `subsets` has all sets of short texts, if they were asked for."""

    def __init__(self, subsets: Subsets | None = None) -> None:
        self.subsets = subsets
        self._places: dict[bytes, int] = {}
        self._rows: list[Tensor] = []

    def recall(
        self, keys: Sequence[bytes], ask: Callable[[Int[Tensor, " n"]], Float[Tensor, "n f"]]
    ) -> Float[Tensor, "k f"]:
        """The row of every key; `ask` is called once, for the keys that are new."""
        new = [row for row, key in enumerate(keys) if key not in self._places]
        if new:
            known = len(self._places)
            self._rows.append(ask(torch.tensor(new)))
            self._places |= {keys[row]: known + place for place, row in enumerate(new)}
        self._rows = [torch.cat(self._rows)]
        places = [self._places[key] for key in keys]
        return self._rows[0][torch.tensor(places, device=self._rows[0].device)]

    def __len__(self) -> int:
        return len(self._places)

    @property
    def numbers(self) -> int:
        """How many numbers are held."""
        return sum(rows.numel() for rows in self._rows)


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


@dataclass(frozen=True)
class Subsets:
    """All there is to know of short texts: what a model says without any set of their words.

    Set number s lacks the i-th of a text's n words where bit i of s is 1. `value[b, s]` is the
    explained quantity and `decision[b, s]` the class, for s < 2ⁿ; of `short` texts only, those of
    at most `words` words.
    """

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


@dataclass(frozen=True)
class Distinct:
    """Row `i` removes `gone[i]` from example `example[i]`; `keys[i]` names both, and `inverse`
    says where each went."""

    example: Int[Tensor, " n"]
    gone: Bool[Tensor, "n w"]
    inverse: Int[Tensor, "b m"]
    keys: list[bytes]


def distinct(gone: Bool[Tensor, "b m w"]) -> Distinct:
    """Rows that are asked for twice, computed once; sorted, so that neighbours lose the same first
    words, or none of them."""
    b, m, w = gone.shape
    example = torch.arange(b, device=gone.device).repeat_interleave(m)
    names = _names(example, gone.reshape(b * m, w))
    keys, first, inverse = np.unique(names, return_index=True, return_inverse=True)
    rows, back = (torch.from_numpy(each).to(gone.device) for each in (first, inverse))
    return Distinct(example[rows], gone.reshape(b * m, w)[rows], back.reshape(b, m), keys.tolist())


def _names(example: Tensor, gone: Tensor) -> np.ndarray:
    """Rows are compared as strings of bits: exact, and far faster than column by column."""
    number = example.cpu().numpy().astype(">i8")[:, None].view(np.uint8)
    keys = np.concatenate([number, np.packbits(gone.cpu().numpy(), axis=1)], axis=1)
    names: np.ndarray = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1])))[:, 0]
    return names


def chunked(
    work: Callable[[Tensor], T], lengths: Int[Tensor, " n"], tokens_at_once: int | None = None
) -> Iterator[tuple[Tensor, T]]:
    """`(rows, work(rows))`, the longest first, at most so many padded tokens at a time. Rows that
    are too long for company come before all others, in the order they have.

    A chunk that does not fit into memory is halved, and so are all that follow: the longest
    come first, so this is found out early.
    """
    tokens_at_once = _at_once(lengths, tokens_at_once)
    alone = tokens_at_once // 2 + 1
    sizes, order = lengths.cpu().clamp_max(alone).sort(descending=True, stable=True)
    order, start = order.to(lengths.device), 0
    while start < len(order):
        width = max(1, int(sizes[start]))
        rows = order[start : start + max(1, tokens_at_once // width)]
        found = attempt(work, rows)
        if found is None:
            tokens_at_once = width * (len(rows) // 2)
            continue
        yield rows, found
        start += len(rows)


def _at_once(lengths: Tensor, wanted: int | None) -> int:
    most = TOKENS_AT_ONCE.get(lengths.device.type, 2048) if wanted is None else wanted
    if most < 1:
        raise HeedfulError(f"tokens_at_once is {most}: choose 1 or more.")
    return most


def attempt(work: Callable[[Tensor], T], rows: Int[Tensor, " n"]) -> T | None:
    """None where memory was too small; an error where it is too small for a single row."""
    try:
        return work(rows)
    except torch.OutOfMemoryError as error:
        if len(rows) == 1:
            raise HeedfulError(
                "a single text does not fit into memory: shorten the texts or take a smaller model."
            ) from error
    return None
