"""How results reach the disk: whole or not at all, and what the disk refuses is one sentence.

Nothing here looks at a clock: which of two files is older never decides anything.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from errno import errorcode
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError

from heedful.errors import HeedfulError

UNFINISHED = ".writing"
_AGAIN = "it was removed meanwhile, run the command again"


@contextmanager
def refusals(doing: str, fix: str) -> Iterator[None]:
    """A full disk, a read-only folder or a folder that is gone, told in one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise HeedfulError(f"cannot {doing}: {why(error)}; {_AGAIN}, or {fix}.") from error
    except (OSError, SafetensorError) as error:
        raise HeedfulError(f"cannot {doing}: {why(error)}; {fix}.") from error


def why(error: Exception) -> str:
    """What went wrong, and where: libraries wrap the system's words in their own."""
    code = error.errno if isinstance(error, OSError) else None
    if code is None or code not in errorcode:
        return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:300]
    name = getattr(error, "filename", None)
    return os.strerror(code) + (f" at {str(name)[-200:]}" if name else "")


def unfinished(path: Path) -> Path:
    """A name beside a path that no other process will choose."""
    return path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{UNFINISHED}")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears, or takes an older one's place, when the block ends."""
    with whole_path(path) as building, building.open("wb") as stream:
        yield stream


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """The same for libraries that open files themselves: where to write it."""
    building = unfinished(path)
    try:
        yield building
        sync(building)
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """A text file for people, whole or not at all. A pipe or a device (`/dev/stdout`) cannot be
    replaced and is written to; behind a link the file is."""
    if path.exists() and not path.is_file():
        path.write_bytes(text.encode("utf8"))
        return
    with whole_file(path.resolve()) as stream:
        stream.write(text.encode("utf8"))


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder that appears, or takes an older one's place, when the block ends. What was killed
    while it wrote the same folder is in nobody's store: the next one cleans it."""
    _clean(path)
    building = unfinished(path.parent / f".{path.name or 'here'}")
    try:
        building.mkdir(parents=True)
        yield building
        sync_tree(building)
        _take_place(building, path)
        sync(path.parent)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def discard(path: Path) -> None:
    """Remove a folder or a file. It changes its name first: whoever still writes in it must
    fail, not finish with half of its files."""
    aside = unfinished(path)
    try:
        path.rename(aside)
    except FileNotFoundError:
        return  # somebody else was first
    if aside.is_dir():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def copy_tree(source: Path, target: Path) -> None:
    """The bytes and nothing else: no times, no owners."""
    target.mkdir()
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir()
        else:
            shutil.copyfile(path, place)


def sync_tree(folder: Path) -> None:
    """Everything in a folder is on disk before the folder gets its name: else a power cut
    could leave the name and lose the contents."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clean(path: Path) -> None:
    begun = re.compile(rf"\.{re.escape(path.name)}(\.[0-9a-f]{{12}}{re.escape(UNFINISHED)})+")
    for left in path.parent.glob(f".*{UNFINISHED}"):
        if begun.fullmatch(left.name):
            discard(left)


def _take_place(building: Path, path: Path) -> None:
    """An empty folder is replaced at once. A full one steps aside, under a name that nothing
    cleans: killed between the two renames, what was there is still there."""
    if not path.is_dir() or not any(path.iterdir()):
        building.rename(path)
        return
    aside = building.with_suffix(".old")
    path.rename(aside)
    try:
        building.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)
