"""How many small wrong changes do the tests notice? (`make mutate`)

Takes some mutants of the core by chance, runs the tests that matter for each, and lists those
that nobody noticed. Everything happens in a copy in a temporary folder: the working tree is read
once and never written. A mutant that survives is a missing test, or changes nothing that counts.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools.mutants import Mutant, Mutants

SLOWEST = ("test_browser", "test_sweep", "test_bench")
"""Files that look at modules through browsers, clusters or clocks."""


class Suite:
    """Of a project with `src/` and `tests/`; read once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def of(self, module: str) -> list[Path]:
        """Test files, the nearest first: those that import it, of these the ones named alike.
        A module is also reached through its folder (a catalogue, its neighbours), so tests that
        are named alike and import anything of the folder count too."""
        folder = module.rpartition(".")[0]
        direct = [path for path, names in self._tests.items() if module in names]
        beside = [path for path, names in self._tests.items() if _any_of(folder, names)]
        named = [path for path in beside if _likeness(path, module)]
        found = {*direct, *named} or self._beyond(module)
        return sorted(found, key=lambda path: (path not in direct, -_likeness(path, module), path))

    def _beyond(self, module: str) -> set[Path]:
        """Of the nearest importers that any test imports."""
        seen, now = {module}, {module}
        while now:
            now = {name for name, used in self._modules.items() if used & now} - seen
            seen |= now
            found = {path for path, names in self._tests.items() if names & now}
            if found:
                return found
        return set()

    @cached_property
    def _modules(self) -> Mapping[str, set[str]]:
        source = self.root / "src"
        paths = source.rglob("*.py")
        return {module_name(path, source): _imported(path) for path in paths}

    @cached_property
    def _tests(self) -> Mapping[Path, set[str]]:
        """With what their own helpers import: a test of `tiny` models uses no other way."""
        folder = self.root / "tests"
        helpers = {path.stem: _imported(path) for path in folder.glob("*.py")}
        paths = sorted(folder.glob("test_*.py"))
        asked = [path for path in paths if not path.stem.startswith(SLOWEST)]
        return {path: _with(_imported(path), helpers) for path in asked}


def module_name(path: Path, source: Path) -> str:
    """`heedful.metrics.tvd`; a package by its own name."""
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _with(names: Iterable[str], helpers: Mapping[str, set[str]]) -> set[str]:
    own = set(names)
    return own.union(*(helpers[name] for name in own if name in helpers))


def _imported(path: Path) -> set[str]:
    """Modules by name; of `from a import b` both `a` and `a.b`, whichever is one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _any_of(folder: str, names: Iterable[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder}.") for name in names)


def _likeness(path: Path, module: str) -> int:
    """How many parts of a module's name are in a test's; the last ones tell more."""
    parts = module.split(".")[1:]
    return sum(place for place, part in enumerate(parts, 1) if part in path.stem)


# A trial of mutants: the tests that matter are run in a copy of the project with one changed.


COPIED = ("src", "tests", "bench", "paper_tables", "tools", "docs")
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


ROOT = Path(__file__).parent.parent
CORE = (
    "metrics", "measures", "verdict", "edits", "removal", "probes", "store", "words",
    "randomness", "auditing",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    given = _options().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="heedful-mutate-") as folder:
        copy = copied(ROOT, Path(folder))
        trial = Trial(copy, given.seconds)
        found = [(each, trial.judge(each)) for each in choose(copy, given.packages, given)]
    show(found)


def choose(root: Path, packages: Sequence[str], given: argparse.Namespace) -> list[Chosen]:
    """So many of all there are, by chance; the same for the same seed and code."""
    source = root / "src" / "heedful"
    places = [source / f"{name}.py" if (source / f"{name}.py").is_file() else source / name
              for name in packages]  # fmt: skip
    paths = sorted(path for place in places for path in _modules(place))
    texts = {path.relative_to(root): Mutants(path.read_text(encoding="utf8")) for path in paths}
    every = [(path, number) for path, found in texts.items() for number in range(len(found))]
    sampled = random.Random(given.seed).sample(every, min(given.n, len(every)))
    say(f"{len(sampled)} of {len(every)} mutants of {len(paths)} modules, seed {given.seed}")
    return [Chosen(path, texts[path][number]) for path, number in sampled]


def show(found: Sequence[tuple[Chosen, str]]) -> None:
    """By package, then every mutant that survived."""
    counts = Counter((each.package, said) for each, said in found)
    for package in sorted({each.package for each, _ in found}):
        parts = [f"{counts[package, said]} {said}" for said in (KILLED, SURVIVED, SLOW, UNJUDGED)]
        say(f"{package:<12} {', '.join(part for part in parts if not part.startswith('0 '))}")
    for each, said in found:
        if said == SURVIVED:
            say(f"\n{each.path}:{each.mutant.line}")
            say(f"  - {_line(each.mutant.before)}\n  + {_line(each.mutant.after)}")


def _modules(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _line(text: str) -> str:
    return " ".join(text.split())[:160]


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", default=list(CORE), help="of src/heedful")
    parser.add_argument("-n", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--seconds", type=float, default=300, help="time limit of each")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    main()
