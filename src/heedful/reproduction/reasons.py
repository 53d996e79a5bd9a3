"""Why a cell was not reproduced: two sentences each, written down by pattern."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from heedful.errors import HeedfulError
from heedful.reproduction.cells import Published

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
    try:
        with path.open(encoding="utf8", newline="") as stream:
            return [Reason(**line) for line in csv.DictReader(stream)]
    except (OSError, TypeError, UnicodeDecodeError) as error:
        wanted = ", ".join((*PLACE, "text"))
        raise HeedfulError(f"{path} cannot be read as reasons ({wanted}): {error}.") from error


def reason_for(cell: Published, reasons: list[Reason]) -> str:
    """Of the first that fits; empty where nobody gave one."""
    return next((reason.text for reason in reasons if reason.fits(cell)), "")
