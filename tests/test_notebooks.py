"""The notebooks: valid, with outputs that a run made, and they still run."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tools.notebooks import LARGEST, NOTEBOOKS, badge, badged, executed

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
OUTPUTS = {
    "stream": {"name", "text"},
    "display_data": {"data", "metadata"},
    "execute_result": {"data", "metadata", "execution_count"},
}


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_keeps_the_format(path: Path) -> None:
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[\w-]{1,64}", each) for each in ids)
    for cell in notebook["cells"]:
        code = cell["cell_type"] == "code"
        wanted = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == wanted | ({"execution_count", "outputs"} if code else set())
        for output in cell.get("outputs", ()):
            assert set(output) == {"output_type", *OUTPUTS[output["output_type"]]}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_its_code_compiles_and_its_outputs_name_no_machine(path: Path) -> None:
    code = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        ast.parse("".join(cell["source"]))
        assert cell["execution_count"] == number
    shown = json.dumps([cell["outputs"] for cell in code])
    assert any(cell["outputs"] for cell in code)
    assert not re.search(r"/(tmp|home|root|work|Users)/|0x[0-9a-f]{6}", shown)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_opens_in_colab(path: Path) -> None:
    notebook = read(path)
    title, _, line, *_ = notebook["cells"][0]["source"]
    assert title.startswith("# ") and line == badge(path.name)
    assert badged(badged(notebook, path.name), path.name) == notebook


def test_the_badge_is_for_the_repository_that_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.notebooks.ROOT", tmp_path)
    declared = tmp_path / "pyproject.toml"
    declared.write_text("[project]\n", encoding="utf8")
    assert badge("a.ipynb").startswith("[Open in Colab](a.ipynb): download this file")
    url = 'urls = { Repository = "https://github.com/someone/heedful" }'
    declared.write_text(f"[project]\n{url}\n", encoding="utf8")
    there = "https://colab.research.google.com/github/someone/heedful/blob/main/notebooks/a.ipynb"
    assert badge("a.ipynb") == f"[Open in Colab]({there})\n"


def test_what_people_read_is_left_of_every_result() -> None:
    """A code host shows no styles: then a picture does."""
    results = [
        output["data"]
        for path in PATHS
        for cell in read(path)["cells"]
        for output in cell.get("outputs", ())
        if 'class="heedful"' in "".join(output.get("data", {}).get("text/html", ""))
    ]
    assert len(results) >= 2
    for data in results:
        assert data["image/png"] in "".join(data["text/html"])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    cells = executed(read(path))["cells"]
    assert [len(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"] == [
        len(cell["outputs"]) for cell in read(path)["cells"] if cell["cell_type"] == "code"
    ]


def test_the_runner_keeps_what_a_cell_prints_and_its_last_value() -> None:
    source = ["x = 2\n", "print('two')\n", "x + 1"]
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": source}
    [found] = executed({"cells": [{**cell, "execution_count": None, "outputs": []}]})["cells"]
    stream, value = found["outputs"]
    assert stream["text"] == ["two\n"] and value["data"] == {"text/plain": ["3"]}
    with pytest.raises(ZeroDivisionError):
        executed({"cells": [{**cell, "source": ["1 / 0"]}]})


def test_the_runner_keeps_what_is_displayed_but_no_bars_and_no_large_page() -> None:
    source = [
        "from heedful.progress import notebook, progress_bar\n",
        "with progress_bar() as told:\n",
        "    told('audit', 1, 2)\n",
        f"notebook()({{'text/html': 'x' * {LARGEST + 1}, 'text/plain': 'a page'}})",
    ]
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": source}
    [found] = executed({"cells": [{**cell, "execution_count": None, "outputs": []}]})["cells"]
    data = {"text/plain": ["a page"]}
    assert found["outputs"] == [{"output_type": "display_data", "metadata": {}, "data": data}]


def test_the_picture_of_the_debate_is_made_of_printed_numbers() -> None:
    from tools.debate_picture import DOCS, changes, chart

    rows = changes()
    assert len(rows) >= 7 and len({row["model"] for row in rows}) == len(rows)
    first = rows[0]
    assert (first["measured"], first["published"]) == (-2.7, -0.8)
    assert all(row["low"] <= row["measured"] <= row["high"] for row in rows)
    drawn = (DOCS / "debate.svg").read_text(encoding="utf8")
    assert all(row["model"].split(",")[0] in drawn for row in chart(rows)["data"]["values"])
