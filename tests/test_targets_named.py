"""Named corpora on trial: cut as for training, stories together, nothing silently ignored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from heedful.cli import corpus_spec
from heedful.data import (
    CORPORA,
    Example,
    Prepared,
    cut_splits,
    default_spec,
    given_spec,
    prepare,
)
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec
from heedful.store import Store
from heedful.targets import Reading, named_records, prepared_records, read_documents

STORIES = 30
NAMES = ("Ann", "Bob", "Cleo")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stories of three questions each, one fact more for every question."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "babi").mkdir()
    rows = [
        {
            "facts": [f"{name} went to room {story}." for name in NAMES[: asked + 1]],
            "question": f"Where is {NAMES[asked]}?",
            "answer": ("hall", "attic")[(story + asked) % 2],
            "support": [asked],
        }
        for story in range(STORIES)
        for asked in range(3)
    ]
    for split, some in (("train", rows), ("test", rows[:9])):
        with gzip.open(folder / "babi" / f"qa1_{split}.jsonl.gz", "wt") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in some)
    return folder


def dev(data: Path, **reading: Any) -> list[str]:
    found = named_records("babi1", Reading(split="dev", data_dir=data, **reading))
    return [item.id for item in found.items]


def cut(data: Path, **params: Any) -> list[str]:
    """As training cuts it."""
    raw = CORPORA["babi1"].make(data)
    spec = given_spec("babi1", params).prepare
    return [each.id for each in cut_splits(raw.examples, spec) if each.split == "dev"]


def test_texts_are_cut_as_the_user_says(data: Path) -> None:
    assert dev(data) == cut(data)
    for params in ({"seed": 5}, {"dev_fraction": 0.4}):
        assert dev(data, params=params) == cut(data, **params) != cut(data)
    assert len(dev(data, params={"limit": 4})) == 4


def test_else_as_the_model_was_trained(data: Path) -> None:
    kept = {"dev_fraction": 0.4, "test_fraction": 0.2, "limit": 2, "seed": 5}
    trained = {"piece": "babi1", "params": {}, "prepare": kept}
    assert dev(data, trained=trained) == cut(data, seed=5, dev_fraction=0.4)
    given = {"seed": 6}
    assert dev(data, trained=trained, params=given) == cut(data, seed=6, dev_fraction=0.4)
    assert dev(data, trained={**trained, "piece": "babi2"}) == cut(data)


def test_a_prepared_file_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\n" + "".join(f"film {i} ran,{i % 2}\n" for i in range(40)))
    spec = given_spec("file", {"tokenizer": "words"}, {"path": str(path)})
    prepared = Prepared(prepare(spec, Store(tmp_path / "store")))
    assert prepared_records(prepared, "test").source == "reviews.csv, test split"


def test_a_story_is_a_cluster_and_stays_together(data: Path, tmp_path: Path) -> None:
    raw = CORPORA["babi1"].make(data)
    train = [each for each in raw.examples if each.split == "train"]
    stories = [each.cluster for each in train]
    assert len(set(stories)) == STORIES
    assert stories[:4] == ["babi1-train-story-0000"] * 3 + ["babi1-train-story-0001"]
    assert raw.examples[-1].cluster == "babi1-test-story-0002"
    where: dict[str | None, set[str]] = {}
    for each in cut_splits(raw.examples, PrepareSpec(dev_fraction=0.5)):
        where.setdefault(each.cluster, set()).add(each.split)
    assert all(len(splits) == 1 for splits in where.values())
    spec = default_spec("babi1", tokenizer="words")
    prepared = Prepared(prepare(spec, Store(tmp_path), data))
    some = prepared.split("dev").subset([1, 0])
    records = prepared_records(prepared, "dev").items
    assert some.clusters == [records[1].cluster, records[0].cluster]
    read = named_records("babi1", Reading(split="dev", data_dir=data)).items
    assert [item.cluster for item in records] == [item.cluster for item in read]
    assert len({item.cluster for item in read}) == len(read) / 3
    documents = read_documents("babi1", split="dev", data_dir=data)
    assert [each.cluster for each in documents] == [item.cluster for item in read]


def test_clusters_are_cut_whole_and_single_examples_as_ever() -> None:
    def examples(size: int) -> list[Example]:
        return [
            Example(str(i), "", {"a": "x"}, 0, cluster=f"c{i // size}" if size > 1 else None)
            for i in range(60)
        ]

    spec = PrepareSpec(test_fraction=0.3, dev_fraction=0.5)
    single = [each.split for each in cut_splits(examples(1), spec)]
    assert [single.count(name) for name in ("test", "dev", "train")] == [18, 21, 21]
    pairs = [each.split for each in cut_splits(examples(4), spec)]
    assert all(len(set(pairs[i : i + 4])) == 1 for i in range(0, 60, 4))
    assert [pairs.count(name) for name in ("test", "dev", "train")] == [20, 20, 20]


def test_a_parameter_is_the_corpuss_own_where_it_has_one() -> None:
    spec = corpus_spec("planted", ["seed=5", "min_length=9", "max_length=9", "min_df=2"])
    assert spec.params == {"seed": 5, "min_length": 9, "max_length": 9}
    assert (spec.prepare.seed, spec.prepare.min_length, spec.prepare.min_df) == (5, 1, 2)
    sst = corpus_spec("sst", ["seed=5", "min_length=9"])
    assert sst.params == {} and (sst.prepare.seed, sst.prepare.min_length) == (5, 9)
    small = {"n_train": 4, "n_dev": 2, "n_test": 6}
    usual, other = (read_documents("planted", params={**small, "seed": s}) for s in (0, 5))
    assert [each.texts for each in usual] != [each.texts for each in other]
    short = read_documents("planted", params={**small, "min_length": 8, "max_length": 9})
    assert max(each.length for each in short) < max(each.length for each in usual)


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "for generation": ("toytranslation", {}, "is for generation: choose one that has classes"),
    "tokenizer": ("planted", {"params": {"tokenizer": "words"}}, "'tokenizer': choose one of"),
    "reserved": ("planted", {"params": {"name": "x"}}, "there is no parameter 'name'"),
    "cluster": ("planted", {"cluster_column": "c"}, "no table of columns: leave cluster_column"),
    "rationale": ("planted", {"rationale_column": "c"}, "leave rationale_column out"),
    "id": ("planted", {"id_column": "c"}, "leave id_column out"),
    "text": ("planted", {"text_column": "c"}, "leave text_column out"),
    "params of a table": ([{"text": "x", "label": 1}], {"params": {"n": 1}}, "no parameter 'n'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_has_no_effect_is_refused(case: str) -> None:
    given, options, match = BAD[case]
    with pytest.raises(HeedfulError, match=match):
        read_documents(given, **options)
