"""What a part is told: how much, and where."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import torch

from heedful.runner import machine


@dataclass(frozen=True)
class Setting:
    """`quick` is for smoke tests: tiny sizes, and one thread as it has company."""

    quick: bool = False
    device: str = "cpu"
    threads: int | None = None

    def set_up(self) -> None:
        """Full precision, as Heedful runs."""
        machine(self.device, self.threads or (1 if self.quick else None))
        if self.device == "cuda":
            torch.cuda.init()  # so that all memory is the card's from the start

    @property
    def repeats(self) -> int:
        return 1 if self.quick else 3


class Skip(Exception):
    """A part that cannot run here; says why."""


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
