"""Run folders as one tar stream and back. What comes from elsewhere may be cut, changed or made
to do harm: only files and folders with plain names are taken out, nothing else.

Python's own filter for that came with 3.11.4; this also runs before.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import IO

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
            for path in (folder, folder / "run.json", *_others(folder)):
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


def _others(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path != folder / "run.json")


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
