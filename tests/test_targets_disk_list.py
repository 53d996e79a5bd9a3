"""Texts that do not live in memory are the same texts, and cost as good as none of it."""

from __future__ import annotations

import gc
import hashlib
import json
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data import Record, pick
from heedful.errors import HeedfulError
from heedful.store import canonical
from heedful.targets import (
    DOCUMENTS,
    NAMES,
    RECORDS,
    ROWS,
    Codec,
    DiskList,
    DiskListWriter,
    Document,
    Row,
    disk_list,
    overview,
    read_documents,
)

TEXTS = st.text(st.characters(), max_size=12)  # halves of surrogate pairs among them
SPAN = st.tuples(st.integers(0, 99), st.integers(0, 10**6))
SPANS = st.lists(SPAN, max_size=5).map(tuple)
NAMED = st.none() | st.lists(TEXTS, max_size=3).map(tuple)


def sided(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    one, two = (
        st.fixed_dictionaries({"a": values}),
        st.fixed_dictionaries({"a": values, "b": values}),
    )
    return one | two


documents = st.builds(
    Document,
    id=TEXTS,
    texts=sided(TEXTS),
    words=sided(SPANS),
    label=st.none() | st.integers(-1, 10**9),
    rationale=st.none() | st.lists(st.booleans(), max_size=6).map(tuple),
    cluster=TEXTS,
    candidates=NAMED,
    asked=st.none() | SPAN,
)
records = st.builds(
    Record,
    id=TEXTS,
    texts=sided(TEXTS),
    labels=NAMED,
    words=st.none() | sided(SPANS),
    rationales=st.none() | sided(SPANS),
    cluster=st.none() | TEXTS,
    candidates=NAMED,
    position=st.none() | st.integers(1, 99) | SPAN,
)


@st.composite
def rows(draw: st.DrawFn, pair: bool = True) -> Row:
    length = draw(st.integers(0, 6))
    size = (
        st.integers(-(2**31), 2**31 - 1)
        if draw(st.booleans())
        else st.integers(-(2**63), 2**63 - 1)
    )

    def numbers() -> np.ndarray:
        return np.array(draw(st.lists(size, min_size=length, max_size=length)), dtype=np.int64)

    mask = np.array(draw(st.lists(st.booleans(), min_size=length, max_size=length)), dtype=bool)
    return Row(
        numbers(),
        mask,
        numbers(),
        numbers() if draw(st.booleans()) else None,
        numbers() if draw(st.booleans()) else None,
        draw(st.none() | rows(pair=False)) if pair else None,
        draw(st.none() | st.lists(st.integers(0, 10**6), max_size=4).map(tuple)),
        *(numbers() if draw(st.booleans()) else None for _ in range(4)),
    )


@given(documents)
def test_documents_come_back(document: Document) -> None:
    assert DOCUMENTS.decode(DOCUMENTS.encode(document)) == document


@given(records)
def test_records_come_back(record: Record) -> None:
    assert RECORDS.decode(RECORDS.encode(record)) == record


@given(rows())
def test_rows_come_back_number_by_number(row: Row) -> None:
    same(ROWS.decode(ROWS.encode(row)), row)


def same(one: Row, other: Row) -> None:
    columns = ("tokens", "mask", "words", "segments", "sentences", "answer", "instead", "target")
    columns += ("read_at",)
    for name in columns:
        found, wanted = getattr(one, name), getattr(other, name)
        if wanted is None:
            assert found is None
        else:
            assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
            assert found.flags.writeable and found.flags.c_contiguous  # as torch wants them
    assert one.candidates == other.candidates
    assert len(fields(Row)) == len(columns) + 2 and (one.beside is None) == (other.beside is None)
    if one.beside is not None and other.beside is not None:
        same(one.beside, other.beside)


@pytest.fixture(params=[1, 1 << 20], ids=["on disk", "in memory"])
def spool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_list, "IN_MEMORY", request.param)


@pytest.mark.usefixtures("spool")
def test_a_disk_list_is_a_sequence() -> None:
    names = [f"n{i}" * (i % 7) for i in range(50)]
    kept = DiskList.of(iter(names), NAMES)
    assert len(kept) == 50 and list(kept) == names and kept[7] == names[7]
    assert kept[-1] == names[-1] and list(kept[3:30:4]) == names[3:30:4]
    assert list(kept.take([9, 0, 9])) == [names[9], names[0], names[9]]
    assert list(kept.take(np.array([4, 2]))[1:]) == [names[2]]
    assert "n1" in kept and kept.index(names[3]) == 3 and not DiskList.of([], NAMES)
    for index in (50, -51):
        with pytest.raises(IndexError):
            kept[index]


@pytest.mark.usefixtures("spool")
def test_threads_do_not_disturb_each_other() -> None:
    names = [f"{i} " * (1 + i % 90) for i in range(400)]
    kept = DiskList.of(names, NAMES)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda seed: [kept[(i * 7 + seed) % 400] for i in range(400)], range(8))
        )
    for seed, some in enumerate(found):
        assert some == [names[(i * 7 + seed) % 400] for i in range(400)]


@pytest.mark.usefixtures("spool")
def test_the_file_ends_with_the_last_list_that_reads_it() -> None:
    whole = DiskList.of(["a", "b"], NAMES)
    part, file = whole[1:], whole._file.file
    del whole
    gc.collect()
    assert list(part) == ["b"] and not file.closed
    del part
    gc.collect()
    assert file.closed


def test_a_full_disk_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_list, "IN_MEMORY", 1)
    writer = DiskListWriter(NAMES)
    with (
        pytest.raises(HeedfulError, match="temporary file: No space left on device; make room"),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        monkeypatch.setattr(disk_list.tempfile, "TemporaryFile", lambda **_: full)
        for _ in range(3):
            writer.add("x" * 100)


def line(number: int) -> dict[str, Any]:
    words = " ".join(f"w{(number * k) % 17}" for k in range(1, 12))
    return {"text": words if number % 10 else "", "label": number % 3, "id": f"n{number}"}


def test_a_digest_is_that_of_the_canonical_facts() -> None:
    data = [
        {**line(i), "b": "so", "why": [[0, 2]] if i % 10 and i % 2 else None} for i in range(40)
    ]
    read = read_documents(data, id_column="id", text_b_column="b", rationale_column="why", n=20)
    total = hashlib.sha256()
    for each, mark in zip(read, read.marks, strict=True):
        facts = [each.id, each.texts, each.words, mark, each.rationale, each.cluster]
        total.update(canonical(facts).encode())
    assert read.digest == total.hexdigest()[:16] == "0cbfe1608e7ec876"


@pytest.mark.parametrize("n", [None, 1, 15, 35, 36, 37, 99])
def test_a_sample_is_the_first_texts_with_words_by_hash(n: int | None) -> None:
    data = [line(i) for i in range(40)]
    read = read_documents(data, id_column="id", n=n, seed=3)
    order = pick([row["id"] for row in data], 40, 3, "documents")
    full = [name for name in order if data[int(name[1:])]["text"]][:n]
    assert [each.id for each in read] == sorted(full, key=lambda name: int(name[1:]))
    last = 40 if n is None or n > 36 else order.index(full[-1]) + 1
    assert dict(read.dropped).get("without words", 0) == last - len(full)
    assert read.marks == tuple((str(int(each.id[1:]) % 3),) for each in read)


def test_ids_decide_between_equal_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Record(name, {"a": "x"}, None) for name in "cabd"]
    module = import_module("heedful.targets.documents")
    monkeypatch.setattr(module, "stable_hash", lambda seed, purpose, name: int(name == "a"))
    assert module.drawn(items, 0).tolist() == [2, 0, 3, 1]


def test_what_is_asked_of_all_documents_is_beside_them() -> None:
    data = [{**line(i), "why": [[0, 1]] if i == 7 else None} for i in range(1, 40)]
    read = read_documents(data, id_column="id", rationale_column="why")
    found = overview(read)
    assert list(found.ids) == [each.id for each in read]
    assert list(found.clusters) == [each.cluster for each in read] != list(found.ids)
    assert found.labels.tolist() == [each.label for each in read] and found.rationales
    bare = overview(read_documents(data, label_column=None))
    assert not bare.rationales and set(bare.labels.tolist()) == {-1}


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    kept = work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return most


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_text_more_costs_a_few_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(disk_list, "IN_MEMORY", 1 << 14)
    sizes, peaks = (300, 1800), []
    for size in sizes:
        path = tmp_path / f"{size}.{kind}"
        made = [{**line(i), "text": f"{i} {line(i)['text']}"} for i in range(size)]
        lines = [json.dumps(row) for row in made]
        if kind == "csv":
            lines = [
                "id,text,label",
                *(f"{row['id']},{row['text']},{row['label']}" for row in made),
            ]
        path.write_text("\n".join(lines))
        peaks.append(peak(lambda path=path: read_documents(path, id_column="id")))  # type: ignore[misc]
    assert (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]) < 250


def test_a_codec_is_any_pair_of_functions() -> None:
    numbers = Codec[int](lambda number: str(number).encode(), int)
    assert list(DiskList.of(range(5), numbers)) == [0, 1, 2, 3, 4]
