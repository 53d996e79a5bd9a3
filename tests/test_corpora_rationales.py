"""Corpora with human rationales: what is marked, by whom, and how much of it there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data_folder import DATA, needs_data, put
from heedful.data import (
    CORPORA,
    Example,
    Prepared,
    RawCorpus,
    default_spec,
    join_tokens,
    majority,
    marked_spans,
    prepare,
    telling,
)
from heedful.errors import HeedfulError
from heedful.store import Store


def marked(example: Example) -> list[str] | None:
    if example.rationales is None:
        return None
    return [example.texts["a"][start:end] for start, end in example.rationales["a"]]


def test_tokens_stand_where_they_are_said_to() -> None:
    text, tokens = join_tokens(["a", "", "b c", "d"])
    assert text == "a  b c d"
    assert [text[start:end] for _, start, end in tokens] == ["a", "", "b c", "d"]
    assert marked_spans(tokens, [True, False, True, False]) == [(0, 1), (3, 6)]
    assert marked_spans(tokens, [False] * 4) is None


def test_two_of_three_annotators_are_a_majority() -> None:
    assert majority(["110", "011"], 3) == [False, True, False]
    assert majority(["110", "011", "001"], 3) == [False, True, True]
    assert majority([], 2) == [False, False]
    assert majority(["110", "01"], 3) == [False, False, False]


def test_hatexplain(tmp_path: Path) -> None:
    row = {"post_id": "1", "tokens": ["you", "  ", "vile", "man"], "label": "offensive"}
    normal = {"post_id": "2", "tokens": ["hello"], "label": "normal", "rationales": []}
    split = {"post_id": "3", "tokens": ["bad", "man"], "label": "hatespeech"}
    rows = [
        {**row, "rationales": ["0111", "1010"]},
        normal,
        {**split, "rationales": ["10", "01"]},
    ]
    for number, name in enumerate(("train", "dev", "test")):
        unlike = [{**each, "post_id": f"{number}{each['post_id']}"} for each in rows]
        put(tmp_path, f"hatexplain/{name}.jsonl.gz", unlike)
    raw = CORPORA["hatexplain"].make(tmp_path)
    first = raw.examples[0]
    assert first.texts["a"] == "you vile man" and raw.labels[first.label] == "offensive"
    assert [marked(example) for example in raw.examples[:3]] == [["vile"], None, None]
    assert [raw.labels[e.label] for e in raw.examples[1:3]] == ["normal", "hatespeech"]


def test_movies(tmp_path: Path) -> None:
    row = {"id": "posR_1", "sentences": ["a dull start .", "but what joy !"], "label": 1}
    for number, name in enumerate(("train", "dev", "test")):
        spans = [[3, 7], [4, 4], [1, 2]] if number else [[4, 4]]
        rows = [{**row, "id": f"r{number}", "rationale_spans": spans}]
        put(tmp_path, f"movies_rationales/{name}.jsonl.gz", rows)
    raw = CORPORA["movies"].make(tmp_path)
    assert marked(raw.examples[0]) is None
    assert marked(raw.examples[1]) == [".\nbut what joy", "dull"]
    store = Store(tmp_path / "store")
    prepared = Prepared(prepare(default_spec("movies", vectors="random"), store, tmp_path))
    rationale = prepared.split("test").rationale(0)
    assert rationale is not None and rationale.tolist() == [
        False, True, False, True, True, True, True, False
    ]  # fmt: skip
    rows = [{**row, "rationale_spans": [[3, 9]]}]
    put(tmp_path, "movies_rationales/dev.jsonl.gz", rows)
    with pytest.raises(HeedfulError, match=r"rationale \[3, 9\) and 8 tokens"):
        CORPORA["movies"].make(tmp_path)


def test_tweets_are_split_by_a_hash_and_neutral_ones_left_out(tmp_path: Path) -> None:
    names = ("negative", "neutral", "positive")
    rows = [
        {"id": f"t{i}", "text": " so SAD now", "label": names[i % 3], "span": [1, 7]}
        for i in range(90)
    ]
    put(tmp_path, "tweet_sentiment_spans/all.jsonl.gz", rows)
    raw = CORPORA["tweets"].make(tmp_path)
    assert dict(raw.dropped) == {"neutral": 30} and marked(raw.examples[0]) == ["so SAD"]
    spec = default_spec("tweets", tokenizer="whitespace", vectors="random")
    prepared = Prepared(prepare(spec, Store(tmp_path / "one"), tmp_path))
    sizes = {name: len(prepared.split(name)) for name in ("train", "dev", "test")}
    assert sizes == {"train": 41, "dev": 7, "test": 12}
    put(tmp_path, "tweet_sentiment_spans/all.jsonl.gz", rows[::-1])
    again = Prepared(prepare(spec, Store(tmp_path / "two"), tmp_path))
    assert set(again.split("test").ids) == set(prepared.split("test").ids)


def test_sst_marks_words_that_point_the_way_of_the_sentence(tmp_path: Path) -> None:
    rows = [
        {"tokens": ["A", "warm", "bad", "-LRB-", "film"], "label": 1, "token_label5": "24022"},
        {"tokens": ["A", "warm", "bad", "mess", "\\/x"], "label": 0, "token_label5": "24102"},
        {"tokens": ["A", "film"], "label": 1, "token_label5": "22"},
        {"tokens": ["Neutral"], "label": None, "token_label5": "2"},
    ]
    for name in ("train", "dev", "test"):
        put(tmp_path, f"sst/{name}.jsonl.gz", rows)
    raw = CORPORA["sst"].make(tmp_path, rationales="words")
    assert [marked(example) for example in raw.examples[:3]] == [["warm"], ["bad", "mess"], None]
    plain = CORPORA["sst"].make(tmp_path)
    assert all(example.rationales is None for example in plain.examples)
    assert [e.texts for e in plain.examples] == [e.texts for e in raw.examples]
    assert raw.examples[1].texts["a"] == "A warm bad mess /x"
    with pytest.raises(HeedfulError, match="rationales is 'trees': give 'words'"):
        CORPORA["sst"].make(tmp_path, rationales="trees")
    assert telling("01234", 0) == [True, True, False, False, False]


def raw(name: str, **params: Any) -> RawCorpus:
    made: RawCorpus = CORPORA[name].make(DATA, **params)
    return made


def count(corpus: RawCorpus, split: str, label: str | None = None) -> tuple[int, int]:
    """Examples of a split and how many of them have a rationale."""
    chosen = [
        example
        for example in corpus.examples
        if example.split == split and (label is None or corpus.labels[example.label] == label)
    ]
    return len(chosen), sum(example.rationales is not None for example in chosen)


@needs_data
def test_hatexplain_counts() -> None:
    """15383 / 1922 / 1924 as published; normal posts have no rationale, and in 344 of the
    others no word has a majority (one of them for its broken length)."""
    corpus = raw("hatexplain")
    assert [count(corpus, s)[0] for s in ("train", "dev", "test")] == [15383, 1922, 1924]
    assert [count(corpus, s, "normal") for s in ("train", "test")] == [(6251, 0), (782, 0)]
    assert [count(corpus, s)[1] for s in ("train", "dev", "test")] == [9131 - 270, 1103, 1106]


@needs_data
def test_movies_counts() -> None:
    """1600 / 200 / 199; one training review has no rationale; 9%, 7% and 31% of the tokens."""
    corpus = raw("movies")
    splits = ("train", "dev", "test")
    assert [count(corpus, split) for split in splits] == [(1600, 1599), (200, 200), (199, 199)]
    shares = []
    for split in splits:
        parts = [e for e in corpus.examples if e.split == split]
        shares.append(sum(_share(example) for example in parts) / len(parts))
    assert [round(share, 2) for share in shares] == [0.09, 0.07, 0.31]


def _share(example: Example) -> float:
    assert example.tokens is not None
    spans = example.rationales["a"] if example.rationales else []
    inside = [any(s < end and e > start for start, end in spans) for _, s, e in example.tokens["a"]]
    return sum(inside) / len(inside)


@needs_data
def test_tweets_counts() -> None:
    corpus = raw("tweets")
    assert len(corpus.examples) == 8582 + 7781 and dict(corpus.dropped) == {"neutral": 11117}
    assert all(text.strip() for e in corpus.examples for text in marked(e) or [""])


@needs_data
def test_sst_counts() -> None:
    corpus = raw("sst", rationales="words")
    counts = [count(corpus, split) for split in ("train", "dev", "test")]
    assert counts == [(6920, 5801), (872, 738), (1821, 1539)]


@needs_data
@pytest.mark.parametrize("name", ["hatexplain", "movies", "tweets", "sst"])
def test_they_can_be_prepared(tmp_path: Path, name: str) -> None:
    params = {"rationales": "words"} if name == "sst" else {}
    spec = default_spec(name, params, limit=60, vectors="random")
    prepared = Prepared(prepare(spec, Store(tmp_path), DATA))
    for split in ("train", "dev", "test"):
        part = prepared.split(split)
        assert 40 <= len(part) <= 60
        some = [part.rationale(i) for i in range(len(part))]
        assert sum(each is not None and each.any() for each in some) >= 20
