"""How results reach the disk: whole or not at all, and what the disk refuses is one sentence.

Nothing here looks at a clock: which of two files is older never decides anything.
"""

from __future__ import annotations

import os
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
        raise HeedfulError(f"cannot {doing}: {why(error)}; {_AGAIN}.") from error
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
    building = unfinished(path)
    try:
        with building.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)


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
