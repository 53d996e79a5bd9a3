"""Many rows through a model: like lengths together, as many at once as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.errors import HeedfulError

T = TypeVar("T")
TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 1 << 15}
"""By device: more gains nothing there."""


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
