"""A part of a grid for one of several machines that do not talk to each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heedful.errors import HeedfulError
from heedful.runner.grid import Cell, Grid


@dataclass(frozen=True)
class Shard:
    """Number `number` of `of`, counted from 1."""

    number: int
    of: int

    def holds(self, cell: Cell) -> bool:
        """By the cell's hash: every cell is in one shard, whatever else is in the grid."""
        return int(cell.name.rpartition("-")[2], 16) % self.of == self.number - 1

    def cut(self, plan: Grid) -> Grid:
        return replace(plan, cells=[cell for cell in plan.cells if self.holds(cell)])


def shard(text: str) -> Shard:
    """From `2/8`."""
    number, _, of = text.partition("/")
    plain = all(part.isdecimal() and len(part) < 10 for part in (number, of))
    if not plain or not 1 <= int(number) <= int(of):
        raise HeedfulError(f"--shard is {text!r}: write i/n with i from 1 to n, such as 2/8.")
    return Shard(int(number), int(of))
