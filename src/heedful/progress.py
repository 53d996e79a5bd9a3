"""How long work tells how far it is, without knowing who listens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4


@runtime_checkable
class Progress(Protocol):
    """Called with a label, the work done and the total."""

    def __call__(self, label: str, done: int, total: int) -> None: ...


def silent(label: str, done: int, total: int) -> None:
    """Nobody listens."""


@contextmanager
def progress_bar(wanted: bool | Progress | None = None) -> Iterator[Progress]:
    """A bar where somebody watches, a notebook or a terminal, and nothing elsewhere; `True` shows
    one anywhere, `False` nowhere. A listener of the caller's is told instead."""
    publish = notebook() if wanted in (None, True) else None
    if callable(wanted):
        yield wanted
    elif publish is not None:
        with _notebook_bar(publish) as listener:
            yield listener
    elif wanted or (wanted is None and sys.stderr.isatty()):
        with _terminal_bar() as listener:
            yield listener
    else:
        yield silent


@contextmanager
def _terminal_bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None)

        def listen(label: str, done: int, total: int) -> None:
            bar.update(task, description=label, completed=done, total=total)

        yield listen


def notebook() -> Callable[..., None] | None:
    """What publishes an output of the notebook that this runs in; None outside of notebooks."""
    library = sys.modules.get("IPython")
    shell: Any = library.get_ipython() if library is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    publish: Callable[..., None] = shell.display_pub.publish
    return publish


@contextmanager
def _notebook_bar(publish: Callable[..., None]) -> Iterator[Progress]:
    """Without widgets, which not every notebook has; it leaves nothing behind."""
    own = {"display_id": uuid4().hex}
    publish(_bar("loading", 0, 0), transient=own)

    def listen(label: str, done: int, total: int) -> None:
        publish(_bar(label, done, total), transient=own, update=True)

    try:
        yield listen
    finally:
        publish({"text/html": "", "text/plain": ""}, transient=own, update=True)


def _bar(label: str, done: int, total: int) -> dict[str, str]:
    count = f" {done:,} of {total:,}" if total else ""
    at = f' value="{done}" max="{total}"' if total and done else ""
    html = f"<progress{at}></progress> {escape(label)}{count}"
    return {"text/html": html, "text/plain": f"{label}{count}"}


def seconds_each(few: tuple[int, float], many: tuple[int, float]) -> float:
    """What one text takes, from two timings (texts, seconds): what both cost alike is left out."""
    return max(0.0, many[1] - few[1]) / (many[0] - few[0])


def duration(seconds: float) -> str:
    """For people: `40 s`, `25 min`, `3.5 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
