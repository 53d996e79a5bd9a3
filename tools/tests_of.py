"""Which tests matter for a module: files that import it, else files that import what does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

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
    """`heedful.metrics.distances`; a package by its own name."""
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
