"""Preparing: one run per specification, the same bytes twice, and what Prepared reads back."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data_folder import DATA, needs_data
from heedful.data import CORPORA, Prepared, default_prepare, default_spec, prepare
from heedful.errors import HeedfulError
from heedful.specs import CorpusSpec, PrepareSpec
from heedful.store import Store

module = import_module("heedful.data.prepare")


SMALL = default_spec("planted", n_train=60, n_dev=10, n_test=20, dimension=8)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(prepare(SMALL, Store(tmp_path_factory.mktemp("store"))))


def rows_file(path: Path, texts: list[str]) -> CorpusSpec:
    rows = [{"text": text, "label": i % 2} for i, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
    spec = PrepareSpec(tokenizer="whitespace", dev_fraction=0, test_fraction=0, dimension=3)
    return CorpusSpec("file", {"path": str(path)}, spec)


GENERATED = [name for name in CORPORA if CORPORA[name].licence == "part of Heedful"]


def test_every_corpus_states_its_facts() -> None:
    for name in CORPORA:
        piece = CORPORA[name]
        assert piece.name == name and piece.description and piece.version >= 1
        assert isinstance(default_prepare(name), PrepareSpec)
        assert piece.needs == (("data",) if piece.find else ())
        assert not piece.needs or (piece.citation and piece.licence and piece.paper)
    with pytest.raises(HeedfulError, match="unknown corpus 'ssst'.*sst"):
        default_spec("ssst")


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_corpus_holds_what_it_says(name: str) -> None:
    """The same texts again, also among more of them; labels with names, spans within texts."""
    few, many = (CORPORA[name].make(None, n_train=n, n_dev=2, n_test=3) for n in (4, 9))
    by_id = {example.id: example for example in many.examples}
    assert len(by_id) == len(many.examples) > len(few.examples)
    for example in few.examples:
        assert by_id[example.id] == example and example.split in ("train", "dev", "test")
        assert few.task == "generation" or 0 <= example.label < len(few.labels)
        for side, spans in (example.rationales or {}).items():
            assert all(0 <= start < end <= len(example.texts[side]) for start, end in spans)
        for side, tokens in (example.tokens or {}).items():
            text = example.texts[side]
            assert all(text[start:end].lower() == word.lower() for word, start, end in tokens)


def test_default_spec_tells_treatment_from_parameters() -> None:
    spec = default_spec("planted", params={"seed": 4}, n_train=7, seed=9)
    assert spec.params == {"seed": 4, "n_train": 7} and spec.prepare.seed == 9


def test_twice_the_same_bytes_and_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (prepare(SMALL, Store(tmp_path / name)) for name in ("one", "two"))
    assert one.key == two.key and one.record.files == two.record.files
    explicit = replace(SMALL, params={**SMALL.params, "classes": 2})
    monkeypatch.setattr(module, "_write", None)  # a second call must not get there
    assert prepare(explicit, Store(tmp_path / "one")).key == one.key


def test_golden_table(tmp_path: Path) -> None:
    spec = rows_file(tmp_path / "x.jsonl", ["A b", "b 7 c", "", "b c"])
    prepared = Prepared(prepare(spec, Store(tmp_path / "store")))
    train = prepared.split("train")
    assert prepared.words[4:] == ["b", "c", "a", "qqq"]
    assert [ids.tolist() for ids in train.tokens["a"]] == [
        [2, 6, 4, 3],
        [2, 4, 7, 5, 3],
        [2, 4, 5, 3],
    ]
    assert train.labels.tolist() == [0, 1, 1] and train.lengths.tolist() == [2, 3, 2]
    assert train.ids == ("row-000001", "row-000002", "row-000004")
    assert prepared.surface("row-000002") == ["b", "7", "c"]
    assert train.rationale(0) is None and train.text(0) == "A b"
    report = prepared.report
    assert report["filters"] == [{"filter": "not empty", "split": "train", "kept": 3, "dropped": 1}]
    assert report["splits"]["train"] == {
        "examples": 3, "by_class": [1, 2], "average_length": 7 / 3, "unknown_rate": 0,
        "rationales": 0,
    }  # fmt: skip
    assert report["vocabulary"] == 8 and report["subset"] is False and report["dimension"] == 3
    assert len(prepared.split("dev")) == 0 and list(prepared.split("dev").batches(4)) == []


def test_min_df_counts_training_texts_only(tmp_path: Path) -> None:
    spec = rows_file(tmp_path / "x.jsonl", [f"every w{'abcdefghij'[i % 10]}" for i in range(40)])
    spec = replace(spec, prepare=replace(spec.prepare, min_df=3, test_fraction=0.5))
    prepared = Prepared(prepare(spec, Store(tmp_path / "store")))
    texts = [prepared.split("train").text(i).split() for i in range(20)]
    df = {word: sum(word in text for text in texts) for text in texts for word in text}
    assert set(prepared.words[4:]) == {word for word, n in df.items() if n >= 3}


def test_a_batch_is_padded_and_masked(planted: Prepared) -> None:
    split = planted.split("train")
    batch = split.batch([3, 0])
    text = batch.texts["a"]
    assert batch.ids == ("planted-train-00003", "planted-train-00000")
    for row, index in enumerate((3, 0)):
        ids = split.tokens["a"][index]
        n = len(ids)
        assert text.tokens[row, :n].tolist() == ids.tolist() and not text.tokens[row, n:].any()
        assert text.mask[row].nonzero().flatten().tolist() == list(range(1, n - 1))
        assert text.lengths[row] == n
    assert text.tokens.dtype == torch.int64 and text.mask.dtype == torch.bool


@settings(max_examples=25, deadline=None)
@given(size=st.integers(1, 70), room=st.one_of(st.none(), st.integers(1, 400)))
def test_batches_hold_each_example_once(planted: Prepared, size: int, room: int | None) -> None:
    split = planted.split("train")
    seen: list[int] = []
    longest = 0
    for indices, batch in split.batches(size, room):
        assert 1 <= len(indices) <= size
        tokens = batch.texts["a"].tokens
        assert room is None or len(indices) == 1 or tokens.numel() <= room
        assert tokens.shape[1] >= longest
        longest = tokens.shape[1]
        seen.extend(indices.tolist())
    assert sorted(seen) == list(range(len(split)))


def test_subset_keeps_rationales_and_surface(planted: Prepared) -> None:
    split = planted.split("test")
    part = split.subset([5, 2])
    assert (
        part.ids == (split.ids[5], split.ids[2])
        and part.labels.tolist() == split.labels[[5, 2]].tolist()
    )
    np.testing.assert_array_equal(part.rationale(0), split.rationale(5))
    assert part.surface(1) == split.surface(2) == planted.surface(split.ids[2])
    rationale = part.rationale(0)
    assert rationale is not None
    marked = [w for w, m in zip(part.surface(0), rationale, strict=True) if m]
    assert 1 <= len(marked) <= 2
    assert planted.vectors.shape == (len(planted.words), 8) and planted.labels == (
        "negative",
        "positive",
    )


def test_a_bare_node_uses_the_prepared_run(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    spec = rows_file(tmp_path / "x.jsonl", ["a b", "b c"])
    run = prepare(spec, store)
    (tmp_path / "x.jsonl").unlink()
    assert prepare(spec, store).key == run.key
    rows_file(tmp_path / "x.jsonl", ["a b", "b d"])
    assert prepare(spec, store).key != run.key
    (tmp_path / "x.jsonl").unlink()
    with pytest.raises(HeedfulError, match="2 prepared versions"):
        prepare(spec, store)
    with pytest.raises(HeedfulError, match="--data-dir or HEEDFUL_DATA"):
        prepare(default_spec("sst"), store)
    with pytest.raises(HeedfulError, match=r"sst/train.jsonl.gz is missing: get .* put it there"):
        prepare(default_spec("sst"), store, tmp_path)


def test_bad_input_ends_in_a_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with pytest.raises(HeedfulError, match="unknown parameter of corpus planted 'n'"):
        prepare(default_spec("planted", n=3), store)
    with pytest.raises(HeedfulError, match="needs the parameter `path`"):
        prepare(default_spec("file"), store)
    spec = rows_file(tmp_path / "x.jsonl", ["a", "b"])
    with pytest.raises(HeedfulError, match="no training example is left"):
        prepare(replace(spec, prepare=replace(spec.prepare, min_length=9)), store)
    with pytest.raises(HeedfulError, match="brings no tokens"):
        prepare(replace(spec, prepare=replace(spec.prepare, tokenizer="given")), store)
    with pytest.raises(HeedfulError, match="no vectors file"):
        prepare(replace(spec, prepare=replace(spec.prepare, vectors="nope.txt")), store)
    (tmp_path / "y.csv").write_text("text,label,n\na,0,1\nb,1,1\n")
    twice = CorpusSpec("file", {"path": str(tmp_path / "y.csv"), "id_column": "n"}, spec.prepare)
    with pytest.raises(HeedfulError, match="1 example ids occur twice, the first is '1'"):
        prepare(twice, store)


@needs_data
def test_sst_has_the_published_counts(tmp_path: Path) -> None:
    """jain2019, Table 1: 3034 / 3321 and 863 / 862, by the authors' own filter."""
    spec = default_spec("sst", min_length=5, counting="authors")
    splits = Prepared(prepare(spec, Store(tmp_path), DATA)).report["splits"]
    assert splits["train"]["by_class"] == [3034, 3321]
    assert splits["test"]["by_class"] == [863, 862]


@needs_data
def test_ours_keeps_the_longest_sst_sentence_of_each_split(tmp_path: Path) -> None:
    prepared = Prepared(prepare(default_spec("sst"), Store(tmp_path), DATA))
    splits = prepared.report["splits"]
    assert splits["train"]["by_class"] == [3035, 3321]
    assert splits["test"]["by_class"] == [863, 863]
    assert prepared.report["coverage"]["tokens"] > 0.98


@needs_data
@pytest.mark.parametrize("name", ["imdb", "agnews", "20news", "adr"])
def test_named_corpora_can_be_prepared(tmp_path: Path, name: str) -> None:
    spec = default_spec(name, limit=40)
    prepared = Prepared(prepare(spec, Store(tmp_path), DATA))
    assert prepared.report["subset"] == (name in ("agnews", "adr"))
    assert prepared.vectors.shape[1] == 100
    for split in ("train", "dev", "test"):
        part = prepared.split(split)
        assert 20 <= len(part) <= 40
        assert all(text.strip() for text in part.surface(0))
