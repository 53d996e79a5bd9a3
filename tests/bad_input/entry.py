"""What an entry of the catalogue is: how the world is prepared, and what must be said."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class World:
    """`shared` holds good things that nobody may change; `here` is empty and the current folder."""

    shared: Path
    here: Path

    def copy(self, name: str) -> Path:
        """A thing of `shared` that may be spoilt."""
        source, target = self.shared / name, self.here / Path(name).name
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, target)
        return target

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


Prepare = Callable[[World], object]
"""A dict that it returns has names for words of the command line."""


def nothing(world: World) -> None:
    """The world is good as it is."""


@dataclass(frozen=True)
class Bad:
    """A command that fails after `prepare`. In it `SHARED` is the shared folder, and `MODEL_KEY`
    and its like are the keys of runs in its store. The sentence must hold `names`, the offending
    thing, and `fix`, which fixes it. Whole runs of the kinds in `leaves` may have been finished
    before anybody could know, and are kept."""

    command: str
    names: str
    fix: str
    prepare: Prepare = nothing
    leaves: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def typed(self) -> list[str]:
        return shlex.split(self.command)


def bad(command: str, names: str, fix: str, **environment: str) -> Bad:
    return Bad(command, names, fix, environment=environment)


def leaving(kind: str, command: str, names: str, fix: str) -> Bad:
    """The fault is known after a run of another kind was finished, which is kept."""
    return Bad(command, names, fix, leaves=(f"{kind}-",))


def of_file(name: str, content: str | bytes, command: str, names: str = "", fix: str = "") -> Bad:
    """A file in the current folder, and a command that is given this file."""
    return Bad(command, names or name, fix, lambda world: world.write(name, content))


def spoilt(name: str, spoil: Callable[[Path], object], command: str, names: str, fix: str) -> Bad:
    """A copy of a good thing, spoilt; it has the same name here."""
    return Bad(command, names, fix, lambda world: spoil(world.copy(name)))
