"""Tokens, words, filters, splits and vectors, each against answers derivable by hand."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data import (
    Count,
    Example,
    blank_breaks,
    build_vocabulary,
    cut_splits,
    filter_lengths,
    given_tokens,
    lifted,
    limit_splits,
    normalise,
    normalise_all,
    own_words,
    tokenizer,
    word_vectors,
)
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec


@pytest.mark.parametrize("name", ["spacy", "whitespace", "words"])
@settings(max_examples=30, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_offsets_are_the_surface(name: str, text: str) -> None:
    (tokens,) = tokenizer(name)([text])
    spans = list(zip(tokens.starts, tokens.ends, strict=True))
    assert [text[start:end] for start, end in spans] == tokens.words
    assert all(word.strip() for word in tokens.words)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_spacy_splits_contractions_and_drops_white_space() -> None:
    (tokens,) = tokenizer("spacy")(["I don't\n\n  know."])
    assert tokens.words == ["I", "do", "n't", "know", "."]
    assert tokens.starts.tolist() == [0, 2, 4, 11, 15]


def test_an_unknown_tokenizer_lists_the_known_ones() -> None:
    with pytest.raises(HeedfulError, match="given, spacy, whitespace, words"):
        tokenizer("bpe")


def test_normalise() -> None:
    assert [normalise(t) for t in ("The", "3rd", "x²", "No")] == ["the", "qqq", "qqq", "no"]
    assert normalise_all(["A", "A", "7"], {}) == ["a", "a", "qqq"]
    assert given_tokens([("A", 0, 1)]).words == ["A"]


def test_vocabulary_counts_texts_and_orders_by_df_then_word() -> None:
    texts = [["b", "a", "a", "<pad>"], ["b", "c", "<pad>"], ["b", "c", "a"], ["d"]]
    vocabulary = build_vocabulary(texts, min_df=2)
    assert vocabulary.words == ("<pad>", "<unk>", "<s>", "</s>", "b", "a", "c")
    assert vocabulary.df == (0, 0, 0, 0, 3, 2, 2)
    assert vocabulary.encode(["a", "d", "<pad>"]).tolist() == [2, 5, 1, 1, 3]


def test_filters_are_inclusive() -> None:
    lengths, splits = np.array([0, 4, 5, 9, 10]), ["train"] * 4 + ["test"]
    keep, counts = filter_lengths(lengths, splits, PrepareSpec(min_length=5, max_length=9))
    assert keep.tolist() == [False, False, True, True, False]
    assert counts == [
        Count("not empty", "train", 3, 1), Count("at least 5 tokens", "train", 2, 1),
        Count("at most 9 tokens", "train", 2, 0), Count("not empty", "test", 1, 0),
        Count("at least 5 tokens", "test", 1, 0), Count("at most 9 tokens", "test", 0, 1),
    ]  # fmt: skip


def test_the_authors_filter_is_strict_and_loses_the_longest() -> None:
    lengths, splits = np.array([5, 6, 7, 8, 8, 6, 9]), ["train"] * 5 + ["test"] * 2
    keep, _ = filter_lengths(lengths, splits, PrepareSpec(min_length=5, counting="authors"))
    assert keep.tolist() == [False, True, True, False, False, True, False]
    keep, _ = filter_lengths(lengths, splits, PrepareSpec(counting="authors"))
    assert keep.tolist() == [False, True, True, False, False, False, False]
    with pytest.raises(HeedfulError, match="authors, inclusive"):
        filter_lengths(lengths, splits, PrepareSpec(counting="mine"))


def example(name: str, split: str = "") -> Example:
    return Example(name, split, {"a": "x"}, 0)


@given(st.permutations([f"n{i}" for i in range(25)]))
def test_splits_do_not_depend_on_order(names: list[str]) -> None:
    spec = PrepareSpec(dev_fraction=0.2, test_fraction=0.2, seed=3)
    cut = {e.id: e.split for e in cut_splits([example(n) for n in names], spec)}
    same = {e.id: e.split for e in cut_splits([example(n) for n in sorted(names)], spec)}
    assert cut == same
    assert sorted(cut.values()) == ["dev"] * 4 + ["test"] * 5 + ["train"] * 16
    other = {e.id: e.split for e in cut_splits([example(n) for n in names], PrepareSpec(seed=4))}
    assert other != cut


def test_given_splits_stay() -> None:
    examples = [example(str(i), s) for i, s in enumerate(["train", "dev", "test", "train"])]
    assert cut_splits(examples, PrepareSpec()) == examples
    with pytest.raises(HeedfulError, match="dev_fraction"):
        cut_splits(examples, PrepareSpec(dev_fraction=1.0))


def test_a_limit_samples_each_split() -> None:
    examples = [example(f"{i}", s) for s in ("train", "test") for i in range(50)]
    examples = [example(f"{e.split}{e.id}", e.split) for e in examples]
    kept = limit_splits(examples, PrepareSpec(limit=10))
    assert [e.split for e in kept] == ["train"] * 10 + ["test"] * 10
    assert kept[:10] != examples[:10]
    more = {e.id for e in limit_splits(examples, PrepareSpec(limit=20))}
    assert {e.id for e in kept} <= more


def test_missing_words_get_vectors_of_their_own() -> None:
    spec = PrepareSpec(dimension=4, seed=1)
    one = word_vectors(build_vocabulary([["a", "b"]], 1), spec, None).matrix
    two = word_vectors(build_vocabulary([["b"], ["b", "z"]], 1), spec, None).matrix
    assert one.dtype == np.float32 and one.shape == (6, 4)
    np.testing.assert_array_equal(one[5], two[4])  # b, whatever its id
    assert not one[0].any() and one[1:].any(axis=1).all()


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.txt.gz", "v.npz"])
def test_vectors_from_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "v.npz":
        words = np.frombuffer(b"a\nq r", dtype=np.uint8)
        np.savez(path, words=words, vectors=np.array([[1, 2], [3, 4]], dtype=np.float16))
    else:
        body = ("2 2\n" if name == "v.vec" else "") + "a 1 2\nq r 3 4\na 9 9\n"
        path.write_bytes(gzip.compress(body.encode()) if name.endswith(".gz") else body.encode())
    vocabulary = build_vocabulary([["a", "b"], ["a", "q r"]], 1)
    vectors = word_vectors(vocabulary, PrepareSpec(dimension=7), path)
    assert vectors.matrix[vocabulary.ids["a"]].tolist() == [1, 2]
    assert vectors.matrix[vocabulary.ids["q r"]].tolist() == [3, 4]
    assert vectors.known.tolist() == [False] * 4 + [True, False, True]
    counts = np.array([0, 1, 5, 5, 6, 2, 1])  # 10 real tokens, 7 of them known
    assert vectors.coverage(counts) == {"types": 2 / 3, "tokens": 0.7}


def test_lifted_vectors_keep_lengths_and_angles(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    given = np.array([[1, 2, 0], [3, 4, -1], [0, 0, 5]], dtype=np.float16)
    np.savez(path, words=np.frombuffer(b"a\nb\nc", dtype=np.uint8), vectors=given)
    vocabulary = build_vocabulary([["a", "b", "c", "new"], ["a", "new"]], 1)
    vectors = word_vectors(vocabulary, PrepareSpec(vectors="glove300"), path)
    assert vectors.matrix.shape == (8, 300) and vectors.known.sum() == 3
    rows = vectors.matrix[[vocabulary.ids[word] for word in "abc"]]
    np.testing.assert_allclose(rows @ rows.T, given @ given.T.astype(np.float64), atol=1e-4)
    drawn = vectors.matrix[vocabulary.ids["new"]]  # N(0, 1) in all of the 300
    assert 0.8 < drawn.std() < 1.2 and np.linalg.matrix_rank(np.vstack([rows, drawn])) == 4


def test_the_lift_is_one_map_whatever_the_words() -> None:
    one = {"a": np.array([1.0, 0.0], dtype=np.float32)}
    two = {"b": np.array([0.0, 1.0], dtype=np.float32), "a": one["a"]}
    np.testing.assert_array_equal(lifted(one, 2)["a"], lifted(two, 2)["a"])
    assert abs(float(lifted(two, 2)["a"] @ lifted(two, 2)["b"])) < 1e-6


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"a 1 2\nb 1\n", "line 2"), (b"a 1 x\n", "line 1"), (b"a 1 nan\n", "line 1"),
     (b"", "no word vectors"), (b"a 1 2\n\xff 1 2\n", "UTF-8"), (b"a\n", "line 1")],
)  # fmt: skip
def test_malformed_vectors(tmp_path: Path, body: bytes, message: str) -> None:
    (tmp_path / "v.txt").write_bytes(body)
    with pytest.raises(HeedfulError, match=message):
        word_vectors(build_vocabulary([["a"]], 1), PrepareSpec(), tmp_path / "v.txt")


def test_breaks_keep_offsets() -> None:
    text = "One.<br /><br />Two"
    assert len(blank_breaks(text)) == len(text)
    assert blank_breaks(text).split() == ["One.", "Two"]


def test_posts_lose_quotes_and_signatures() -> None:
    body = "In article <1@x> joe writes:\n>I think so.\nI do not.\n\nReally.\n--\nAnn\nann@x\n"
    assert own_words(body) == "I do not.\n\nReally."
    assert own_words("One block only.\nNo more.\n") == "One block only.\nNo more."
    assert own_words("What I say.\n\nAnn Other, Somewhere\n") == "What I say."
    assert own_words("> all quoted\n") == ""
