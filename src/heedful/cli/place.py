"""Where a verb's results go: looked at before the work, not after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from heedful.errors import HeedfulError


def check_writable(
    folder: Path | None = None,
    files: Sequence[Path | None] = (),
    inputs: Sequence[str | Path | None] = (),
) -> None:
    """Before hours are spent on what then cannot be written. Nothing may be written over what
    is read (`inputs`), nor into a store."""
    for path in filter(None, files):
        if path.is_dir() or not path.parent.is_dir():
            raise HeedfulError(f"{path} cannot be written: give a file in a folder that is there.")
    _check_apart([path for path in files if path], [Path(each) for each in inputs if each])
    places = [path.parent for path in filter(None, files)]
    if folder is not None:
        _check_folder(folder)
        places.append(next(each for each in (folder, *folder.absolute().parents) if each.exists()))
    for place in places:
        try:
            tempfile.TemporaryFile(dir=place).close()
        except OSError as error:
            reason = error.strerror or "no"
            raise HeedfulError(
                f"nothing can be written in {place} ({reason.lower()}): give another place."
            ) from error


def _check_apart(files: Sequence[Path], inputs: Sequence[Path]) -> None:
    taken = [Path(os.path.realpath(path)) for path in inputs]  # `resolve` fails in a loop of links
    for path in files:
        if path.resolve() in taken:
            raise HeedfulError(f"{path} would be written over something else: give another file.")
        taken.append(path.resolve())


def _check_folder(folder: Path) -> None:
    whole = folder.resolve()
    if whole == Path.cwd():
        raise HeedfulError(f"-o is the current folder ({folder}): give a new folder.")
    for place in (whole, *whole.parents):
        beside = place.parent / "runs"
        if place.name in ("runs", "scratch") and any(beside.glob("*-*/run.json")):
            raise HeedfulError(f"{folder} is inside a store: give a folder outside.")
