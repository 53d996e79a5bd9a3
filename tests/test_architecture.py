"""ARCHITECTURE.md and its companions are held to the code: every name is where they say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from heedful.auditing import page_data, tables
from heedful.cli import KINDS
from heedful.cli.app import VERBS
from heedful.experiments import Collector, ForwardBatch
from heedful.metrics import COLUMNS as SUMMARY_COLUMNS
from heedful.registry import Registry
from heedful.runner import ENGINES, probe
from heedful.types import Keep, rows
from tiny import tiny_batch, tiny_model

waves = import_module("heedful.auditing.schedule")


ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "heedful"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf8")
DESIGN, STORE, ASSUMPTIONS = (
    (ROOT / "docs" / f"{name}.md").read_text("utf8") for name in ("design", "store", "assumptions")
)
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
PLACE = re.compile(r"`([\w/]+\.py)`(?:: ((?:`\w+`(?:, )?)+))?")


def section(title: str, page: str = PAGE) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert found, f"no section {title!r}"
    return found[1]


def table(title: str, page: str = PAGE) -> list[list[str]]:
    """The cells of the rows of a section's tables, headings left out."""
    lines = [line for line in section(title, page).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    heads = {place - 1 for place, line in enumerate(lines) if set(line) <= set("|- ")}
    return [row for place, row in enumerate(cells) if not {place, place - 1} & heads]


def places(text: str) -> Iterator[tuple[Path, list[str]]]:
    """Files with the names after them: `types.py`: `Trace`."""
    for path, names in PLACE.findall(text):
        base = SOURCE if (SOURCE / path).exists() else ROOT
        yield base / path, re.findall(r"\w+", names)


def defined(path: Path) -> set[str]:
    names = set()
    for node in ast.parse(path.read_text(encoding="utf8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_every_path_exists() -> None:
    text = PAGE + DESIGN + STORE + ASSUMPTIONS
    paths = set(re.findall(r"`((?:[\w-]+/)*[\w-]+(?:\.py|\.md|/))`", text))
    own = {"scratch/"}  # of a store
    patterns = {path for path in paths if "NAME" in path}
    assert len(paths) > 60 and len(patterns) >= 1
    for path in paths - own - patterns:
        assert (SOURCE / path).exists() or (ROOT / path).exists(), path
    for path in patterns:
        assert (SOURCE / path.partition("NAME")[0]).is_dir(), path
    drawn = re.findall(r"(\w+)/", section("The flow").partition("```text")[2].partition("```")[0])
    assert len(drawn) > 12 and all((SOURCE / name).is_dir() for name in drawn)


def test_nouns_are_where_the_table_says() -> None:
    nouns = table("The nouns")
    assert len(nouns) > 20
    for noun, _, where in nouns:
        found = list(places(where))
        assert found or where.endswith("/`"), noun
        for path, names in found:
            assert names and set(names) <= defined(path), noun


def test_each_hop_is_where_the_page_says_and_is_called_from_there() -> None:
    hops = table("One example, hop by hop")
    assert len(hops) > 20
    for step, where, caller in hops:
        ((path, (name,)),) = places(where)
        assert name in defined(path), step
        if caller:
            assert re.search(rf"\b{name}\b", (SOURCE / caller.strip("`")).read_text("utf8")), step


def test_an_audit_passes_through_few_modules() -> None:
    """So that one example can be followed by reading; most of them are explanations."""
    seen = subprocess.check_output([sys.executable, str(ROOT / "tests" / "passed.py")], text=True)
    modules = seen.split()
    assert "heedful.auditing.measure" in modules and "heedful.verdict.verdict" in modules
    assert len(modules) <= 128, modules


def test_layers_are_those_of_the_contract_and_hold_every_package() -> None:
    drawn = re.findall(r"^    (\w.*)$", section("Layers"), re.M)
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    layers, bare = contracts[0]["layers"], contracts[1]["source_modules"]
    assert drawn == [line.replace("heedful.", "") for line in layers]
    named = {name for line in drawn for name in line.split(" | ")}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    assert named == modules | {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    without = section("Layers").partition(" import no torch")[0].rpartition("\n\n")[2]
    assert set(re.findall(r"`(\w+)`", without)) == {name.split(".")[1] for name in bare}


def test_what_is_installed_is_what_pyproject_says() -> None:
    found = {name.strip("`"): brings.split(", ") for name, brings in table("Layers")}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = {name: brings for name, brings in extras.items() if name not in ("dev", "all")}
    wanted["none"] = PROJECT["project"]["dependencies"]
    assert found == {
        name: [re.match(r"[\w-]+", one)[0] for one in brings]  # type: ignore[index]
        for name, brings in wanted.items()
    }


def test_kinds_of_runs_are_those_that_are_written() -> None:
    listed = re.search(r"kind: (.*)", STORE)
    assert listed and set(listed[1].split(", ")) == set(kinds_written()) == set(KINDS)


def kinds_written() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        module = ast.parse(path.read_text(encoding="utf8"))
        for node in ast.walk(module):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if named and node.func.attr == "writing" and "super" not in ast.unparse(node):
                kind = node.args[0]
                yield kind.value if isinstance(kind, ast.Constant) else value(path, kind.id)


def value(path: Path, name: str) -> Any:
    base = SOURCE.parent if path.is_relative_to(SOURCE) else ROOT
    module = ".".join(path.relative_to(base).with_suffix("").parts)
    return getattr(import_module(module.removesuffix(".__init__")), name)


def test_columns_are_those_of_the_tables() -> None:
    found = {name: columns.strip("`").split(", ") for name, columns in table("Tables", STORE)}
    assert found == {
        "rows of a probe": probe_columns(),
        "summary of a probe": SUMMARY_COLUMNS,
        "rows of an audit": list(tables.COLUMNS),
    }


def probe_columns() -> list[str]:
    model, batch = tiny_model(), tiny_batch((2, 3))
    with torch.no_grad():
        trace = model(batch, keep=Keep(token_logits=True))
    site = model.sites[0]
    found = Collector(batch.ids)
    found.add(
        ForwardBatch(model, batch, trace), site, rows(trace, site.name), {"one": torch.ones(2)}
    )
    return list(found.rows().columns)


def test_numbers_are_those_of_the_code() -> None:
    told = " ".join(section("Audits", DESIGN).split())
    assert f"{tables.BLOCK:,} texts are a block" in told
    assert f"on the first {tables.MOST_JUDGED:,} texts" in told
    assert f"is given {probe.AT_ONCE:,} of them" in told
    assert f"waves of {waves.WAVE}, of more than {waves.MANY:,} texts of {waves.LARGE}" in told
    assert f"for the first {page_data.MOST_TEXTS} texts" in told


ADDED = {row[0]: row for row in table("To add an entry")}


@pytest.mark.parametrize("what", list(ADDED))
def test_pieces_are_where_the_table_says(what: str) -> None:
    _, written, named = ADDED[what]
    ((file, (constant,)),) = places(named)
    assert constant in defined(file)
    patterns = re.findall(r"`([\w/]+NAME[\w/]*\.py)`", written)
    pieces = modules_of(value(file, constant))
    assert len(pieces) > 1
    for name, module in pieces.items():
        path = f"{module.partition(':')[0].removeprefix('heedful.').replace('.', '/')}.py"
        assert not patterns or path in [each.replace("NAME", name) for each in patterns]
    if isinstance(value(file, constant), Registry):
        assert set(pieces) == {value(file, constant)[name].name for name in pieces}
    if what.startswith("a ") and isinstance(value(file, constant), Registry):
        assert set(pieces.values()) >= set(modules_with_piece(patterns)) - others(what)


def modules_of(catalogue: Any) -> dict[str, str]:
    """Names of pieces with the modules they are in."""
    if catalogue is VERBS:
        return {name: f"heedful.cli.{place}" for name, (place, _) in VERBS.items()}
    if isinstance(catalogue, Registry):
        return dict(catalogue.modules)
    if catalogue is ENGINES:
        return dict(ENGINES)
    if isinstance(catalogue, tuple):
        return {each.name: type(each).__module__ for each in catalogue}
    made = {name: getattr(piece, "evaluate", piece) for name, piece in catalogue.items()}
    return {name: getattr(piece, "__module__", "") for name, piece in made.items()}


def modules_with_piece(patterns: list[str]) -> Iterator[str]:
    for pattern in patterns:
        for path in SOURCE.glob(pattern.replace("NAME", "*")):
            if "ENTRY" in defined(path):
                yield ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


def others(what: str) -> set[str]:
    """Families, encoders and their wrappers lie beside each other."""
    kinds = {
        "a family of models": "FAMILIES",
        "an encoder": "ENCODERS",
        "a wrapper of encoders (`bilstm+residual`)": "WRAPPERS",
    }
    beside = set(kinds.values()) - {kinds[what]} if what in kinds else set()
    models = import_module("heedful.models")
    return {module for kind in beside for module in getattr(models, kind).modules.values()}
