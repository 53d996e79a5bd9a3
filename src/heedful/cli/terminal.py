"""What people see: progress bars on a terminal, JSON where it was asked for."""

from __future__ import annotations

import codecs
import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heedful.progress import Progress as Listener
from heedful.progress import silent

SCHEMA_VERSION = 1


def say(line: str) -> None:
    """For people: to standard error, so that --json stays clean."""
    sys.stderr.write(f"{harmless(line)}\n")
    sys.stderr.flush()


def show(*lines: str) -> None:
    sys.stdout.writelines(f"{harmless(line)}\n" for line in lines)


def harmless(line: str) -> str:
    """Names from data and models may hold control characters, which a terminal would obey."""
    return "".join(c if c in "\n\t" or _plain(c) else "\ufffd" for c in line)


def _plain(c: str) -> bool:
    """Half of a character is none: a terminal could not even be sent it."""
    return c.isprintable() or (ord(c) > 0x9F and not "\ud800" <= c <= "\udfff")


def show_json(verb: str, value: dict[str, Any]) -> None:
    """One JSON object with the schema's version; what is not a number is null. It is JSON
    whatever the terminal's encoding."""
    plain = not codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    found = document(verb, value)
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=plain) + "\n")


def document(verb: str, value: dict[str, Any]) -> dict[str, Any]:
    """What `--json` prints; `heedful schema` has its schema."""
    found: dict[str, Any] = _finite({"schema_version": SCHEMA_VERSION, "verb": verb, **value})
    return found


@contextmanager
def progress_bar() -> Iterator[Listener]:
    """A bar on a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeRemaining

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemaining(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def listen(label: str, done: int, total: int) -> None:
            bar.update(task, description=label, completed=done, total=total)

        yield listen


def page_line(path: Path) -> str:
    """Where a page is, and how large it is to send around."""
    return f"page: {path} ({path.stat().st_size / 1e6:.1f} MB)"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
