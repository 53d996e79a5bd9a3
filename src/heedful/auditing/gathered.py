"""What has been measured so far: on disk, but for sums. So memory does not grow with texts.

Texts come in random order, and every `BLOCK` of them make one block of each table. Within a
block rows are in an order of their own, so that nothing depends on batches.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from heedful.auditing.explained import Cost
from heedful.auditing.part import Part
from heedful.auditing.parts import read_kind
from heedful.auditing.shown import together
from heedful.auditing.table import ordered
from heedful.store import Frames

BLOCK = 1024


class Home:
    """A folder that is gone when nobody holds this any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="heedful-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass
class Gathered:
    """`home` is held where the folder is to be gone with this, and with its tables."""

    folder: Path
    home: Home | None = None
    texts: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    _costs: dict[str, Cost] = field(default_factory=dict)
    _blocks: list[list[str]] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        """Whether an earlier start has left something here."""
        return self.folder.is_dir() and any(self.folder.iterdir())

    def add(self, name: str, part: Part, texts: int) -> None:
        """A part that is in the folder under this name."""
        if self.texts % BLOCK == 0:
            self._blocks.append([])
        self._blocks[-1].append(name)
        self.texts += texts
        self.skipped |= part.skipped
        for explanation, cost in part.costs.items():
            self._costs.setdefault(explanation, Cost()).add(cost)

    def costs(self) -> pd.DataFrame:
        found = [
            (name, 1000 * each.seconds / max(1, each.texts), each.passes / max(1, each.texts))
            for name, each in self._costs.items()
        ]
        names = ["explanation", "milliseconds_per_text", "passes_per_text"]
        return pd.DataFrame(found, columns=names)

    def tables(self) -> dict[str, Frames]:
        """As far as they have been measured by now."""
        left_out = list(self.skipped)
        return {
            "rows": self._frames("rows", partial(_measured, left_out=left_out)),
            "maps": self._frames("maps", partial(_sorted, by=["explanation", "example"])),
            "documents": self._frames("documents", _in_place),
            "shown": self._frames("shown", together, blocks=1),  # of the first texts alone
            "costs": Frames.of(self.costs()),
        }

    def _frames(
        self,
        kind: str,
        join: Callable[[list[pd.DataFrame]], pd.DataFrame],
        blocks: int | None = None,
    ) -> Frames:
        chosen = self._blocks[:blocks]

        def made() -> Iterator[pd.DataFrame]:
            for names in chosen:
                yield join([read_kind(self.folder, name, kind) for name in names])

        return Frames(made)


def _measured(parts: list[pd.DataFrame], left_out: list[str]) -> pd.DataFrame:
    """Without those of explanations that were skipped on some texts: an explanation is
    measured on all texts or on none."""
    rows = pd.concat(parts, ignore_index=True)
    return ordered(rows[~rows["explanation"].isin(left_out)])


def _sorted(parts: list[pd.DataFrame], by: list[str]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True).sort_values(by, kind="stable", ignore_index=True)


def _in_place(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """As the data has them."""
    return _sorted(parts, ["place"]).drop(columns="place")
