"""Large CSV files row by row: tables without a header, or too long to hold in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from heedful.corpora.readers import read_cells
from heedful.corpora.sources import MissingData, Publisher, find_files
from heedful.errors import HeedfulError


def find_sheets(data_dir: Path | None, names: Sequence[str], who: Publisher) -> dict[str, Path]:
    """The named .csv files, each plain or with .gz; by the plain name."""
    found = {}
    for name in names:
        zipped = f"{name}.gz"
        try:
            found[name] = find_files(data_dir, [zipped], who)[zipped]
        except MissingData:
            found |= find_files(data_dir, [name], who)
    return found


def stream_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Some columns of a file whose first row names them, in upper or lower case."""
    rows = read_cells(path)
    names = [name.upper() for name in next(rows, (0, []))[1]]
    missing = [column for column in columns if column not in names]
    if missing:
        raise HeedfulError(f"{path} has no column {missing[0]}: is it the published table?")
    places = [names.index(column) for column in columns]
    for number, cells in rows:
        if len(cells) != len(names):
            raise HeedfulError(
                f"line {number} of {path} has {len(cells)} cells, the first line {len(names)}."
            )
        yield tuple(cells[place] for place in places)
