"""Many rows through a model: each distinct one once, like lengths together, as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.errors import HeedfulError

T = TypeVar("T")
TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 1 << 15}
"""By device: more gains nothing there."""


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
    """Rows that are asked for twice, computed once."""
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
    """`(rows, work(rows))`, the longest first, at most so many padded tokens at a time.

    A chunk that does not fit into memory is halved, and so are all that follow: the longest
    come first, so this is found out early.
    """
    if tokens_at_once is None:
        tokens_at_once = TOKENS_AT_ONCE.get(lengths.device.type, 2048)
    if tokens_at_once < 1:
        raise HeedfulError(f"tokens_at_once is {tokens_at_once}: choose 1 or more.")
    sizes, order = lengths.cpu().sort(descending=True, stable=True)
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
