"""Commands of the pages: does the real parser take them, and do they run?

What is not Heedful's own is tried as far as it can be without a network: a target of make must
be there, a module must be found. Programs that a page may name and nobody runs here are listed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from docs_pages import ROOT
from heedful.cli import app, main
from heedful.cli.help import SETTINGS

SHELL = ("cat", "cd", "cp", "cut", "echo", "export", "head", "ls", "mkdir", "mv", "printf", "rm")
"""Run by a shell."""
LEFT = ("pip", "pipx", "uv", "conda", "curl", "sbatch", "git", "ray", "docker", "apt-get")
"""Never run: they change the machine, or need another one."""
_BETWEEN = {"|", "||", "&&", ";", "&"}
_REDIRECTS = {">", ">>", "<", "2>", "2>&1"}


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, or typer's own copy


class Refused(Exception):
    """Why a command of a page cannot be right."""


def parse(line: str) -> None:
    for words in simple_commands(line):
        _parse(words)


def run(line: str, folder: Path) -> int:
    """The exit code, in the page's folder. Heedful runs in this process."""
    parts = list(simple_commands(line))
    if len(parts) == 1 and parts[0][0] == "heedful" and not _redirects(line):
        return main(parts[0][1:])
    if all(words[0] in (*LEFT, "make") for words in parts):
        parse(line)
        return 0
    return _shell(line, folder)


def simple_commands(line: str) -> Iterator[list[str]]:
    """What stands between pipes and `&&`, without what is sent to files, and without the names
    that are given to an environment."""
    words: list[str] = []
    for word in _words(line):
        if word in _BETWEEN:
            yield _named(words)
            words = []
        else:
            words.append(word)
    if words:
        yield _named(words)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def _redirects(line: str) -> bool:
    return any(word in _REDIRECTS for word in _words(line))


def _named(words: Sequence[str]) -> list[str]:
    kept = list(words)
    while kept and re.fullmatch(r"[A-Z_]+=.*", kept[0]):
        kept.pop(0)
    for number, word in enumerate(kept):
        if word in _REDIRECTS:
            return kept[:number]
    return kept


def _parse(words: list[str]) -> None:
    program, *rest = words or ["export"]
    if program == "heedful":
        _parse_heedful(rest)
    elif program in ("python", "python3"):
        _parse_python(rest)
    elif program == "make":
        _parse_make(rest)
    elif program not in (*SHELL, *LEFT):
        raise Refused(f"nobody knows the program {program!r}")


def _parse_heedful(arguments: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    name = "heedful"
    while arguments and arguments[0] in getattr(command, "commands", {}):
        name, *arguments = arguments
        command = command.commands[name]
    below = getattr(command, "commands", {})
    if below and arguments and not arguments[0].startswith("-"):
        raise Refused(f"heedful has no verb {arguments[0]!r}: there are {', '.join(below)}")
    try:
        # a command keeps the names of its help option from the first context
        command.make_context(name, list(arguments), **SETTINGS)
    except typer.Exit:  # --help and --version
        return
    except _UsageError as error:
        raise Refused(str(getattr(error, "message", error))) from error


def _parse_python(arguments: list[str]) -> None:
    if arguments[:2] == ["-m", "heedful.cli.main"]:
        _parse_heedful(arguments[2:])
    elif arguments[:1] == ["-m"] and find_spec(arguments[1]) is None:
        raise Refused(f"there is no module {arguments[1]!r}")
    elif arguments[:1] == ["-c"]:
        compile(arguments[1], "-c", "exec")


def _parse_make(arguments: list[str]) -> None:
    targets = re.findall(r"^([\w -]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    known = {name for line in targets for name in line.split()}
    for target in arguments:
        if "=" not in target and target not in known:
            raise Refused(f"the Makefile has no target {target!r}")


def _shell(line: str, folder: Path) -> int:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return found.returncode
