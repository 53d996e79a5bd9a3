"""Nothing that version 0.1 could do is lost: verbs, options, registry entries, public names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from tools.public_api import commands, names

from heedful.cli import catalogues
from heedful.cli.app import RENAMED, renamed

BEFORE = Path(__file__).parent / "golden" / "version-0.1"
REPLACED = {"heedful zoo": "heedful benchmark"}
"""Verbs that another one took over; they still answer, with a sentence that names it."""


def lines(name: str) -> list[str]:
    return (BEFORE / name).read_text(encoding="utf8").splitlines()


def test_every_verb_and_option_is_still_there() -> None:
    now = set(commands().splitlines())
    kept = [line for line in lines("commands.txt") if not line.startswith(tuple(REPLACED))]
    assert [line for line in kept if " ".join(renamed(line.split())) not in now] == []
    assert set(REPLACED.values()) <= now


def test_an_old_option_name_works_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["audit", "m", "--operators", "delete,mask", "--smallest=importance=0.5"]
    assert renamed([*typed, "--operators", "zero"])[2:6] == [
        *("--perturbations", "delete,mask", "--min-effect=importance=0.5", "--perturbations"),
    ]
    told = capsys.readouterr().err
    assert told.count("--operators is now --perturbations") == 1
    assert set(RENAMED.values()).isdisjoint(RENAMED)


def test_every_registry_entry_is_still_there() -> None:
    now = {f"{kind} {name}" for kind, entries in catalogues().items() for name in entries}
    assert sorted(set(lines("entries.txt")) - now) == []


@pytest.mark.parametrize("name", lines("names.txt"))
def test_every_public_name_is_still_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(import_module(module), attribute)


def test_every_keyword_of_audit_and_explain_is_still_there() -> None:
    _, _, options = names().partition("# **options")
    now = {line.split(":")[0].split("(")[0].strip() for line in options.splitlines()}
    assert sorted(set(lines("keywords.txt")) - now) == []
