"""Why a cell was not reproduced: two sentences each, written down by pattern."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from heedful.errors import HeedfulError
from heedful.reproduction.cells import Published, published_cells
from heedful.reproduction.compact import read_lines

PLACE = ("paper", "table", "dataset", "model", "metric")


@dataclass(frozen=True)
class Reason:
    """The cells it is given for, as patterns (`*` is anything), and what it says."""

    paper: str
    table: str
    dataset: str
    model: str
    metric: str
    text: str

    def fits(self, cell: Published) -> bool:
        return all(fnmatchcase(getattr(cell, name), getattr(self, name)) for name in PLACE)


def read_reasons(path: Path) -> list[Reason]:
    """In their order; each must be of some cell, and say something."""
    cells, found = published_cells(), []
    for at, line in enumerate(read_lines(path, "reasons", (*PLACE, "text")), 2):
        reason = Reason(*line)
        if not reason.text.strip() or not any(reason.fits(cell) for cell in cells):
            raise HeedfulError(
                f"line {at} of {path} gives no reason, or one for no published cell: mend it."
            )
        found.append(reason)
    return found


def reason_for(cell: Published, reasons: list[Reason]) -> str:
    """Of the first that fits; empty where nobody gave one."""
    return next((reason.text for reason in reasons if reason.fits(cell)), "")
