"""Where a verb's results go: every output is checked before anything is measured.

What may be there already is for `store/outputs.py` to say; here is where an output may lie: on no
input, in no model's folder, in no store, and apart from the other outputs.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from os.path import exists, realpath
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heedful.cli.terminal import say
from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.store import FileKind

PLACE = ""
"""Instead of a kind: a folder that files are put into, whatever is there."""


@dataclass(frozen=True)
class Output:
    """As it was typed; `kind` is a `FileKind`, or the kind of a folder."""

    option: str
    path: Path | None
    kind: FileKind | str

    @property
    def typed(self) -> Path:
        return self.path or Path()

    @property
    def real(self) -> Path:
        """Where it is written, behind all links."""
        return Path(realpath(self.typed))

    @property
    def another(self) -> str:
        return "folder" if isinstance(self.kind, str) else "file"


def check_outputs(
    *outputs: Output, inputs: Iterable[str | Path | None] = (), store: str | None = None
) -> None:
    """Before hours are spent on what then cannot be written. `inputs` are files and folders that
    are read, and names that may be one; `store` is where runs go meanwhile."""
    wanted = [each for each in outputs if each.path is not None]
    read = [Path(each) for each in inputs if each and exists(each)]
    runs = _runs_output(store)
    for output in wanted:
        _check_kind(output)
        _check_inputs(output, read)
        _check_stores(output, runs)
    _check_apart([*wanted, *runs])
    for output in wanted:
        _check_writable(output)


@contextmanager
def drawn_later(*command: object) -> Iterator[None]:
    """Where charts cannot be drawn, what was measured is kept: one sentence, and exit code 1.
    `command` draws them later; without one, the same command does."""
    from heedful.report import Undrawn

    try:
        yield
    except Undrawn as error:
        later = f"`{shlex.join(map(str, command))}`" if command else "the same command"
        say(f"no page was drawn because {error.reason}: {later} draws it later.")
        raise typer.Exit(1) from error


def _check_kind(output: Output) -> None:
    from heedful.store import check_file, check_folder

    if not isinstance(output.kind, str):
        check_file(output.typed, output.kind)
    elif output.kind != PLACE:
        if output.real == Path.cwd():
            raise HeedfulError(f"-o is the current folder ({output.path}): give a new folder.")
        check_folder(output.typed, output.kind)


def _check_inputs(output: Output, inputs: Sequence[Path]) -> None:
    for path in inputs:
        place, another = Path(realpath(path)), output.another
        if place == output.real:
            raise HeedfulError(
                f"{output.path} would be written over what is read: give another {another}."
            )
        if place.is_dir() and place in output.real.parents:
            raise HeedfulError(
                f"{output.path} is inside {path}, which is read: give a {another} outside of it."
            )


def _check_stores(output: Output, runs: Sequence[Output]) -> None:
    own = {each.real for each in runs}
    for place in (output.real, *output.real.parents):
        if place in own or any((place / "runs").glob("*-*/run.json")):
            raise HeedfulError(
                f"{output.path} is inside a store: give a {output.another} outside of it."
            )


def _check_apart(outputs: Sequence[Output]) -> None:
    """No output is another one, or in it."""
    for one, other in combinations(outputs, 2):
        first, second = one.real, other.real
        if first == second or first in second.parents or second in first.parents:
            raise HeedfulError(
                f"{one.option} {one.path} and {other.option} {other.path} are in each other's way: "
                f"give another {other.another} with {other.option}."
            )


def _check_writable(output: Output) -> None:
    if output.typed.exists() and not output.typed.is_file() and not output.typed.is_dir():
        return  # a pipe or a device
    inside = output.real / "x" if isinstance(output.kind, str) else output.real
    place = next(each for each in inside.parents if each.exists())
    try:
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        reason = error.strerror or "no"
        raise HeedfulError(
            f"{output.path} cannot be written because {place} takes nothing ({reason.lower()}): "
            f"give another place."
        ) from error


def _runs_output(store: str | None) -> list[Output]:
    """The store is an output too, in a folder of its own."""
    from heedful.store import url_of

    return [] if store is None or url_of(store) else [Output("--store", Path(store), PLACE)]
