"""What is written for people, outside a store: only what Heedful wrote is ever replaced.

A folder carries a manifest that names its kind and every file with its digest. A folder may be
new, empty, or of the same kind with its files as they were written; whatever else somebody put
into it is kept. A file may be new, empty, or of the same kind, which its contents tell.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.input_files import read_whole
from heedful.schemas import check_version
from heedful.store.files import UNFINISHED, bring_back, entries, whole_folder, write_text
from heedful.store.run import file_digest

MANIFEST = "heedful-manifest.json"
SCHEMA_VERSION = 1
_NEW = "give a new folder"
_LEFT = re.compile(rf"(.*/)?[^/]+\.[0-9a-f]{{12}}{re.escape(UNFINISHED)}")
_LOOKED_AT = 1 << 16


@dataclass(frozen=True)
class FileKind:
    """Files that one command writes. `fits` says whether a file is one of them; without it an
    older one is never replaced. `joins` are kinds that may replace a file of a folder."""

    name: str
    fits: Callable[[Path], bool] | None = None
    joins: bool = False


def begins(start: str, last_line: str = "") -> Callable[[Path], bool]:
    """For a kind of text file that is told by its first characters and its last line."""

    def fits(path: Path) -> bool:
        with path.open("rb") as stream:
            head = stream.read(_LOOKED_AT).replace(b"\r\n", b"\n")
            stream.seek(-min(_LOOKED_AT, path.stat().st_size), os.SEEK_END)
            last = stream.read().rstrip().rpartition(b"\n")[2]
        return head.startswith(start.encode()) and last.startswith(last_line.encode())

    return fits


def check_file(path: Path, kind: FileKind) -> None:
    """Whether a file may be written there; a pipe or a device (`/dev/stdout`) may."""
    real = Path(os.path.realpath(path))
    if path.is_dir() or not real.parent.is_dir():
        raise HeedfulError(f"{path} cannot be written: give a file in a folder that is there.")
    if not path.exists() or not path.is_file():
        return
    if kind.fits is None:
        raise HeedfulError(
            f"{path} is there already and {kind.name} is never overwritten: give a new file."
        )
    if path.stat().st_size and not kind.fits(path):
        raise HeedfulError(f"{path} is there already and is not {kind.name}: give another file.")
    manifest = None if kind.joins else read_manifest(real.parent)
    if manifest is not None and real.name in manifest["files"]:
        raise HeedfulError(f"{path} belongs to an {manifest['kind']} folder: give another file.")


def write_file(path: Path, text: str) -> None:
    """Whole or not at all. In a folder that Heedful wrote it becomes one of its files."""
    real = Path(os.path.realpath(path))
    manifest = read_manifest(real.parent) if real.parent.is_dir() else None
    if manifest is None:
        write_text(path, text)
        return
    files: dict[str, str | None] = {**manifest["files"], real.name: None}  # None: being written
    _write_manifest(real.parent, manifest["kind"], files)
    write_text(path, text)
    digest = hashlib.sha256(text.encode("utf8")).hexdigest()
    _write_manifest(real.parent, manifest["kind"], {**files, real.name: digest})


def check_folder(path: Path, kind: str) -> None:
    """Whether a folder of this kind may be written there."""
    if path.is_symlink() and not path.exists():
        raise HeedfulError(f"{path} is a link to nothing: {_NEW}.")
    if not path.exists():
        return
    if not path.is_dir():
        raise HeedfulError(f"{path} is there already and is a file: {_NEW}.")
    manifest = read_manifest(path)
    if manifest is None and not any(path.iterdir()):
        return
    if manifest is None or manifest["kind"] != kind:
        raise HeedfulError(f"{path} is there already and holds no earlier {kind}: {_NEW}.")
    for name, digest in manifest["files"].items():
        if digest and (path / name).is_file() and file_digest(path / name) != digest:
            raise HeedfulError(
                f"{path} is there already and its {name} was changed since Heedful wrote it: move "
                f"that file away, or {_NEW}."
            )


@contextmanager
def output_folder(path: Path, kind: str) -> Iterator[Path]:
    """Where to write the files of a folder, which appears whole when the block ends. What else
    was in an earlier one is in the new one too."""
    real = Path(os.path.realpath(path))
    bring_back(real)
    check_folder(real, kind)
    manifest = read_manifest(real) or {"files": {}}
    ours = {MANIFEST, *manifest["files"]}
    with whole_folder(real, ours) as building:
        yield building
        files = {
            name: file_digest(building / name)
            for name in sorted(entries(building))
            if (building / name).is_file()
        }
        _write_manifest(building, kind, files)
        _keep_others(real, building, ours)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """None where there is none, or none that Heedful writes."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        manifest = json.loads(read_whole(path))
        kind, files = manifest["kind"], manifest["files"]
        ours = isinstance(kind, str) and all(map(_is_inside, files))
        if not ours or not all(isinstance(digest, str | None) for digest in files.values()):
            return None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    check_version(str(path), manifest.get("schema_version"), SCHEMA_VERSION, _NEW)
    return {"kind": kind, "files": files}


def _is_inside(name: str) -> bool:
    """No manifest can make anything outside its folder ours."""
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def _write_manifest(folder: Path, kind: str, files: Mapping[str, str | None]) -> None:
    value = {"schema_version": SCHEMA_VERSION, "kind": kind, "files": files}
    write_text(folder / MANIFEST, json.dumps(value, indent=1, sort_keys=True) + "\n")


def _keep_others(old: Path, building: Path, ours: set[str]) -> None:
    """Links where the disk has them: nothing is copied, and nothing is moved before the new
    folder is there."""
    if not old.is_dir():
        return
    for name in entries(old):
        if name in ours or _LEFT.fullmatch(name):
            continue
        try:
            _keep(old / name, building / name)
        except FileExistsError as error:
            raise HeedfulError(
                f"{old / name} was not written by Heedful and is in the way: move it, or {_NEW}."
            ) from error


def _keep(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir() and not source.is_symlink():
        target.mkdir(exist_ok=True)
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        shutil.copy2(source, target, follow_symlinks=False)
