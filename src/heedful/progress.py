"""How long work tells how far it is, without knowing who listens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any, Protocol, runtime_checkable


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
    display = notebook_display() if wanted in (None, True) else None
    if callable(wanted):
        yield wanted
    elif display is not None:
        with _notebook_bar(display) as listener:
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


def notebook_display() -> Callable[..., Any] | None:
    """How the notebook that this runs in shows something; None outside of notebooks."""
    library = sys.modules.get("IPython")
    shell = library.get_ipython() if library is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    display: Callable[..., Any] = import_module("IPython.display").display
    return display


@contextmanager
def _notebook_bar(display: Callable[..., Any]) -> Iterator[Progress]:
    """Without widgets, which not every notebook has; it leaves nothing behind."""
    handle = display(_bar("loading", 0, 0), raw=True, display_id=True)

    def listen(label: str, done: int, total: int) -> None:
        handle.update(_bar(label, done, total), raw=True)

    try:
        yield listen
    finally:
        handle.update({"text/html": "", "text/plain": ""}, raw=True)


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
