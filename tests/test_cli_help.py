"""Help is short at the top: everyday options first, the others under headings, then examples."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from heedful.cli import about_and_examples, app
from heedful.cli.app import GROUPS, RENAMED, VERBS
from heedful.cli.help import PANELS
from verbs import run

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def all_verbs() -> Iterator[tuple[str, Any]]:
    for name, command in COMMANDS.items():
        inner = getattr(command, "commands", {})
        yield from ((f"{name} {below}", each) for below, each in inner.items())
        if not inner:
            yield name, command


EVERY = [pytest.param(name, command, id=name) for name, command in all_verbs()]


def helped(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    return out


def test_verbs_are_grouped(capsys: pytest.CaptureFixture[str]) -> None:
    out = helped(capsys, "-h")
    assert out == helped(capsys, "--help") == helped(capsys)
    headings = re.findall(r"^([A-Z].*):$", out, re.M)
    assert headings == ["Options", *GROUPS]
    assert re.findall(r"^  ([a-z]+) +[A-Z]", out, re.M) == list(VERBS)
    assert sum(map(len, GROUPS.values())) == len(VERBS)


@pytest.mark.parametrize(("name", "command"), EVERY)
def test_every_option_stands_once_and_machines_last(
    name: str, command: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = helped(capsys, *name.split(), "-h")
    assert out == helped(capsys, *name.split(), "--help")
    for param in command.params:
        if param.opts[0].startswith("--"):
            assert len(re.findall(rf"^  (?:-\w, )?{param.opts[0]}\b(?!-)", out, re.M)) == 1, param
    headings = [line[:-1] for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    known = ["Arguments", "Options", *PANELS, "Examples"]
    assert headings == [heading for heading in known if heading in headings]
    assert "1000000000" not in out and not any(old in out.split() for old in RENAMED)


def test_an_audit_begins_with_what_is_used_every_day(capsys: pytest.CaptureFixture[str]) -> None:
    out = helped(capsys, "audit", "-h")
    everyday = out.partition("\nOptions:\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"--[a-z-]+", everyday)) >= {"--out", "--n", "--quick", "--text-column"}
    assert "--alpha" not in everyday and "--device" not in everyday
    assert out.rstrip().splitlines()[-4] == "Examples:"


@pytest.mark.parametrize(("name", "command"), EVERY)
def test_examples_can_be_typed(name: str, command: Any) -> None:
    options = {option for param in command.params for option in param.opts}
    for line in about_and_examples(command.help)[1].splitlines():
        program, verb, *words = shlex.split(line)
        assert (program, verb) == ("heedful", name)
        assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_help_is_as_wide_as_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    about, _, examples = helped(capsys, "audit", "-h").partition("\nExamples:\n")
    assert max(map(len, about.splitlines())) <= min(columns, 100)
    assert len(examples.splitlines()) == 3  # a command is never broken
