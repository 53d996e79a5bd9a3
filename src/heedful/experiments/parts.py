"""What some texts left, kept on disk as soon as it is there.

So memory is that of one part, and what was killed goes on after the last of them. Of a study's
probe a part is some thousand texts, of an audit a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from heedful.store import read_part, refusals, whole_file, write_part


@dataclass(frozen=True)
class Parts:
    """Parts by name, each of several kinds of tables; a part is there when the table of the kind
    `last`, which is written last, is."""

    folder: Path
    last: str

    def write(self, name: str, tables: Mapping[str, pd.DataFrame]) -> None:
        """Each table appears whole by a rename."""
        with refusals(f"write to {self.folder}", "make room or choose another store with --store"):
            self.folder.mkdir(parents=True, exist_ok=True)  # gone if another process was first
            for kind in sorted(tables, key=lambda kind: kind == self.last):
                with whole_file(self.file(name, kind)) as stream:
                    write_part(stream, tables[kind])

    def has(self, name: str) -> bool:
        return self.file(name, self.last).is_file()

    def read(self, name: str, kind: str) -> pd.DataFrame:
        """One table of a part; `PartGone` where it is not, or not whole."""
        return read_part(self.file(name, kind))

    def file(self, name: str, kind: str) -> Path:
        return self.folder / f"{name}.{kind}.parquet"
