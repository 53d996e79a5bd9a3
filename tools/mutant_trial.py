"""A trial of mutants: the tests that matter are run in a copy of the project with one changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants import Mutant
from tools.tests_of import Suite, module_name

COPIED = ("src", "tests", "bench", "tools", "docs")
NEAREST, MOST = 2, 8
"""Test files that are asked first, and in all."""
KILLED, SURVIVED, SLOW, UNJUDGED = "killed", "survived", "too slow", "not judged"


@dataclass(frozen=True)
class Chosen:
    """A mutant of a module."""

    path: Path
    mutant: Mutant

    @property
    def package(self) -> str:
        return self.path.parts[2].removesuffix(".py")


class Trial:
    """A copy of the project in which one module at a time is replaced."""

    def __init__(self, root: Path, seconds: float) -> None:
        self.root, self.seconds = root, seconds
        self.suite = Suite(root)
        self._sound: dict[Path, bool] = {}

    def judge(self, chosen: Chosen) -> str:
        """What the tests said: the nearest files, and where those notice nothing, some more.
        Files that fail or take too long without it say nothing; `not judged` if all do."""
        path = self.root / chosen.path
        files = self.suite.of(module_name(path, self.root / "src"))
        said, asked = UNJUDGED, list[Path]()
        for some in (files[:NEAREST], files[NEAREST:MOST]):
            sound = [file for file in some if self._passes_as_it_is(file)]
            if sound:
                said, asked = self._said(chosen, sound), [*asked, *sound]
            if said not in (SURVIVED, UNJUDGED):
                break
        return _told(chosen, said, asked)

    def _said(self, chosen: Chosen, files: Sequence[Path]) -> str:
        path = self.root / chosen.path
        original = path.read_text(encoding="utf8")
        path.write_text(chosen.mutant.source, encoding="utf8")
        try:
            return {0: SURVIVED, None: SLOW}.get(self._run(files), KILLED)
        finally:
            path.write_text(original, encoding="utf8")

    def _passes_as_it_is(self, file: Path) -> bool:
        if file not in self._sound:
            self._sound[file] = self._run([file]) == 0
        return self._sound[file]

    def _run(self, files: Sequence[Path]) -> int | None:
        """pytest's exit code, None after the time limit."""
        options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow"]
        child = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *map(str, files)],
            cwd=self.root,
            env=_environment(self.root),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return child.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(child)


def copied(root: Path, folder: Path) -> Path:
    """The parts that tests look at; nothing built, nothing hidden."""
    ignored = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
    for path in sorted(root.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, folder)
        elif path.name in COPIED:
            shutil.copytree(path, folder / path.name, ignore=ignored)
    return folder


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _told(chosen: Chosen, said: str, files: Sequence[Path]) -> str:
    names = " ".join(path.stem for path in files) or "no test"
    say(f"{said:<10} {chosen.path}:{chosen.mutant.line} ({names})")
    return said


def _environment(root: Path) -> dict[str, str]:
    """The copy's own code, also in processes that tests start; no compiled files, since a
    mutant may be as long and as old as the module it replaces."""
    own = {
        "PYTHONPATH": str(root / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(root / ".hypothesis"),
        "OMP_NUM_THREADS": "1",
    }
    return {**{k: v for k, v in os.environ.items() if k != "HEEDFUL_DATA"}, **own}


def _end(child: subprocess.Popen[bytes]) -> None:
    """With all that it started: the session is its own."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
