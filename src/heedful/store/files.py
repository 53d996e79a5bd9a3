"""How results reach the disk: whole or not at all, and what the disk refuses is one sentence.

Nothing here looks at a clock: which of two files is older never decides anything.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from errno import errorcode
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError

from heedful.errors import HeedfulError

UNFINISHED = ".writing"
ASIDE = ".old"
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
def whole_folder(path: Path, ours: Collection[str] = ()) -> Iterator[Path]:
    """A folder that appears, or takes an older one's place, when the block ends. Of the older one
    nothing is removed but `ours` and what the new one has too. What was killed while it wrote
    the same folder is in nobody's store: the next one cleans it."""
    for left in _left_beside(path, UNFINISHED):
        discard(left)
    building = unfinished(path.parent / f".{path.name or 'here'}")
    try:
        building.mkdir(parents=True)
        yield building
        sync_tree(building)
        _take_place(building, path, ours)
        sync(path.parent)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def bring_back(path: Path) -> None:
    """A folder that stepped aside for a new one, where a kill kept the new one from appearing."""
    aside = _left_beside(path, ASIDE)
    if len(aside) == 1 and not os.path.lexists(path):
        aside[0].rename(path)


def entries(folder: Path) -> Iterator[str]:
    """All files, links and empty folders below a folder, by their names from there."""
    for place, folders, files in os.walk(folder):
        inside = Path(place)
        links = [name for name in folders if (inside / name).is_symlink()]
        for name in (*files, *links):
            yield (inside / name).relative_to(folder).as_posix()
        if not files and not folders and inside != folder:
            yield inside.relative_to(folder).as_posix()


def make_folder(path: Path) -> None:
    """There, whoever else makes it or tidies it up at the same time."""
    while True:
        try:
            return path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            if path.exists():  # else somebody has removed it since
                raise


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
        if not path.is_symlink() and (path.is_file() or path.is_dir()):
            sync(path)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _left_beside(path: Path, ending: str) -> list[Path]:
    """What has a name that only `whole_folder` of this path gives."""
    begun = re.compile(rf"\.{re.escape(path.name)}(\.[0-9a-f]{{12}}{re.escape(ending)})+")
    return [left for left in path.parent.glob(f".*{ending}") if begun.fullmatch(left.name)]


def _take_place(building: Path, path: Path, ours: Collection[str]) -> None:
    """An empty folder is replaced at once. A full one steps aside, under a name that nothing
    cleans: killed between the two renames, what was there is still there."""
    if not path.is_dir() or not any(path.iterdir()):
        building.rename(path)
        return
    aside = building.with_suffix(ASIDE)
    path.rename(aside)
    try:
        building.rename(path)
    except OSError:
        aside.rename(path)
        raise
    _remove_known(aside, path, ours)


def _remove_known(aside: Path, path: Path, ours: Collection[str]) -> None:
    """What somebody put there in the last moment stays, and its folders with it."""
    for name in entries(aside):
        if name in ours or os.path.lexists(path / name):
            old = aside / name
            with suppress(OSError):
                old.rmdir() if old.is_dir() and not old.is_symlink() else old.unlink()
    for place, _, _ in os.walk(aside, topdown=False):
        with suppress(OSError):
            Path(place).rmdir()
