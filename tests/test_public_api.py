"""What is public changes only when somebody means it: docs/stability.md."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.public_api import FOLDER, MODULES, commands, members, names, public, written

import heedful

ROOT = Path(__file__).parent.parent
AGAIN = "if that is meant, run `python -m tools.public_api` and write it into CHANGELOG.md"
PUBLIC = [(f"{module}.{name}", value) for module, name, value in public()]


def snapshot(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf8").splitlines()


def test_names_and_signatures_are_the_committed_ones() -> None:
    found, known = names().splitlines(), snapshot("public_api.txt")
    assert [line for line in known if line not in found] == [], f"gone or changed: {AGAIN}"
    assert [line for line in found if line not in known] == [], f"new: {AGAIN}"
    assert found == known, AGAIN


def test_verbs_and_options_are_the_committed_ones() -> None:
    found, known = commands().splitlines(), snapshot("commands.txt")
    assert sorted(set(known) - set(found)) == [], f"gone: {AGAIN}"
    assert sorted(set(found) - set(known)) == [], f"new: {AGAIN}"


@pytest.mark.parametrize(("name", "value"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_every_public_name_is_documented_and_typed(name: str, value: object) -> None:
    if inspect.isfunction(value):
        assert value.__doc__, f"{name} has no docstring"
        check_typed(name, value)
    elif isinstance(value, type):
        assert value.__doc__ and not value.__doc__.startswith(f"{value.__name__}("), name
        for member, each in members(value):
            check_typed(f"{name}.{member}", written(each))


def check_typed(name: str, function: object) -> None:
    found = inspect.signature(function)  # type: ignore[arg-type]
    assert found.return_annotation is not found.empty, f"{name} does not say what it returns"
    for each in found.parameters.values():
        assert each.name == "self" or each.annotation is not each.empty, f"{name}: {each.name}"


def test_a_type_checker_sees_the_same_names() -> None:
    """`__init__.pyi` lists the names once; `__init__.py` reads it."""
    tree = ast.parse((ROOT / "src/heedful/__init__.pyi").read_text(encoding="utf8"))
    lines = [each for each in tree.body if isinstance(each, ast.ImportFrom)]
    listed = {name.asname for line in lines for name in line.names}
    assert {*listed, "__version__"} == set(heedful.__all__)
    assert set(heedful.__all__) <= set(dir(heedful))


def test_the_page_lists_what_is_public() -> None:
    text = (ROOT / "docs/stability.md").read_text(encoding="utf8")
    listed = {
        module: set(re.findall(r"`(\w+)`", line))
        for module, line in re.findall(r"^- `([\w.]+)`: (.*(?:\n  .*)*)", text, re.MULTILINE)
    }
    assert set(listed) == set(MODULES)
    for module in MODULES:
        assert listed[module] == {name for where, name, _ in public() if where == module}


def test_importing_heedful_is_light() -> None:
    """CPU time, as a busy machine would fail a clock; no library that takes longer."""
    heavy = ("torch", "numpy", "pandas", "pyarrow", "scipy", "typer", "rich")
    code = (
        "import sys, time; start = time.process_time(); import heedful; "
        f"print(time.process_time() - start, *sorted({heavy!r} & sys.modules.keys()))"
    ).replace(repr(heavy), repr(set(heavy)))
    told = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(2)]
    seconds, *loaded = min(told).split()
    assert float(seconds) < 0.1 and loaded == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'adit'"):
        _ = heedful.adit  # type: ignore[attr-defined]


PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_pages_use_public_names_only(page: Path) -> None:
    known = {module: {name for where, name, _ in public() if where == module} for module in MODULES}
    for block in BLOCK.findall(page.read_text(encoding="utf8")):
        for each in ast.walk(ast.parse(block)):
            if isinstance(each, ast.ImportFrom) and str(each.module).startswith("heedful"):
                used = {name.name for name in each.names}
                assert used <= known.get(str(each.module), set()), f"{each.module}: {used}"
