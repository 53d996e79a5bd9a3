"""How much memory is left: of the machine, and of a container or a batch job that has less."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""The limit, what is used of it, and which part of that the kernel gives back when asked: of
control groups of the second and of the first version."""


def free_memory(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """A group has no more than any group around it."""
    found = (_left(folder) for folder in _folders(groups, own))
    known = [left for left in found if left is not None]
    return max(0, int(min([psutil.virtual_memory().available, *known])))


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    """Those of the groups this process is in, up to the root. Seen from inside a container its
    own group may have another name than from outside; the root is there in any case."""
    for line in own.read_text(encoding="utf8").splitlines() if own.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = groups / "memory" if controllers else groups
        inner = root / path.strip("/")
        yield from (each for each in (inner, *inner.parents) if each.is_relative_to(root))


def _left(folder: Path) -> int | None:
    """None where there is no limit."""
    for limit, used, cached in _FILES:
        most, now = _number(folder / limit), _number(folder / used)
        if most is not None and now is not None:
            return most - now + _cached(folder / "memory.stat", cached)
    return None


def _cached(file: Path, name: str) -> int:
    lines = file.read_text(encoding="ascii").splitlines() if file.is_file() else []
    pairs = dict(line.split(" ", 1) for line in lines)
    return int(pairs.get(name, 0))


def _number(file: Path) -> int | None:
    text = file.read_text(encoding="ascii").strip() if file.is_file() else ""
    return int(text) if text.isdigit() else None
