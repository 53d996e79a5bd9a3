"""Readers: what goes in comes out, and whatever is wrong ends in one sentence."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data import class_names, read_rows
from heedful.data.tables import read
from heedful.errors import HeedfulError

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
tables = st.lists(st.fixed_dictionaries({"text": texts, "label": texts}), min_size=1, max_size=8)
QUIET = settings(max_examples=40, deadline=None)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    kind = path.name.removesuffix(".gz").rsplit(".", 1)[1]
    if kind == "parquet":
        pd.DataFrame(rows).to_parquet(path)
        return
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf8", newline="") as stream:
        if kind == "jsonl":
            stream.writelines(json.dumps(row) + "\n" for row in rows)
            return
        sheet = csv.DictWriter(
            stream, rows[0].keys(), delimiter="\t" if kind == "tsv" else ",", quoting=csv.QUOTE_ALL
        )
        sheet.writeheader()
        sheet.writerows(rows)


@pytest.mark.parametrize(
    "name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.csv.gz", "x.jsonl.gz"]
)
@QUIET
@given(rows=tables)
def test_round_trip(name: str, rows: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, rows)
        assert read_rows(path, ("text", "label")) == rows


@pytest.mark.parametrize(
    "name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.csv.gz", "x.jsonl.gz"]
)
@QUIET
@given(body=st.one_of(st.binary(max_size=80), texts.map(lambda t: ("text,label\n" + t).encode()),
                      st.text('[]{}"\\u:,0d8', max_size=40).map(str.encode)))  # fmt: skip
def test_any_bytes_are_read_or_refused_in_a_sentence(name: str, body: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(gzip.compress(body) if name.endswith(".gz") and body[:1] > b"m" else body)
        try:
            read(None, str(path))
        except HeedfulError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv", b"text,label\n", "is empty"),
        ("x.csv", b"text,topic\nhi,1\n", "no column 'label': its columns are text, topic"),
        ("x.csv", b"text,label\nhi,1\nhi\n", "line 3 of .* 1 fields, the first line 2"),
        ("x.csv", b'text,label\n"hi,1\n', "line 2 of .* malformed"),
        ("x.csv", b"text,label\n\xff\xfe,1\n", "not UTF-8"),
        ("x.csv", b"text,label\nhi,1\nho,\n", "row 2 of x.csv has no label"),
        ("x.csv", b"text,label\nhi,1\nho,1\n", r"fewer than two classes \(1\)"),
        ("x.csv", b"text,text\nhi,1\n", "names a column twice"),
        ("x.xlsx", b"hi", "unknown extension"),
        ("x", b"hi", "unknown extension"),
        ("x.parquet.gz", b"hi", "unknown extension"),
        ("x.jsonl", b'{"text": "a", "label": 1}\n{"text": \n', "line 2 of .* malformed"),
        ("x.jsonl", b"[1]\n", "line 1 of .* no JSON object"),
        ("x.jsonl", b'{"text": "\\ud800", "label": 1}\n', "line 1 of .* malformed"),
        ("x.jsonl", b"[" * 100_000, "line 1 of .* malformed"),
        ("x.jsonl", b'{"text": "a", "label": NaN}\n', "row 1 of x.jsonl has no label"),
        ("x.jsonl", b'{"text": 3, "label": 1}\n{"text": "a", "label": 0}\n', "row 1 .* no text"),
        ("x.jsonl.gz", b"plain", "no whole gzip file"),
        ("x.parquet", b"PAR1nonsense", "cannot be read"),
    ],
)
def test_errors_name_what_is_wrong(tmp_path: Path, name: str, body: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(HeedfulError, match=message):
        read(None, str(tmp_path / name))


def test_missing_file() -> None:
    with pytest.raises(HeedfulError, match="there is no file nowhere.csv"):
        read(None, "nowhere.csv")
    with pytest.raises(HeedfulError, match="there is no file nowhere.csv"):
        read_rows(Path("nowhere.csv"))


def test_classes_have_one_order_in_every_format() -> None:
    assert class_names([10, 9, 2.0], "x") == class_names(["2", "9", "10"], "x") == ("2", "9", "10")
    assert class_names(["b", "a", "10"], "x") == ("10", "a", "b")
    assert class_names([True, False], "x") == ("false", "true")
    assert class_names(["01", "1"], "x") == ("01", "1")


def test_files_for_splits_ids_and_rationales(tmp_path: Path) -> None:
    rows = [
        {"text": "good film", "label": "pos", "who": "x1", "why": "[[0, 4]]"},
        {"text": "bad film", "label": "neg", "who": "x2", "why": ""},
    ]
    write(tmp_path / "a.csv", rows)
    write(tmp_path / "b.jsonl", [{"text": "so good", "label": "pos", "who": "y", "why": [[3, 7]]}])
    raw = read(
        None, str(tmp_path / "a.csv"), test=str(tmp_path / "b.jsonl"),
        id_column="who", rationale_column="why",
    )  # fmt: skip
    assert raw.labels == ("neg", "pos")
    assert [(e.id, e.split, e.label) for e in raw.examples] == [
        ("x1", "train", 1), ("x2", "train", 0), ("y", "test", 1),
    ]  # fmt: skip
    assert [e.rationales for e in raw.examples] == [{"a": [(0, 4)]}, None, {"a": [(3, 7)]}]
    assert sorted(raw.sources) == ["path/a.csv", "test/b.jsonl"]


@pytest.mark.parametrize("why", ["[[0, 99]]", "[[3, 3]]", "[1, 2]", "nonsense", "[[-1, 2]]"])
def test_bad_rationales_are_refused(tmp_path: Path, why: str) -> None:
    write(tmp_path / "a.csv", [{"text": "good", "label": y, "why": why} for y in "01"])
    with pytest.raises(HeedfulError, match="row 1 of a.csv has"):
        read(None, str(tmp_path / "a.csv"), rationale_column="why")


def test_rationales_of_pairs_are_by_side(tmp_path: Path) -> None:
    whys = ['{"a": [[0, 4]], "b": [[2, 4]]}', "[[1, 2]]", '{"b": [[0, 1]]}', ""]
    rows = [{"text": "good", "b": "so so", "label": i % 2, "why": w} for i, w in enumerate(whys)]
    write(tmp_path / "a.csv", rows)
    raw = read(None, str(tmp_path / "a.csv"), text_b_column="b", rationale_column="why")
    assert [example.rationales for example in raw.examples] == [
        {"a": [(0, 4)], "b": [(2, 4)]}, {"a": [(1, 2)]}, {"b": [(0, 1)]}, None,
    ]  # fmt: skip
    with pytest.raises(HeedfulError, match="row 1 of a.csv has a rationale of the text 'b'"):
        read(None, str(tmp_path / "a.csv"), rationale_column="why")


def test_split_column(tmp_path: Path) -> None:
    rows = [{"text": "t", "label": i % 2, "s": s} for i, s in enumerate(["train", "val", "Test"])]
    write(tmp_path / "a.jsonl", rows)
    raw = read(None, str(tmp_path / "a.jsonl"), split_column="s")
    assert [e.split for e in raw.examples] == ["train", "dev", "test"]
    write(tmp_path / "b.jsonl", [{**rows[0], "s": "other"}, rows[1]])
    with pytest.raises(HeedfulError, match="row 1 of b.jsonl has the split 'other'"):
        read(None, str(tmp_path / "b.jsonl"), split_column="s")
