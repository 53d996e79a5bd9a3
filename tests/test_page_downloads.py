"""The page's own CSV and LaTeX, and the order of cells, against the report's and Python's."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.report import latex_escape, to_latex
from heedful.store import plain_text, safe_text

STATIC = Path(__file__).parent.parent / "src" / "heedful" / "report" / "static"
MODULES = ("downloads", "cell_order", "chart_data")
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
TABLE = [
    ["name", "τ_a", "mean ± sd"],
    ["a&b", "0.250", "0.41 ± 0.20"],
    ["50%\\x", "-1.500", "−0.30 ± 0.10"],
    ['"quoted", {x}', "", "undefined"],
    ["two\nlines ~^<>#$", "3.000", "0.1"],
]
SPEC = {
    "datasets": {
        "one": [{"row": "a", "mean": 0.5, "low": 0.25, "high": -1e-07, "colour": "#00f"}],
        "two": [{"row": "b", "mean": None, "low": 1, "high": 2, "colour": "#f00"}],
        "words": [{"text": "n 3", "base": 1}],
    },
    "usermeta": {
        "fields": [["row", ""], ["mean", "τ"], ["low", "τ, low"], ["high", "τ, high"]],
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Modules as node wants them: by the end of their names."""
    place = tmp_path_factory.mktemp("modules")
    for name in MODULES:
        source = (STATIC / f"{name}.js").read_text(encoding="utf8")
        (place / f"{name}.mjs").write_text(source, encoding="utf8")
    return place


def call(folder: Path, module: str, expression: str, given: Any) -> Any:
    """The value of an expression in `m`, the module, and `given`."""
    code = (
        f"import * as m from './{module}.mjs';\n"
        "let text = ''; for await (const part of process.stdin) text += part;\n"
        f"const given = JSON.parse(text); console.log(JSON.stringify({expression}));"
    )
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", code]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_latex_is_the_reports(folder: Path) -> None:
    table = pd.DataFrame(TABLE[1:], columns=TABLE[0])
    assert call(folder, "downloads", "m.latex(given)", TABLE) == to_latex(table)


def test_latex_of_numbers_is_the_reports(folder: Path) -> None:
    table = pd.DataFrame({"n": [1, 20], "x": [0.12345, -2.0], "y": [0.5, float("nan")]})
    rows = [list(table), [1, 0.12345, 0.5], [20, -2, None]]
    assert call(folder, "downloads", "m.latex(given)", rows) == to_latex(table)


def test_csv_is_read_back(folder: Path) -> None:
    text = call(folder, "downloads", "m.csv(given)", TABLE)
    assert list(csv.reader(io.StringIO(text, newline=""))) == TABLE
    numbers = [["x"], [0.1], [1e-07], [123456789], [-3.25]]
    read = pd.read_csv(io.StringIO(call(folder, "downloads", "m.csv(given)", numbers)))
    assert read["x"].tolist() == [row[0] for row in numbers[1:]]


CELLS = {
    "=1+1": "'=1+1",
    "+cmd": "'+cmd",
    "@SUM(A1)": "'@SUM(A1)",
    "-2+3": "'-2+3",
    "\tx": "'\tx",
    "\nx": "'\nx",
    "'=1": "''=1",
    "\uff1d1": "'\uff1d1",
    "'quoted'": "'quoted'",
    "+0.5": "+0.5",
    "-0.3": "-0.3",
    "−0.3": "−0.3",
    "a=b": "a=b",
}


def test_no_cell_is_run_by_a_spreadsheet(folder: Path) -> None:
    text = call(folder, "downloads", "m.csv(given)", [[cell] for cell in CELLS])
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))] == list(CELLS.values())
    assert [safe_text(cell) for cell in CELLS] == list(CELLS.values())
    assert [plain_text(cell) for cell in CELLS.values()] == list(CELLS)


def test_any_text_is_escaped_as_the_report_does(folder: Path) -> None:
    kept: list[str] = []
    letters = st.characters(max_codepoint=0x2FF, blacklist_categories=("Cs",))

    @settings(max_examples=60, database=None, derandomize=True)
    @given(st.text(letters, max_size=12))
    def collect(text: str) -> None:
        kept.append(text)

    collect()
    found = call(folder, "downloads", "given.map(m.latexEscape)", kept)
    assert found == [latex_escape(text) for text in kept]


def test_any_text_is_made_safe_as_python_does(folder: Path) -> None:
    kept: list[str] = []

    @settings(max_examples=80, database=None, derandomize=True)
    @given(st.text("'=+-@\t1.%ax −\uff0b", max_size=6))
    def collect(text: str) -> None:
        assert plain_text(safe_text(text)) == text
        kept.append(text)

    collect()
    found = call(folder, "downloads", "given.map((text) => m.csv([[text, 0]]))", kept)
    assert [next(csv.reader([text]))[0] for text in found] == [safe_text(text) for text in kept]


def test_files_have_plain_names(folder: Path) -> None:
    names = ["tau_gradient-0-1", "../../etc/passwd", "Zürich τ: <b>", "", "…"]
    found = call(folder, "downloads", "given.map(m.fileName)", names)
    assert found == ["tau_gradient-0-1", "etc-passwd", "zu-rich-b", "heedful", "heedful"]


def order(folder: Path, texts: list[str], descending: bool) -> list[str]:
    expression = "m.byColumn(given[0].map((text) => ({ text })), given[1]).map((e) => e.text)"
    found: list[str] = call(folder, "cell_order", expression, [texts, descending])
    return found


def test_cells_are_ordered_by_size_with_the_undefined_last(folder: Path) -> None:
    texts = ["0.9", "undefined", "−0.30 ± 0.10", "1,200", "<0.001", "0.41 ± 0.20", "–", "12%"]
    up = ["−0.30 ± 0.10", "<0.001", "0.41 ± 0.20", "0.9", "12%", "1,200", "undefined", "–"]
    assert order(folder, texts, False) == up
    assert order(folder, texts, True) == [*up[5::-1], "undefined", "–"]


def test_words_are_ordered_by_letters_and_equal_ones_stay(folder: Path) -> None:
    assert order(folder, ["layer 10", "layer 2", "b", "a"], False) == [
        "a",
        "b",
        "layer 2",
        "layer 10",
    ]
    pairs = [{"text": "1", "i": i} for i in range(5)]
    for descending in (False, True):
        kept = call(folder, "cell_order", f"m.byColumn(given, {str(descending).lower()})", pairs)
        assert [each["i"] for each in kept] == list(range(5))


def test_a_chart_as_a_table(folder: Path) -> None:
    series = [["first", "#00f"], ["second", "#f00"]]
    found = call(folder, "chart_data", "m.table(given[0], given[1])", [SPEC, series])
    assert found == [
        ["series", "row", "τ", "τ, low", "τ, high"],
        ["first", "a", 0.5, 0.25, -1e-07],
        ["second", "b", None, 1, 2],
    ]
    alone = call(folder, "chart_data", "m.table(given, [])", SPEC)
    assert alone[0] == ["row", "τ", "τ, low", "τ, high"]


def test_a_mark_in_words(folder: Path) -> None:
    rows = [rows[0] for rows in SPEC["datasets"].values()]  # type: ignore[attr-defined]
    given = [SPEC, [*rows, {"mean": 0.69}], [["first", "#00f"]]]
    found = call(
        folder, "chart_data", "given[1].map((d) => m.noteOf(given[0], d, given[2]))", given
    )
    first, second, words, guide = found
    assert first["names"] == ["a", "first"]
    assert first["lines"] == [["τ", "0.5"], ["interval", "0.25 to −1e-7"]]
    assert second["names"] == ["b"] and second["lines"] == [["τ", "1 to 2"]]
    assert words is None and guide is None
