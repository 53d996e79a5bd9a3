"""The command line, from the parser itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from heedful.cli import app

INTRO = (
    "What bad input makes is one sentence and exit code 2; a gate that fails is exit code 1, and "
    "Ctrl-C 130. `heedful VERB --help` says the same as this page."
)


def commands() -> list[str]:
    """The page's parts."""
    parts = ["# Command line", INTRO]
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if not command.hidden:
            parts += _command(name, command)
    return parts


def _command(name: str, command: Any, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} heedful {name}"
    yield inspect.cleandoc(command.help or "")
    below = getattr(command, "commands", {})
    if not below:
        yield f"```text\n{_usage(name, command)}\n```"
    if lines := [_row(each) for each in command.params if not each.hidden]:
        yield "\n".join(["| parameter | default | meaning |", "|---|---|---|", *lines])
    for verb, each in below.items():
        yield from _command(f"{name} {verb}", each, level + 1)


def _usage(name: str, command: Any) -> str:
    arguments = [_place(each) for each in command.params if not each.opts[0].startswith("-")]
    return " ".join(["heedful", name, *arguments, "[OPTIONS]"])


def _place(each: Any) -> str:
    name = each.name.upper() + ("…" if each.nargs == -1 else "")
    return name if each.required else f"[{name}]"


def _row(each: Any) -> str:
    option = each.opts[0].startswith("-")
    names = [*each.opts, *each.secondary_opts] if option else [_place(each)]
    words = " ".join((each.help or "").split())
    if each.multiple and "repeatable" not in words:
        words += " Repeatable."
    if each.envvar:
        words += f" Also by the environment: `{each.envvar}`."
    return f"| {', '.join(f'`{one}`' for one in names)} | {_default(each)} | {_cell(words)} |"


def _default(each: Any) -> str:
    """What stands where nothing is given; a flag is off."""
    value = each.default
    if each.required:
        return "required"
    if value is None or value is False or value == () or value == [] or value == "":
        return ""
    if callable(value):
        return ""
    return f"`{_cell(str(value.value if isinstance(value, Enum) else value))}`"


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("<", "\\<").strip()
