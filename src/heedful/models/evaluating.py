"""A module is asked as it would be used: without dropout. Afterwards its modes are back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    modes = {each: each.training for each in module.modules()}
    try:
        module.eval()
        yield
    finally:
        for each, mode in modes.items():
            each.training = mode
