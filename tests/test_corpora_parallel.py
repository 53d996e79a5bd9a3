"""Corpora of translations, sub-words, and the toy language whose alignment is known."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_folder import DATA, needs_data
from heedful.data import (
    ADJECTIVES,
    CORPORA,
    LEXICON,
    MARK,
    NOUNS,
    Cutter,
    Example,
    Prepared,
    default_spec,
    detokenise,
    learn,
    made_up,
    marked,
    prepare,
    spelled,
    sub_words,
)
from heedful.data.toytranslation import VERBS
from heedful.data.toytranslation import read as read_toy
from heedful.errors import HeedfulError
from heedful.specs import UNKNOWN, CorpusSpec, PrepareSpec
from heedful.store import Store

read, read_multi30k, read_news, read_wmt13 = (
    CORPORA[name].make for name in ("parallel", "multi30k", "newscommentary", "wmt13")
)
LINES = ["the cat sees the dog", "a cat", "the dog sees a cat , the cat", "dogs and cats !"]
ODD = st.text(
    st.one_of(
        st.sampled_from(" ▁␛ue\n\t abcß́"),
        st.characters(codec="utf-8", exclude_categories=["Cs"]),
    ),
    max_size=30,
)


@settings(max_examples=300)
@given(ODD)
def test_pieces_give_back_the_text_and_stand_where_they_say(text: str) -> None:
    cutter = Cutter(MERGES)
    tokens = cutter.tokens(text)
    assert detokenise(tokens.words) == text
    for word, start, end in zip(tokens.words, tokens.starts, tokens.ends, strict=True):
        bare = word.lstrip(MARK)
        if "␛" not in text and "▁" not in text:
            assert text[start:end] == (bare or word[1:] or text[start:end])
            assert bare or text[start:end] in ("", " ")
        assert 0 <= start <= end <= len(text)
    assert (np.diff(tokens.starts) >= 0).all() and (np.diff(tokens.ends) >= 0).all()


@settings(max_examples=50)
@given(st.lists(ODD, min_size=1, max_size=6), ODD)
def test_what_is_learned_on_odd_texts_gives_them_back(texts: list[str], other: str) -> None:
    splits = ["train"] * len(texts) + ["dev"]
    examples = [
        Example(str(i), split, {"a": text, "b": text[::-1]}, 0)
        for i, (split, text) in enumerate(zip(splits, [*texts, other], strict=True))
    ]
    found = sub_words(examples, 40)
    assert [detokenise(t.words) for t in found["a"]] == [*texts, other]
    assert [detokenise(t.words) for t in found["b"]] == [text[::-1] for text in [*texts, other]]
    seen = {word for side in found.values() for t in side[:-1] for word in t.words}
    assert all(word in seen or len(word) == 1 for side in found.values() for word in side[-1].words)


MERGES = learn(LINES, 40)


def test_the_most_frequent_pair_is_merged_first() -> None:
    """`a b` occurs three times and `b c` twice, so `abc` becomes `ab c`; case is kept."""
    assert learn(["xab", "yab", "zabc", "wbc"], 100)[0] == ("a", "b")
    merges = [("b", "c"), ("a", "b")]
    assert Cutter(merges).pieces("▁abc") == ["▁", "a", "bc"]
    assert Cutter(list(reversed(merges))).pieces("▁abc") == ["▁", "ab", "c"]
    assert Cutter(merges, frozenset({"c"})).pieces("▁abc") == ["▁", "a", "b", "c"]
    assert learn(LINES, 40) == learn(list(reversed(LINES)), 40)
    assert marked("A b") == "▁A▁b" and marked("") == "" and detokenise([]) == ""
    assert spelled(["▁A", "b"], "bpe") == "Ab" and spelled(["a", "b"], "given") == "a b"


def test_pieces_never_cross_words_nor_join_punctuation() -> None:
    cutter = Cutter(learn(["cat, cat, cat, the cat the cat"] * 5, 200))
    assert cutter.pieces(marked("the cat, cat")) == ["▁the", "▁cat", ",", "▁cat"]


def test_a_prepared_corpus_of_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One vocabulary for both sides, case and digits kept, and no library to read it."""
    spec = pair_files(tmp_path, ["The Cat 12", "a cat"] * 8, ["Die Katze 12", "eine Katze"] * 8)
    corpus = Prepared(prepare(spec, Store(tmp_path / "store")))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert corpus.task == "generation" and corpus.labels == ()
    assert corpus.classes == len(corpus.words) == len(corpus.vectors)
    assert corpus.report["splits"]["test"]["by_class"] == [2]
    for split in ("train", "dev", "test"):
        part = corpus.split(split)
        for i in range(len(part)):
            for side in "ab":
                ids = part.sides[side].tokens[i][1:-1]
                assert UNKNOWN not in ids
                assert detokenise(corpus.words[token] for token in ids) == part.text(i, side)
    with pytest.raises(HeedfulError, match=r"tokenizers library.*heedful\[hf\]"):
        prepare(spec, Store(tmp_path / "other"))
    with pytest.raises(HeedfulError, match="'pieces' is 0"):
        learn(["a"], 0)


def pair_files(folder: Path, source: list[str], target: list[str]) -> CorpusSpec:
    params = {}
    for name, lines in (("path", source), ("target", target)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf8")
        params[name] = str(folder / name)
    for name, lines in (("test", source[:2]), ("test_target", target[:2])):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf8")
        params[name] = str(folder / name)
    return CorpusSpec("parallel", params, PrepareSpec(tokenizer="bpe", pieces=60, dimension=4))


def test_two_files_or_two_columns(tmp_path: Path) -> None:
    (tmp_path / "x.en").write_bytes("one\u2028still one\r\n two \n".encode())
    with gzip.open(tmp_path / "x.de.gz", "wt", encoding="utf8") as stream:
        stream.write("eins\nzwei")
    raw = read(None, path=str(tmp_path / "x.en"), target=str(tmp_path / "x.de.gz"))
    assert [e.texts for e in raw.examples] == [
        {"a": "one\u2028still one", "b": "eins"}, {"a": "two", "b": "zwei"},
    ]  # fmt: skip
    assert raw.task == "generation" and {e.split for e in raw.examples} == {""}
    (tmp_path / "t.jsonl").write_text('{"en": "one", "de": "eins"}\n')
    table = str(tmp_path / "t.jsonl")
    raw = read(None, path=table, test=table, source_column="en", target_column="de")
    assert [(e.split, e.texts["b"]) for e in raw.examples] == [("train", "eins"), ("test", "eins")]


def test_files_of_one_name_in_two_folders_are_both_part_of_the_key(tmp_path: Path) -> None:
    for language in ("en", "de"):
        (tmp_path / language).mkdir()
        (tmp_path / language / "all.txt").write_text("a cat\na dog\n")
    paths = {"path": str(tmp_path / "en" / "all.txt"), "target": str(tmp_path / "de" / "all.txt")}
    before = dict(read(None, **paths).sources)
    assert list(before) == ["train/source/all.txt", "train/target/all.txt"]
    (tmp_path / "en" / "all.txt").write_text("a cat\na horse\n")
    after = dict(read(None, **paths).sources)
    assert [name for name in before if before[name] != after[name]] == ["train/source/all.txt"]


def test_whatever_is_wrong_with_files_is_said(tmp_path: Path) -> None:
    for name, body in (("one", "a\n"), ("two", "a\nb\n"), ("gap", "a\n \n")):
        (tmp_path / name).write_text(body)
    (tmp_path / "t.tsv").write_text("source\ttarget\na\t\n")
    (tmp_path / "bad").write_bytes(b"\xff\n")
    one, two, gap, table, bad = (
        str(tmp_path / name) for name in ("one", "two", "gap", "t.tsv", "bad")
    )
    for params, sentence in (
        ({}, "needs the parameter `path`"),
        ({"path": one, "target": two}, "has 1 lines and .*two has 2: line 2 has no counterpart"),
        ({"path": two, "target": gap}, "line 2 of two and gap has an empty target"),
        ({"path": gap, "target": two}, "line 2 of gap and two has an empty source"),
        ({"path": table}, "row 1 of t.tsv has an empty target"),
        ({"path": table, "target_column": "other"}, "no column 'other'"),
        ({"path": table, "target_column": "source"}, "name two columns"),
        ({"path": one, "target": one, "dev_target": one}, "dev_target is given without dev"),
        ({"path": one, "target": str(tmp_path / "none")}, "there is no file"),
        ({"path": bad, "target": one}, "not UTF-8"),
    ):
        with pytest.raises(HeedfulError, match=sentence):
            read(None, **params)


def test_named_corpora_read_their_files(tmp_path: Path) -> None:
    for name, lines in (
        ("newscommentary/news-commentary-v11.de-en", 3),
        ("wmt13/train", 3), ("wmt13/newstest2012", 2), ("wmt13/newstest2013", 1),
    ):  # fmt: skip
        for language in ("en", "de"):
            path = tmp_path / f"{name}.{language}"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{language} {i}\n" for i in range(lines)))
    (tmp_path / "wmt13/train.de").write_text("de 0\n\nde 2\n")
    news = read_news(tmp_path, "de-en")
    assert news.examples[2].texts == {"a": "de 2", "b": "en 2"} and news.examples[2].split == ""
    assert news.dropped == {"an empty side": 0}
    wmt = read_wmt13(tmp_path)
    assert wmt.dropped == {"an empty side": 1}
    assert [e.split for e in wmt.examples] == ["train", "train", "dev", "dev", "test"]
    assert wmt.examples[1].texts == {"a": "en 2", "b": "de 2"}
    with pytest.raises(HeedfulError, match="choose en-de or de-en"):
        read_news(tmp_path, "en-fr")
    for reader in (read_news, read_wmt13, read_multi30k):
        with pytest.raises(HeedfulError, match="no data folder"):
            reader(None)


def test_multi30k_and_its_alignment(tmp_path: Path) -> None:
    def write(name: str, row: dict[str, str]) -> None:
        path = tmp_path / f"{name}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt", encoding="utf8") as stream:
            stream.write(json.dumps(row) + "\n")

    for name in ("train", "val", "test_2016_flickr", "test_2017_mscoco"):
        write(f"multi30k/{name}", {"en": f"A dog {name}.", "de": "Ein Hund."})
    row = {"en": "A dog runs", "de": "Es läuft ein Hund", "align": "0-2 1-3 2-0 2-1"}
    for split in ("train", "dev", "test"):
        write(f"pruthi_deception/multi30k_en_de_aligned_{split}", row)
    raw = read_multi30k(tmp_path, test_set="test_2017_mscoco")
    assert [e.split for e in raw.examples] == ["train", "dev", "test"]
    assert raw.examples[2].texts == {"a": "A dog test_2017_mscoco.", "b": "Ein Hund."}
    wanted = [("A", "ein"), ("dog", "Hund"), ("runs", "Es"), ("runs", "läuft")]
    for direction, order in (("en-de", 1), ("de-en", -1)):
        example = read_multi30k(tmp_path, direction, aligned=True).examples[0]
        assert aligned_words(example) == [pair[::order] for pair in wanted]
        assert example.texts["a"] == row[direction[:2]]
    for params, sentence in (
        ({"test_set": "test_2018"}, "test_2016_flickr"),
        ({"test_set": "test_2017_flickr", "aligned": True}, "only test_2016_flickr is aligned"),
    ):
        with pytest.raises(HeedfulError, match=sentence):
            read_multi30k(tmp_path, **params)  # type: ignore[arg-type]
    write("pruthi_deception/multi30k_en_de_aligned_dev", {**row, "align": "0-4"})
    with pytest.raises(HeedfulError, match="'0-4' names a word that is not in its text"):
        read_multi30k(tmp_path, aligned=True)


@needs_data
def test_the_real_multi30k() -> None:
    for aligned in (False, True):
        raw = read_multi30k(DATA, aligned=aligned)
        sizes = [sum(e.split == s for e in raw.examples) for s in ("train", "dev", "test")]
        assert sizes == [29000, 1014, 1000]


def aligned_words(example: Example) -> list[tuple[str, str]]:
    assert example.alignment is not None
    return [
        (example.texts["a"][slice(*one)], example.texts["b"][slice(*other)])
        for one, other in example.alignment
    ]


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_the_toy_language_is_translated_by_its_lexicon(seed: int) -> None:
    """Every target word is a word's translation, every word is translated whole, adjectives
    follow their noun, and nothing but adverbs' places and the end comes after a verb."""
    (example,) = read_toy(None, 1, 0, 0, seed=seed).examples
    source, target = (example.texts[side].split() for side in "ab")
    pairs = aligned_words(example)
    assert [other for _, other in pairs] == target
    assert all(other in LEXICON[one] for one, other in pairs)
    assert sorted(w for word in source for w in LEXICON[word]) == sorted(target)
    names = {word: kind for kind, part in (("n", NOUNS), ("a", ADJECTIVES), ("v", VERBS))
             for word in part}  # fmt: skip
    kinds = "".join(names.get(one, "-") for one, _ in pairs)
    before = "".join(names.get(word, "-") for word in source)
    assert "an" in before or "a" not in before
    assert "-a" not in kinds and "va" not in kinds and "vn" not in kinds
    assert example.alignment is not None and example.tokens is not None
    spans = {tuple(token[1:]) for token in example.tokens["a"]}
    assert {one for one, _ in example.alignment} == spans


@pytest.mark.parametrize(
    ("task", "order"),
    [("copy", [0, 1, 2, 3, 4]), ("reverse", [4, 3, 2, 1, 0]), ("flip", [1, 0, 3, 2, 4])],
)
def test_copies_in_some_order(task: str, order: list[int]) -> None:
    raw = read_toy(None, 40, 2, 3, task=task, words=90, min_length=5, max_length=5)
    for example in raw.examples:
        source, target = (example.texts[side].split() for side in "ab")
        assert target == [source[i] for i in order]
        assert aligned_words(example) == [(word, word) for word in target]
        assert example.tokens is not None and example.alignment is not None
        starts = [token[1] for token in example.tokens["a"]]
        assert [one[0] for one, _ in example.alignment] == [starts[i] for i in order]
    assert len({made_up(number) for number in range(6000)}) == 6000


def test_toy_examples_do_not_depend_on_how_many_there_are() -> None:
    few, many = read_toy(None, 5, 0, 2), read_toy(None, 50, 7, 9)
    by_id = {example.id: example for example in many.examples}
    assert all(by_id[example.id] == example for example in few.examples)
    assert read_toy(None, 5, seed=1).examples[0] != few.examples[0]
    for wrong in (
        {"task": "sing"},
        {"n_train": 0},
        {"words": 1},
        {"min_length": 9, "max_length": 8},
    ):
        with pytest.raises(HeedfulError, match="toytranslation"):
            read_toy(None, **wrong)  # type: ignore[arg-type]


def test_the_toy_version_goes_up_when_the_texts_change() -> None:
    lines = [f"{e.id} {e.texts} {e.alignment}" for e in read_toy(None, 50, 5, 5).examples]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (CORPORA["toytranslation"].version, digest) == (1, "488fba2cc48cd13a")


def test_the_prepared_toy_language_keeps_its_alignment(tmp_path: Path) -> None:
    spec = default_spec("toytranslation", n_train=30, n_dev=3, n_test=3, dimension=4)
    corpus = Prepared(prepare(spec, Store(tmp_path)))
    part = corpus.split("train")
    for i in range(len(part)):
        pairs = part.alignment(i)
        assert pairs is not None and len(pairs) == len(part.surface(i, "b"))
        one, other = part.surface(i, "a"), part.surface(i, "b")
        assert all(other[b] in LEXICON[one[a]] for a, b in pairs)
