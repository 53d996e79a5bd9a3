"""One set of documents whatever the data is kept in, and a sentence for whatever is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heedful.data import Prepared, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.store import Store
from heedful.targets import inside, prepared_records, read_documents

ROWS = [
    {"text": "A good film.", "label": "pos"},
    {"text": "Not good.", "label": "neg"},
    {"text": "A good film.", "label": "pos"},
    {"text": "我爱你", "label": "pos"},
]


def kept_as(kind: str, folder: Path) -> Any:
    path = folder / f"data.{kind}"
    table = pd.DataFrame(ROWS)
    if kind in ("csv", "tsv", "csv.gz"):
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
        return path
    if kind in ("jsonl", "jsonl.gz"):
        opener = gzip.open if kind.endswith("gz") else open
        with opener(path, "wt", encoding="utf8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in ROWS)
        return str(path)
    if kind == "parquet":
        table.to_parquet(path)
        return path
    if kind == "dataset":
        return pytest.importorskip("datasets").Dataset.from_list(ROWS)
    return {"list": ROWS, "frame": table}[kind]


KINDS = ["csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "dataset", "list", "frame"]


@pytest.mark.parametrize("kind", KINDS)
def test_documents_do_not_depend_on_the_container(kind: str, tmp_path: Path) -> None:
    documents = read_documents(kept_as(kind, tmp_path))
    assert documents.label_names == ("neg", "pos") and not documents.numbered
    assert [document.label for document in documents] == [1, 0, 1, 1]
    assert documents[0].surface == ("A", "good", "film", ".") and documents[3].length == 3
    assert documents.digest == read_documents(ROWS).digest


def test_a_text_that_is_shared_makes_a_cluster() -> None:
    assert [d.cluster for d in read_documents(ROWS)] == [
        "row-000001", "row-000002", "row-000001", "row-000004",
    ]  # fmt: skip
    rows = [{**row, "who": f"w{i // 2}", "text_b": "yes"} for i, row in enumerate(ROWS)]
    named = read_documents(rows, cluster_column="who", text_b_column="text_b")
    assert [document.cluster for document in named] == ["w0", "w0", "w1", "w1"]
    assert named[1].surface == ("Not", "good", ".", "yes")
    assert list(named[1].words) == ["a", "b"]


def test_a_sample_is_drawn_by_id_not_by_place() -> None:
    rows = [{"id": f"n{i}", "text": "good " * (i + 1), "label": i % 2} for i in range(200)]
    some = read_documents(rows, id_column="id", n=20)
    again = read_documents(rows[::-1], id_column="id", n=20)
    names = {document.id for document in some}
    assert len(some) == 20 and names == {document.id for document in again}
    assert names < {d.id for d in read_documents(rows, id_column="id", n=21)}
    assert names != {d.id for d in read_documents(rows, id_column="id", n=20, seed=1)}
    lengths = [document.length for document in some]
    assert lengths == sorted(lengths) and max(lengths) > 150
    with pytest.raises(HeedfulError, match="n is 0: give at least 1"):
        read_documents(rows, n=0)
    with pytest.raises(HeedfulError, match="n is '20': give at least 1"):
        read_documents(rows, n="20")


def test_rationales_are_characters_and_become_words() -> None:
    rows = [
        {"text": "a good film", "b": "so so", "label": 1, "why": [[2, 6]]},
        {"text": "a good film", "b": "so so", "label": 1, "why": '{"a": [[3, 4]], "b": [[3, 5]]}'},
        {"text": "a good film", "b": "so so", "label": 0, "why": None},
    ]
    read = read_documents(rows, text_b_column="b", rationale_column="why")
    assert [document.rationale for document in read] == [
        (False, True, False, False, False), (False, True, False, False, True), None,
    ]  # fmt: skip
    assert inside([(0, 3), (4, 8)], [(2, 4)]) == [True, False]
    refused = {
        r"span \[2, 60\), its text has 11": [[2, 60]],
        "no list of": "x",
        "text_b_column": {"a": [], "b": [[0, 2]]},
    }
    for match, why in refused.items():
        with pytest.raises(HeedfulError, match=match):
            read_documents([{**rows[0], "why": why}], rationale_column="why")


def test_a_column_without_a_name_is_no_rationale(tmp_path: Path) -> None:
    """As pandas writes the numbers of rows."""
    file = tmp_path / "numbered.csv"
    pd.DataFrame({"text": ["good", "bad"], "label": [1, 0]}).to_csv(file)
    assert [document.rationale for document in read_documents(str(file))] == [None, None]


def test_labels_of_every_kind() -> None:
    numbers = [{"text": "x", "label": value} for value in (10, 2, 2.0, "2")]
    read = read_documents(numbers)
    assert read.label_names == ("2", "10") and [d.label for d in read] == [1, 0, 0, 0]
    frame = pd.DataFrame(numbers[:2])
    assert read_documents(frame).label_names == ("2", "10")
    many = [{"text": "x", "label": ["b", "a"]}, {"text": "y", "label": []}]
    assert read_documents(many).marks == (("b", "a"), ()) and read_documents(many)[0].label is None
    hot = [{"text": "x", "label": [0.0, 1.0, 1.0]}]
    assert read_documents(hot).marks == (("1", "2"),)
    none = read_documents(ROWS, label_column=None)
    assert none.label_names == () and all(document.label is None for document in none)


def test_a_dataset_knows_its_classes() -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"text": "x", "label": 1}, {"text": "y", "label": -1}, {"text": "z", "label": 1}]
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])}
    )
    data = datasets.Dataset.from_list(rows, features=features)
    read = read_documents(data)
    assert read.label_names == ("bad", "good") and read.numbered
    assert [document.label for document in read] == [1, 1]
    assert dict(read.dropped) == {"without a label": 1}
    splits = datasets.DatasetDict({"validation": data})
    assert read_documents(splits, split="dev").digest == read.digest
    with pytest.raises(HeedfulError, match="no split 'test': its splits are validation"):
        read_documents(splits)


def test_a_named_corpus_needs_no_preparation(tmp_path: Path) -> None:
    sizes = {"n_train": 30, "n_dev": 5, "n_test": 12}
    read = read_documents("planted", params=sizes)
    assert len(read) == 12 and read.label_names == ("negative", "positive") and read.numbered
    first = read[0]
    assert first.id == "planted-test-00000" and first.rationale is not None
    assert 1 <= sum(first.rationale) <= 2 and first.surface[-1] == "."
    assert len(read_documents("planted", params=sizes, split="dev")) == 5
    run = prepare(default_spec("planted", sizes), Store(tmp_path))
    stored = prepared_records(Prepared(run), "test")
    assert [item.words for item in stored.items] == [document.words for document in read]
    with pytest.raises(HeedfulError, match="unknown parameter of corpus planted 'size'"):
        read_documents("planted", params={"size": 3})
    with pytest.raises(HeedfulError, match="unknown split 'tset'"):
        read_documents("planted", split="tset")


def test_without_the_files_the_store_makes_up_for_them(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "sst").mkdir(parents=True)
    (data / "glove").mkdir()
    words = np.frombuffer(b"film", dtype=np.uint8)
    np.savez(data / "glove/glove6b_100d_subset.npz", words=words, vectors=np.ones((1, 100)))
    row = {"tokens": ["A", "warm", "and", "funny", "little", "film"], "label": 1}
    for split in ("train", "dev", "test"):
        with gzip.open(data / "sst" / f"{split}.jsonl.gz", "wt") as stream:
            stream.write(json.dumps(row) + "\n")
    store = Store(tmp_path / "store")
    with pytest.raises(HeedfulError, match="no data folder was given"):
        read_documents("sst", store=store)
    prepare(default_spec("sst"), store, data)
    raw, stored = read_documents("sst", data_dir=data), read_documents("sst", store=store)
    assert raw[0].surface == ("A", "warm", "and", "funny", "little", "film")
    assert stored.digest == raw.digest and stored.source == raw.source == "sst, test split"


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no label column": (
        [{"text": "x", "stars": 1}],
        {},
        "no column 'label': its columns are text, stars; name one with label_column .*None",
    ),
    "no text column": ([{"t": "x", "label": 1}], {}, "no column 'text'.*text_column"),
    "no label": (
        [{"text": "x", "label": 1}, {"text": "y", "label": float("nan")}],
        {},
        "row 2 of the list has no label: fill it in",
    ),
    "blank label": ([{"text": "x", "label": " "}], {}, "row 1 of the list has no label"),
    "missing in a frame": (
        pd.DataFrame({"text": ["x", "y"], "label": pd.array([1, None], dtype="Int64")}),
        {},
        "row 2 of the data frame has no label",
    ),
    "only blanks": ([{"text": " \n", "label": 1}], {}, "no text of the list has a word"),
    "same id": (
        [{"text": "x", "label": 1, "id": 7}] * 2,
        {"id_column": "id"},
        "1 ids occur twice, the first is '7'",
    ),
    "no id": ([{"text": "x", "label": 1, "id": None}], {"id_column": "id"}, "nothing in the col"),
    "no string": ([{"text": 3, "label": 1}], {}, "has no text in column 'text', but a int"),
    "empty": ([], {}, "the list is empty"),
    "no such corpus": ("imbd", {}, "unknown corpus 'imbd' .*: choose one of"),
    "no such file": ("nothing.csv", {}, "there is no file nothing.csv"),
    "no such option": ([], {"colum": "x"}, "unknown option 'colum'"),
    "something else": (7, {}, "texts cannot be read from a int"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_ends_in_a_sentence(case: str) -> None:
    data, options, match = BAD[case]
    with pytest.raises(HeedfulError, match=match):
        read_documents(data, **options)


def test_texts_without_words_are_counted_and_one_word_is_enough() -> None:
    rows = [{"text": text, "label": 1} for text in ("", "  ", "one", None)]
    read = read_documents(rows, n=5)
    assert [d.surface for d in read] == [("one",)] and dict(read.dropped) == {"without words": 3}
