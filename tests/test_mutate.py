"""The tool that makes small wrong changes: what it changes, whom it asks, what it leaves alone."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tools import mutate
from tools.mutants import Mutants
from tools.mutate import Suite

SOURCE = '''
"""A module."""
LIMIT = 3

def ratio(a: "Literal[1]", b: int = 2) -> float:
    """Never 0."""
    if not a:
        raise ValueError(f"{a + 1}")
    total = a + b * 3
    total += 1
    note(total)
    return total / b if a < b and b else -1
'''


def changes(source: str) -> set[tuple[str, str]]:
    found = Mutants(textwrap.dedent(source))
    return {(found[i].before, found[i].after) for i in range(len(found))}


def test_each_kind_of_change_is_made_once_and_in_bodies_only() -> None:
    assert changes(SOURCE) == {
        ("if not a:\n    raise ValueError(f'{a + 1}')", "pass"),
        ("not a", "a"),
        ("a + b * 3", "a - b * 3"),
        ("b * 3", "b / 3"),
        ("3", "4"),
        ("total += 1", "pass"),
        ("1", "2"),
        ("note(total)", "pass"),
        ("total / b", "total * b"),
        ("a < b", "a <= b"),
        ("a < b and b", "a < b or b"),
        ("-1", "1"),
    }


def test_a_mutant_is_the_module_with_one_change() -> None:
    found = Mutants("def f(x):\n    y = x + 1\n    return y > 2\n")
    sources = {found[i].source for i in range(len(found))}
    assert sources == {
        "def f(x):\n    y = x - 1\n    return y > 2",
        "def f(x):\n    y = x + 2\n    return y > 2",
        "def f(x):\n    y = x + 1\n    return y >= 2",
        "def f(x):\n    y = x + 1\n    return y > 3",
    }
    assert {found[i].line for i in range(len(found))} == {2, 3}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A module with a tested function and one that nobody tests."""
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: slow']\n",
        "src/heedful/__init__.py": "",
        "src/heedful/words.py": (
            "def more(x):\n    return x + 1\n\n\ndef less(x):\n    return x - 5\n"
        ),
        "src/heedful/above.py": "from heedful.words import more\n",
        "tests/test_words.py": (
            "from heedful.words import more\n\n\ndef test_more():\n    assert more(1) == 2\n"
        ),
        "tests/test_above.py": "import heedful.above\n",
        "tests/helper.py": "import heedful.words\n",
        "tests/test_other.py": "import helper\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_tests_are_found_by_what_they_import(project: Path) -> None:
    tests = Suite(project)
    assert [path.stem for path in tests.of("heedful.words")] == ["test_words", "test_other"]
    (project / "tests/test_words.py").unlink()
    (project / "tests/test_other.py").unlink()
    assert [path.stem for path in Suite(project).of("heedful.words")] == ["test_above"]
    assert Suite(project).of("heedful.nowhere") == []


def test_the_working_tree_is_never_written(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutate, "ROOT", project)
    (project / "tests/test_other.py").unlink()
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    mutate.main(["words", "-n", "2", "--seconds", "60", "--seed", "1"])
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
    told = capsys.readouterr().out
    assert "2 of 4 mutants of 1 modules, seed 1" in told
    assert "killed     src/heedful/words.py:2 (test_words)" in told
    assert "words        1 killed, 1 survived" in told
    assert "src/heedful/words.py:6\n  - x - 5\n  + x + 5" in told
