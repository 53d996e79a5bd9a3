"""Runs as tar streams: one at a URL, or many in a pack, cut into parts small enough to move.

What comes from elsewhere may be cut, changed or made to do harm: only files and folders with plain
names are taken out, nothing else (Python's own filter for that came with 3.11.4; this also runs
before), and every run is checked against its digests before it is adopted.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import IO

from heedful.errors import HeedfulError
from heedful.store.files import refusals, whole_file
from heedful.store.run import KEY
from heedful.store.store import Store

_END = bytes(2 * tarfile.BLOCKSIZE)
BROKEN = (
    tarfile.TarError, EOFError, ValueError, RecursionError, FileExistsError, NotADirectoryError
)  # fmt: skip
"""What reading raises where the stream is not what was written."""


def write_tar(folders: Iterable[Path], stream: IO[bytes]) -> None:
    """Each folder under its own name, its `run.json` first: so that the beginning of a stream
    tells what the run is. The bytes depend on the contents alone."""
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for folder in folders:
            record = folder / "run.json"
            others = sorted(path for path in folder.rglob("*") if path != record)
            for path in (folder, record, *others):
                name = path.relative_to(folder.parent).as_posix()
                tar.add(path, name, recursive=False, filter=_anonymous)


def read_tar(stream: IO[bytes], folder: Path) -> None:
    """Into a folder of one's own; raises one of `BROKEN`."""
    _check_end(stream)
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        for member in tar:
            target = folder / _plain_name(member)
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            source = tar.extractfile(member)
            if source is None or target.exists():
                raise ValueError(f"{member.name!r} is there twice")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                shutil.copyfileobj(source, out)


def read_record(head: bytes, key: str) -> bytes:
    """The `run.json` of a run from the beginning of its stream; raises one of `BROKEN`."""
    with tarfile.open(fileobj=BytesIO(head), mode="r:") as tar:
        for member in tar:
            source = tar.extractfile(member) if member.name == f"{key}/run.json" else None
            if source is not None:
                return source.read()
    raise EOFError


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


def _plain_name(member: tarfile.TarInfo) -> str:
    """A name that stays inside, of something that is a file or a folder and no link to one."""
    parts = member.name.split("/")
    kind = member.isdir() or (member.isreg() and not member.issparse())
    if not kind or member.size < 0 or {"", ".", ".."} & set(parts):
        raise ValueError(f"{member.name!r} is no plain file")
    return member.name


def _check_end(stream: IO[bytes]) -> None:
    """A tar stream that was cut between two runs looks whole but for its last, empty blocks."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - len(_END)))
    if stream.read() != _END:
        raise EOFError
    stream.seek(0)


NAME = "heedful-pack.tar"
ROW_KINDS = ("probe", "study", "audit")
_CHUNK = 1 << 20
_ROOM = "make room or choose another folder with --out"


def pack(store: Store, keys: Iterable[str], folder: Path, max_mb: float) -> list[Path]:
    """Write `heedful-pack.tar.000`, `.001`, … each at most `max_mb` megabytes."""
    keys = sorted(set(keys))
    if not keys:
        raise HeedfulError(
            f"there is nothing to pack in {store.place}: see `heedful store ls`, and pack corpora "
            f"and models with --what all."
        )
    if not 0.001 <= max_mb <= 1e6:
        raise HeedfulError(f"--max-mb is {max_mb}: give a number from 0.001 to 1000000.")
    with refusals(f"write a pack to {folder}", _ROOM), tempfile.TemporaryFile() as stream:
        folder.mkdir(parents=True, exist_ok=True)
        write_tar((store.open(key).path for key in keys), stream)
        check_packs(folder)
        older = set(_numbered(folder))
        parts = _cut(stream, folder, int(max_mb * 1e6))
        for path in older - set(parts):  # of a pack with more parts
            path.unlink(missing_ok=True)
        return parts


def check_packs(folder: Path) -> None:
    """Only parts of an earlier pack may be there under their names."""
    there = _numbered(folder)
    if not there:
        return
    try:
        with tarfile.open(there[0], "r:") as tar:
            first = tar.next()
    except (OSError, tarfile.TarError):
        first = None
    if there[0].suffix != ".000" or first is None or not KEY.match(first.name):
        raise HeedfulError(
            f"{there[0]} is there already and is no part of a pack: move it, or choose another "
            f"folder with --out."
        )


def _numbered(folder: Path) -> list[Path]:
    found = [path for path in folder.glob(f"{NAME}.*") if path.suffix[1:].isdigit()]
    return sorted(found, key=lambda path: (len(path.name), path))


def unpack(store: Store, parts: Iterable[Path]) -> tuple[list[str], list[str]]:
    """Take the runs of a pack into the store; returns the new keys and those already here."""
    parts = sorted(parts, key=lambda part: (len(part.name), part))
    new: list[str] = []
    known: list[str] = []
    with store.building("pack") as folder:
        _extract(parts, folder)
        for run in sorted(path for path in folder.iterdir() if path.is_dir()):
            (new if store.adopt(run) else known).append(run.name)
    return new, known


def _cut(stream: IO[bytes], folder: Path, size: int) -> list[Path]:
    """The stream in files of this size."""
    parts: list[Path] = []
    for start in range(0, stream.seek(0, os.SEEK_END), size):
        stream.seek(start)
        part = folder / f"{NAME}.{len(parts):03d}"
        with whole_file(part) as out:
            while block := stream.read(min(_CHUNK, start + size - stream.tell())):
                out.write(block)
        parts.append(part)
    return parts


def _extract(parts: list[Path], folder: Path) -> None:
    missing = [str(part) for part in parts if not part.is_file()]
    if missing or not parts:
        named = ", ".join(missing) or "none was given"
        raise HeedfulError(f"there is no such pack file ({named}): check the path.")
    with tempfile.TemporaryFile() as stream:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, stream)
        try:
            read_tar(stream, folder)
        except BROKEN as error:
            raise HeedfulError(
                f"the pack cannot be read ({parts[0]} …): give all its parts, .000 to the last, "
                f"unchanged."
            ) from error
