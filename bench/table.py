"""What is printed: a plain table, or the same as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

SCHEMA_VERSION = 1
COLUMNS = ("part", "texts", "reference s", "ours s", "ratio", "reference MB", "ours MB", "")
REACH = ("search, 1 candidate", "texts", "steps", "reach 99%", "s", "s (those)", "exact s")
NOTES = (
    "reference: the papers' procedures in plain tensor operations, batches of 32, fp32.",
    "passes: texts through the model once; every part starts from them, a battery makes them.",
    "MB: peak beyond what was held before, in the first run.",
    "reference times are added up from their parts; a battery's MB are the largest part's.",
    "load: other work on the machine makes all times longer; compare within one run only.",
    "s (those): the same search over only the texts that reach 99% of the exact value.",
)


@dataclass(frozen=True)
class Row:
    """One part at one length."""

    part: str
    size: str
    reference_seconds: float
    ours_seconds: float
    reference_mb: float | None
    ours_mb: float | None
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.reference_seconds / self.ours_seconds


def machine(device: str) -> dict[str, Any]:
    """Facts that times depend on; no host name."""
    facts: dict[str, Any] = {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__.split("+")[0],
        "device": torch.cuda.get_device_name() if device == "cuda" else device,
    }
    if hasattr(os, "getloadavg"):
        facts["load"] = round(os.getloadavg()[0], 2)
    return facts


def as_json(facts: dict[str, Any], rows: Sequence[Row], reaches: Sequence[Any]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "verb": "bench",
        **facts,
        "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
        "reach": [asdict(each) for each in reaches],
        "notes": list(NOTES),
    }


def row_cells(row: Row) -> list[str]:
    return [
        row.part,
        row.size,
        f"{row.reference_seconds:.3f}",
        f"{row.ours_seconds:.3f}",
        f"{row.ratio:.1f}×",
        _megabytes(row.reference_mb),
        _megabytes(row.ours_mb),
        row.note,
    ]


def reach_cells(each: Any) -> list[str]:
    those = "never" if each.seconds_reached is None else f"{each.seconds_reached:.2f}"
    share, exact = f"{each.share:.1%}", f"{each.exact_seconds:.3f}"
    return ["", each.size, str(each.steps), share, f"{each.seconds:.2f}", those, exact]


def aligned(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they must be; the first two to the left, numbers to the right."""
    table = [list(heading), *map(list, lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number < 2 or number == 7 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def _megabytes(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.0f}"
