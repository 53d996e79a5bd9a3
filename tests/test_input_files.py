"""Files are read within limits that honest data never meets, that can be raised, and that cost
no more time than the data has size."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing import Explanation
from heedful.cli import main
from heedful.cli.audit import _bars
from heedful.data import iterate_rows, marking, read_rows
from heedful.data.tables import read
from heedful.errors import HeedfulError, listed
from heedful.targets import inside, read_documents

NAMES = ["x.csv", "x.jsonl", "x.parquet", "x.csv.gz"]


def write(path: Path, table: pd.DataFrame) -> Path:
    if path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_long_document_is_read_and_a_longer_one_when_that_is_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, longer = "a note " * 100_000, "a note " * 200_000
    fine = write(tmp_path / name, pd.DataFrame({"text": [long, "b"], "label": [0, 1]}))
    assert [row["text"] for row in iterate_rows(fine)] == [long, "b"]
    much = write(tmp_path / f"much-{name}", pd.DataFrame({"text": [longer], "label": [0]}))
    with pytest.raises(HeedfulError, match="more than 1,000,000 .* HEEDFUL_MAX_TEXT_CHARS"):
        read_rows(much)
    monkeypatch.setenv("HEEDFUL_MAX_TEXT_CHARS", "2000000")
    assert read_rows(much)[0]["text"] == longer


def test_a_text_of_a_list_has_the_same_limit() -> None:
    with pytest.raises(HeedfulError, match="row 2 of the list has a text of more than 1,000,000"):
        read_documents([{"text": "a"}, {"text": "a " * 600_000}], label_column=None)


def test_what_compresses_well_is_read_and_more_when_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten megabytes of the same row are below the limit whatever they are compressed to."""
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b"good film,1\n" * 800_000))
    assert path.stat().st_size * 300 < 800_000 * 12
    assert sum(1 for _ in iterate_rows(path)) == 800_000
    monkeypatch.setenv("HEEDFUL_MAX_FILE_MB", "5")
    with pytest.raises(HeedfulError, match="unpacks to more than 5 MB.* HEEDFUL_MAX_FILE_MB"):
        read_rows(path)
    plain = tmp_path / "x.csv"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert sum(1 for _ in iterate_rows(plain)) == 800_000


@pytest.mark.timeout(60)
def test_a_pattern_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(marking, "SECONDS", 1.0)
    Path("t.csv").write_text(f"text,label\n{'a' * 60}b,1\nbad film,0\n")
    code = main(["prepare", "t.csv", "--param", "impermissible=/(a+)+$/"])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert "/(a+)+$/ takes more than 1 seconds" in err and "leave out repetitions" in err


def test_a_pattern_has_all_that_python_knows() -> None:
    raw = "Été café, ' \ud83d she"
    found = marking._matched(r"/(?i)(?<!\w)É\w+|(?=s)she|x*/", [raw, ""])
    assert [[raw[start:end] for start, end in spans] for spans in found] == [["Été", "she"], []]


def test_very_many_classes_take_no_longer_than_few(tmp_path: Path) -> None:
    """Looked up one by one they would take minutes."""
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(f"a,c{i}\n" for i in range(60_000)))
    start = time.process_time()
    raw = read(path=str(path))
    assert time.process_time() - start < 15
    assert [raw.labels[each.label] for each in raw.examples[:3]] == ["c0", "c1", "c2"]


def test_a_long_text_is_shown_in_time_that_grows_with_its_length() -> None:
    words, scores = ["word"] * 200_000, [0.5, -1.0] * 50_000 + [float("nan")] * 100_000
    start = time.process_time()
    text = Explanation(tuple(words), "a", "a", 0.5, {})
    lines = list(_bars(text, scores))
    assert time.process_time() - start < 15
    assert lines[:2] == [f"  {'word':<20} +0.5000 {'█' * 12}", f"  {'word':<20} -1.0000 {'░' * 24}"]
    assert lines[100_000:] == ["  (100,000 words cut off)"]


spans = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: tuple(sorted(pair)))


@given(ends=st.lists(st.integers(1, 3), max_size=9), marked=st.lists(spans, max_size=6))
def test_words_inside_spans_are_those_that_overlap_one(
    ends: list[int], marked: list[tuple[int, int]]
) -> None:
    starts = [2 * int(end) for end in np.cumsum([0, *ends])]
    words = [(start, start + 1 + end) for start, end in zip(starts, ends, strict=False)]
    real = [(start, end) for start, end in marked if start < end]
    assert inside(words, real) == [any(a < e and b > s for s, e in real) for a, b in words]


def test_names_are_listed_as_far_as_a_sentence_holds_them() -> None:
    assert listed([]) == "none" and listed(["a", "b"]) == "a, b"
    assert listed(range(25)).endswith(", 18, 19 and 5 more")
    assert len(listed(["x" * 1000] * 1000)) < 1300
