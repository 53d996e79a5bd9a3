"""Whatever is typed, whatever the files hold: bad input is exit code 2 and one sentence that
names the thing and the fix; nothing is printed as if it were a result, and nothing is left."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from heedful.cli import app, main

pytest.importorskip("transformers")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("jinja2")
pytest.importorskip("altair")
pytest.importorskip("yaml")

import typer

from bad_input.catalogue import CATALOGUE
from bad_input.entry import Bad, World
from bad_input.sentences import one_sentence
from bad_input.shared import key_of

KINDS = ("model", "corpus", "probe", "study", "audit")


@pytest.fixture
def world(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("HEEDFUL_DATA", "HEEDFUL_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEEDFUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    return World(shared, here)


def typed(entry: Bad, world: World) -> list[str]:
    """The command line, in a world that was prepared for it."""
    made = entry.prepare(world)
    names = made if isinstance(made, dict) else {}
    return [names.get(word, put(word, world)) for word in entry.typed]


def put(text: str, world: World) -> str:
    """With the names of shared things in their places."""
    keys = {f"{kind.upper()}_KEY": key_of(world.shared, kind) for kind in KINDS}
    for mark, name in {"SHARED": str(world.shared), **keys}.items():
        text = text.replace(mark, name)
    return text


def tree(folder: Path, leaves: tuple[str, ...] = ()) -> dict[str, str]:
    """Every file with what is in it, and the folders that hold one. What is in a store's
    `scratch` is cleaned by `heedful store gc`; whole runs of the kinds in `leaves` may stay."""
    found = {}
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        kept = "scratch" in inside.parts or _run_of(inside).startswith(leaves or ("-",))
        if not kept and (path.is_file() or (path.parent == folder and not _is_new_store(path))):
            found[str(inside)] = _digest(path)
    return found


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """The same for a large folder that nobody should touch at all."""
    found = ((path, path.stat()) for path in folder.rglob("*") if path.is_file())
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in found}


def _run_of(path: Path) -> str:
    return path.parts[path.parts.index("runs") + 1] if "runs" in path.parts[:-1] else ""


def _is_new_store(path: Path) -> bool:
    """A folder with nothing in it but `scratch` and `runs`."""
    return path.is_dir() and {each.name for each in path.iterdir()} <= {"scratch", "runs"}


def _digest(path: Path) -> str:
    if not path.is_file():
        return "folder"
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", CATALOGUE)
def test_bad_input_is_one_sentence(
    name: str, world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = CATALOGUE[name]
    arguments = typed(entry, world)
    for variable, value in entry.environment.items():
        monkeypatch.setenv(variable, put(value, world))
    before = tree(world.here), stamps(world.shared)
    code = main(arguments)
    out, err = capsys.readouterr()
    assert code == 2, (code, out, err)
    assert out == ""
    one_sentence(err)
    assert mentions(err, put(entry.names, world)), err
    assert mentions(err, put(entry.fix, world)), err
    assert (tree(world.here, entry.leaves), stamps(world.shared)) == before


def mentions(err: str, what: str) -> bool:
    """As an option or as its name in Python: `--label-map`, `label_map`, `LABEL MAP`."""
    plain = re.compile(r"[\s_-]+")
    return plain.sub(" ", what).strip().lower() in plain.sub(" ", err).lower()


BARS = (
    "corpora: a dev split of one class",
    "models: a head that is not there",
    "pages: a model without weights",
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", BARS)
def test_a_terminal_is_left_as_it_was(
    name: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a bar was drawn: it is gone, the cursor is back, and the sentence stands alone."""
    arguments, screen = typed(CATALOGUE[name], world), Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert main(arguments) == 2
    said = screen.getvalue()
    assert said.count("\x1b[?25l") == said.count("\x1b[?25h")
    bar, _, sentence = said.rpartition("error: ")
    assert sentence.count("\n") == 1 and "\x1b" not in sentence
    assert not bar or bar.endswith(("\x1b[2K", "\x1b[?25h", "\r")), repr(bar[-40:])


def test_every_verb_is_driven() -> None:
    """With at least two bad inputs, sub-verbs too."""
    driven = [_verb(entry) for entry in CATALOGUE.values()]
    few = [verb for verb in _verbs() if driven.count(verb) < 2]
    assert not few, f"no bad input for {few}"
    assert len(CATALOGUE) >= 200


def _verbs() -> Iterator[tuple[str, ...]]:
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        yield from ((name, each) for each in inner) if inner else ((name,),)


def _verb(entry: Bad) -> tuple[str, ...]:
    first, *rest = entry.typed or ("",)
    return (first, *rest[:1]) if first in ("store", "annotate") else (first,)
