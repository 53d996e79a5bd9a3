"""Packages are used through their public faces: the names that `__init__.pyi` lists."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "heedful"
FACES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.pyi"))
BARE = ("report", "store", "studies", "specs", "verdict")
"""What a machine without torch can import and use."""


def module_file(name: str) -> Path | None:
    path = SOURCE.parent.joinpath(*name.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.exists()), None)


@cache
def places(package: str) -> dict[str, str]:
    """Where the names of a face are defined."""
    tree = ast.parse((SOURCE / package / "__init__.pyi").read_text(encoding="utf8"))
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {name.name: line.module or "" for line in lines for name in line.names}


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Module and name of every `from heedful... import ...`, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heedful."):
            for name in node.names:
                yield node.module or "", name.name


def test_every_package_has_a_face() -> None:
    assert sorted(path.parent.name for path in SOURCE.glob("*/__init__.py")) == FACES


@pytest.mark.parametrize("package", FACES)
def test_a_face_offers_what_its_stub_lists(package: str) -> None:
    face = import_module(f"heedful.{package}")
    assert face.__all__ == sorted(places(package))
    for name, module in places(package).items():
        assert getattr(face, name) is getattr(import_module(module), name), name
    assert set(face.__all__) <= set(dir(face))
    with pytest.raises(AttributeError, match=f"module 'heedful.{package}' has no attribute 'nope'"):
        face.nope  # noqa: B018


def test_a_module_does_not_hide_the_function_of_its_name() -> None:
    module = import_module("heedful.experiments.permutation")
    from heedful.experiments import permutation

    assert permutation is module.permutation


def test_packages_import_each_other_through_their_faces() -> None:
    seen = 0
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0]
        for module, name in imports(path):
            package, inside = module.split(".")[1], module.count(".") > 1
            if package in FACES and package != own:
                seen += 1
                assert not inside or name not in places(package), f"{path.name}: {module}.{name}"
    assert seen > 1000


def run_on_import(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, without those of functions and those for type checkers."""
    for node in body:
        for_checkers = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not for_checkers and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            for part in ("body", "orelse", "handlers", "finalbody"):
                yield from run_on_import(getattr(node, part, []))


def loads(path: Path) -> Iterator[str]:
    """The modules that a module needs to be imported, found behind the faces."""
    for node in run_on_import(ast.parse(path.read_text(encoding="utf8")).body):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("heedful"))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("heedful"):
            module = node.module or ""
            face = places(module.split(".")[1]) if module.removeprefix("heedful.") in FACES else {}
            for name in node.names:
                whole = f"{module}.{name.name}"
                yield face.get(name.name) or (whole if module_file(whole) else module)


def test_no_module_and_no_package_is_imported_in_a_circle() -> None:
    """Module by module, as Python imports them; then package by package."""
    modules: dict[str, set[str]] = {}
    packages: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        name = name.removesuffix(".__init__")
        modules[name] = set(loads(path)) - {name}
        own = name.split(".")[1] if "." in name else ""
        others = {each.split(".")[1] for each in modules[name] if "." in each}
        packages.setdefault(own, set()).update(others - {own})
    assert len(modules) > 150 and sum(map(len, modules.values())) > 1000
    for graph in (modules, packages):
        list(TopologicalSorter(graph).static_order())  # raises a CycleError that names the circle


@pytest.mark.parametrize("start", BARE)
def test_nothing_reaches_torch_from(start: str) -> None:
    """Through any import, also inside functions, and through faces."""
    found = SOURCE / start
    todo = (
        [found.with_suffix(".py")] if found.with_suffix(".py").exists() else [*found.rglob("*.py")]
    )
    seen = set(todo)
    while todo:
        path = todo.pop()
        text = path.read_text(encoding="utf8")
        for node in ast.walk(ast.parse(text)):
            plain = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            whole = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in plain + whole:
                assert name.split(".")[0] not in ("torch", "accelerate"), path
        for module, name in imports(path):
            package = module.split(".")[1]
            faced = package in FACES and module.count(".") == 1
            target = places(package).get(name, f"{module}.{name}") if faced else module
            file = module_file(target) or module_file(target.rpartition(".")[0])
            if file and file not in seen:
                seen.add(file)
                todo.append(file)


def test_importing_a_face_loads_none_of_its_modules() -> None:
    code = (
        "import sys, heedful\n"
        f"for name in {FACES}: __import__(f'heedful.{{name}}')\n"
        "print(*sorted({'torch', 'numpy', 'pandas'} & sys.modules.keys()))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""
