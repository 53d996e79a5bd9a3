"""Tables as text: nothing is lost, and no spreadsheet runs a cell."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotating import make_study
from heedful.cli import main
from heedful.store import Store, plain_text, to_csv, to_jsonl

SCORES = np.linspace(-1, 1, 3001, dtype=np.float64) / 3
TABLE = pd.DataFrame(
    {
        "=name": ["=1+1", "-5", None, "@a, \"b\"\nc"],
        "value": [-0.5, 1 / 3, math.nan, -math.inf],
        "count": [1, -2, 3, 4],
        "scores": [SCORES, np.array([]), None, np.array([0.1, math.nan])],
        "spans": [np.array([np.array([0, 4])], dtype=object), [], {"a": [[0, 1]]}, None],
        "small": np.array([0.1, -1e-30, 2.5, 3], dtype=np.float32),
    }
)  # fmt: skip


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def exported(folder: Path, name: str) -> str:
    with Store(folder / "store").writing("audit", {"piece": "x"}) as writer:
        writer.table("maps", TABLE.drop(columns="spans"))
    (key,) = Store(folder / "store").keys()
    out = folder / name
    assert main(["store", "export", key, "maps", "-o", str(out), "--store", f"{folder}/store"]) == 0
    return out.read_bytes().decode()


def test_a_long_list_is_exported_whole(tmp_path: Path) -> None:
    head, first, *rest = cells(exported(tmp_path, "maps.csv"))
    assert json.loads(first[head.index("scores")]) == SCORES.tolist()
    assert json.loads(rest[-1][head.index("scores")]) == [0.1, None]


def test_json_lines_keep_every_digit(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in exported(tmp_path, "maps.jsonl").splitlines()]
    assert lines[0]["scores"] == SCORES.tolist()
    assert [line["value"] for line in lines] == [-0.5, 1 / 3, None, "-Infinity"]
    assert lines[0]["=name"] == "=1+1"
    assert [np.float32(line["small"]) for line in lines] == TABLE["small"].tolist()


def test_numbers_stay_numbers_and_texts_are_no_formulas() -> None:
    head, *rows = cells(to_csv(TABLE))
    assert head[0] == "'=name"
    assert [row[0] for row in rows] == ["'=1+1", "-5", "", '\'@a, "b"\nc']
    assert [row[1] for row in rows] == ["-0.5", repr(1 / 3), "", "-inf"]
    assert [row[4] for row in rows] == ["[[0, 4]]", "[]", '{"a": [[0, 1]]}', ""]


def test_an_annotator_is_no_formula(tmp_path: Path) -> None:
    study = make_study(tmp_path / "s.db", annotators=0)
    answers = {"=1+1": "yes", "@you": "no"}
    line = json.dumps({"item": 0, "answers": answers})
    (tmp_path / "answers.jsonl").write_text(f"{line}\n", encoding="utf8")
    assert main(["annotate", "import", str(study.path), str(tmp_path / "answers.jsonl")]) == 0
    assert main(["annotate", "results", str(study.path), "-o", str(tmp_path / "out")]) == 0
    assert cells((tmp_path / "out" / "agreement.csv").read_text())[1][:2] == ["'=1+1", "'@you"]
    rows = cells((tmp_path / "out" / "judgements.csv").read_text())
    assert {"'=1+1", "'@you"} <= {cell for row in rows for cell in row}


@settings(max_examples=100, database=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.text("'=+-@\t\r\n1.,\"ax−", max_size=6),
            st.floats(allow_nan=False),
            st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_is_written_is_read_back(rows: list[tuple[Any, ...]]) -> None:
    table = pd.DataFrame(rows, columns=["text", "value", "list"])
    read = cells(to_csv(table))[1:]
    assert [plain_text(row[0]) for row in read] == [row[0] for row in rows]
    assert [float(row[1]) for row in read] == [row[1] for row in rows]
    assert [json.loads(row[2]) for row in read] == [row[2] for row in rows]
    lines = [json.loads(line) for line in to_jsonl(table).split("\n")[:-1]]
    assert [(line["text"], float(line["value"]), line["list"]) for line in lines] == rows


@pytest.mark.parametrize(
    "name", ["apps/annotation/results.py", "auditing/repair.py", "report/build.py"]
)
def test_nobody_else_writes_csv(name: str) -> None:
    """Every CSV goes through the one function."""
    source = Path(__file__).parent.parent / "src" / "heedful"
    assert "to_csv(" in (source / name).read_text(encoding="utf8")
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf8")
        if path != source / "store" / "tables.py":
            assert ".to_csv(" not in text and "csv.writer" not in text, path
