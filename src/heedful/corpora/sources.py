"""Find a corpus's files in the data folder, or say where to get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from heedful.errors import HeedfulError
from heedful.store import file_digest


class MissingData(HeedfulError):
    """Files are not there. A store that holds the prepared corpus makes up for it."""


@dataclass(frozen=True)
class Publisher:
    """Where a data set comes from."""

    title: str
    homepage: str


def find_files(
    data_dir: Path | None, names: Sequence[str], publisher: Publisher
) -> dict[str, Path]:
    """The named files (paths relative to the data folder), all present."""
    if data_dir is None:
        raise MissingData(
            f"no data folder was given: get {publisher.title} from {publisher.homepage}, put it "
            f"into DATA/{names[0]} and name the folder DATA with --data-dir or HEEDFUL_DATA."
        )
    for name in names:
        if not (data_dir / name).is_file():
            raise MissingData(
                f"{data_dir / name} is missing: get {publisher.title} from {publisher.homepage}, "
                f"put it there, or name another data folder with --data-dir or HEEDFUL_DATA."
            )
    return {name: data_dir / name for name in names}


def digests(files: Mapping[str, Path]) -> dict[str, str]:
    """The sha256 of each file: a run is named by the bytes it was made from."""
    return {name: file_digest(path) for name, path in files.items()}
