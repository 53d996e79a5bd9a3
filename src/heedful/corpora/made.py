"""What every corpus of our own making refuses before it is made."""

from __future__ import annotations

from collections.abc import Mapping

from heedful.catalogue import Range
from heedful.errors import HeedfulError

SIZES: Mapping[str, Range] = {"n_train": (1, 10**6), "n_dev": (0, 10**6), "n_test": (0, 10**6)}
LENGTH: Range = (1, 10_000)
"""What `--param` may ask of corpora of our own making: examples by split, words of a text."""


def check_recipe(corpus: str, sizes: Mapping[str, int], problems: Mapping[str, bool]) -> None:
    """`problems` are sentences, each with whether it is so; `sizes` are examples by split."""
    few = min(sizes.values()) < 0 or sizes["train"] < 1
    for problem, found in {_SIZES: few, **problems}.items():
        if found:
            raise HeedfulError(f"the {corpus} corpus cannot be made: {problem}.")


_SIZES = "sizes must not be negative, and n_train at least 1"
