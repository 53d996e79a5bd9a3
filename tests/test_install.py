"""What a stranger installs: every file that is read, every package that is imported, no more."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from heedful import __version__
from heedful.cli import read
from heedful.errors import HeedfulError

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "heedful"
TOML = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = TOML["project"]["optional-dependencies"]
FOR_USERS = re.search(r"\[(.*)\]", EXTRAS["all"][0])[1].split(",")  # type: ignore[index]
MODULES = {
    "scikit-learn": "sklearn",
    "pyyaml": "yaml",
    "vl-convert-python": "vl_convert",
}
"""Packages whose module has another name."""
COMES_WITH = {
    "pydantic": "fastapi",
    "starlette": "fastapi",
    "markupsafe": "jinja2",
    "huggingface_hub": "transformers",
}
"""Modules that a declared package always brings and is used through."""


def test_every_file_beside_the_code_is_packaged() -> None:
    """A new folder of assets must be named in package-data, or installed pages lack it."""
    patterns = TOML["tool"]["setuptools"]["package-data"]["heedful"]
    packed = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    forgotten = [str(path.relative_to(PACKAGE)) for path in _data() if path not in packed]
    assert not forgotten, f"name them in [tool.setuptools.package-data]: {forgotten}"


def test_every_pattern_of_package_data_finds_something() -> None:
    patterns = TOML["tool"]["setuptools"]["package-data"]["heedful"]
    assert [pattern for pattern in patterns if not list(PACKAGE.glob(pattern))] == []


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """A package that nobody imports is weight; one that is not declared is luck."""
    imported = {COMES_WITH.get(name, name) for name in _imported()}
    assert imported == {_module(need) for need in _needs()}


def test_torch_is_pinned_in_the_constraints_only() -> None:
    pinned = [need for need in _needs() if "==" in need or "<" in need]
    assert pinned == [], "a range with an upper bound keeps people from newer versions"
    assert re.search(r"^torch==", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)


def test_the_version_is_said_once_and_the_pythons_are_named() -> None:
    project = TOML["project"]
    assert project["version"] == __version__
    assert project["requires-python"] == ">=3.11"
    named = {each.rsplit(" ", 1)[1] for each in project["classifiers"] if ":: Python :: 3." in each}
    assert named == {"3.11", "3.12", "3.13"}


def test_without_extras_every_command_says_what_to_install(tmp_path: Path) -> None:
    """And nothing needs one to be imported but the pages of servers, and models that are classes of
    transformers."""
    program = [sys.executable, str(ROOT / "tests" / "without_extras.py")]
    environment = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    for name, answer in found["answers"].items():
        assert answer["code"] == 2, (name, answer)
        wanted = f"pip install ['\"]heedful\\[{name.split()[0]}\\]['\"]"
        last = answer["err"].splitlines()[-1]
        assert re.fullmatch(rf"error: .*{wanted}.*", last), (name, answer["err"])
    assert {name.split()[0] for name in found["answers"]} == set(FOR_USERS)
    theirs = ("heedful.apps.", "heedful.models.hf.pooled", "heedful.models.hf.hooked")
    assert [name for name in found["unimportable"] if not name.startswith(theirs)] == []


def test_a_grid_without_yaml_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    grid = tmp_path / "grid.yaml"
    grid.write_text("studies: []", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(HeedfulError, match=r"pip install 'heedful\[scale\]'"):
        read(grid)


@pytest.mark.slow
def test_the_wheel_holds_the_tree_and_the_archive_nothing_private(tmp_path: Path) -> None:
    pytest.importorskip("build", reason="pip install 'heedful[dev]'")
    tree = _copy(tmp_path / "tree")
    tracked = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(tree)], check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        licences = {name for name in wheel.namelist() if "/licenses/" in name}
    assert names == {name[4:] for name in tracked if name.startswith("src/heedful/")}
    assert {Path(name).name for name in licences} == set(TOML["project"]["license-files"])
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        files = {each.name.partition("/")[2] for each in archive if each.isfile()}
    made = {name for name in files if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    assert files - made == tracked


def _code() -> list[Path]:
    return list(PACKAGE.rglob("*.py"))


def _data() -> Iterator[Path]:
    """What is no code and was not left by Python, an editor or an operating system."""
    for path in PACKAGE.rglob("*"):
        plain = not any(part.startswith((".", "__pycache__")) for part in path.parts[-3:])
        if path.is_file() and plain and path.suffix not in (".py", ".pyc"):
            yield path


def _imported() -> set[str]:
    """Top modules of others, also those asked for by `need("…")` and `import_module("…")`."""
    found = set()
    for path in _code():
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"\b(?:need|import_module)\(\"(\w+)", text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"heedful", "paper_tables"}  # lies beside src/


def _needs() -> list[str]:
    return [*TOML["project"]["dependencies"], *(n for e in FOR_USERS for n in EXTRAS[e])]


def _module(need: str) -> str:
    name = re.split("[<>=]", need)[0]
    return MODULES.get(name, name)


def _tracked() -> set[str]:
    """What git knows, or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git repository: what is private cannot be told")
    return set(listed.stdout.splitlines())


def _copy(tree: Path) -> Path:
    """Building writes into the tree it builds."""
    for name in _tracked():
        if (ROOT / name).is_file():  # one that was removed is still known to git
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    return tree
