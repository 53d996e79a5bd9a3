"""What a verb prints, and where it writes.

Every output is checked before anything is measured. `store/outputs.py` says what an output may
replace; here is where it may lie: on no input, in no model's folder, in no store, and apart from
the other outputs.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from os.path import exists, realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import HeedfulError

if TYPE_CHECKING:
    from heedful.store import FileKind

SCHEMA_VERSION = 1
PLACE = ""
"""Instead of a kind: a folder that files are put into, whatever it holds."""


def coloured() -> bool:
    """Whether standard output is a terminal that shows colours (https://no-color.org)."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def say(line: str) -> None:
    """Print a message for people to standard error, so that --json stays clean."""
    sys.stderr.write(f"{harmless(line)}\n")
    sys.stderr.flush()


def show(*lines: str) -> None:
    sys.stdout.writelines(f"{harmless(line)}\n" for line in lines)


def next_step(what: str) -> None:
    """What to do with a result, in one line, where somebody sees it appear."""
    if sys.stderr.isatty():
        say(f"Next: {what}")


def harmless(line: str) -> str:
    """Replace control characters, which names from data and models may hold and terminals obey."""
    return "".join(c if c in "\n\t" or _plain(c) else "\ufffd" for c in line)


def _plain(c: str) -> bool:
    """Neither a control character nor a lone surrogate, which cannot be encoded."""
    return c.isprintable() or (ord(c) > 0x9F and not "\ud800" <= c <= "\udfff")


def document(verb: str, value: dict[str, Any]) -> dict[str, Any]:
    """What `--json` prints; `heedful schema` has its schema."""
    whole: dict[str, Any] = _finite({"schema_version": SCHEMA_VERSION, "verb": verb, **value})
    return whole


def show_result(verb: str, as_json: bool, value: dict[str, Any], *lines: str) -> bool:
    """The result of a verb: as JSON where that was asked for, else as lines for people.

    JSON is one object with the schema's version and null for NaN, in any terminal's encoding.
    Returns whether it was JSON: nothing else may be shown then.
    """
    if as_json:
        plain = not codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
        sys.stdout.write(json.dumps(document(verb, value), indent=2, ensure_ascii=plain) + "\n")
    else:
        show(*lines)
    return as_json


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Output:
    """An output as it was typed; `kind` is a `FileKind`, or the kind of a folder."""

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
    """Check outputs before hours are spent on what cannot be written. `inputs` are files and
    folders that are read, or names that may be one; `store` is where runs are kept."""
    from heedful.store import url_of

    wanted = [each for each in outputs if each.path is not None]
    read = [Path(each) for each in inputs if each and exists(each)]
    runs = []
    if store is not None and not url_of(store):  # the store is an output too, in its own folder
        runs.append(Output("--store", Path(store), PLACE))
    for output in wanted:
        _check_kind(output)
        _check_inputs(output, read)
        _check_stores(output, runs)
    _check_apart([*wanted, *runs])
    for output in wanted:
        _check_writable(output)


@contextmanager
def drawn_later(*command: object) -> Iterator[None]:
    """If charts cannot be drawn, keep what was measured and exit with code 1. `command` draws them
    later; without one, the same command does."""
    import typer

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
    """No output may be another one, or inside of it."""
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
