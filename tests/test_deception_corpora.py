"""Corpora with impermissible tokens: generated, read, named by a user; and what is left of them
when the tokens are taken away."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data_folder import DATA, needs_data, put
from heedful.cli import main
from heedful.data import (
    CLUES,
    CORPORA,
    GENDERED,
    Example,
    Prepared,
    at_a_quarter,
    blinded,
    default_spec,
    forbidden,
    forbidden_next,
    laid_out,
    mark,
    prepare,
)
from heedful.data.deception import read
from heedful.errors import HeedfulError
from heedful.store import Store
from tiny import tiny_model

WORDS = [{*words.values()} for words in GENDERED]


def marked(example: Example) -> list[str]:
    assert example.impermissible is not None
    return [example.texts["a"][start:end] for start, end in example.impermissible["a"]]


def decisive(example: Example) -> list[str]:
    assert example.rationales is not None
    return [example.texts["a"][start:end] for start, end in example.rationales["a"]]


@settings(max_examples=15, deadline=None)
@given(about=st.integers(1, 4), scenes=st.integers(0, 3), seed=st.integers(0, 1000))
def test_pronouns_alone_tell_the_gender(about: int, scenes: int, seed: int) -> None:
    for example in read(None, 20, 0, 0, "pronoun", about, scenes, seed=seed).examples:
        assert example.tokens is not None
        text, said = example.texts["a"], {word for word, _, _ in example.tokens["a"]}
        assert all(text[start:end] == word for word, start, end in example.tokens["a"])
        assert marked(example) == decisive(example) != []
        assert set(marked(example)) <= WORDS[example.label]
        assert not said & (WORDS[1 - example.label] - WORDS[example.label])


def test_without_their_marks_both_genders_say_the_same() -> None:
    """Each word outside the marks is about as frequent in one class as in the other."""
    counts: dict[str, list[int]] = {}
    for example in read(None, 3000, 0, 0).examples:
        for word in unmarked(example):
            counts.setdefault(word, [0, 0])[example.label] += 1
    assert all(abs(a - b) < 5 * (a + b) ** 0.5 for a, b in counts.values())


def unmarked(example: Example) -> set[str]:
    assert example.impermissible is not None and example.tokens is not None
    gone = set(example.impermissible["a"])
    return {word for word, *at in example.tokens["a"] if tuple(at) not in gone}


def test_occupations_are_told_by_gender_and_by_trade() -> None:
    examples = read(None, 3000, 0, 0, "occupation", agreement=0.9, clue=0.7).examples
    gender = [set(marked(e)) <= WORDS[e.label] for e in examples]
    trade = [set(decisive(e)) & set(CLUES[e.label].split()) != set() for e in examples]
    assert 0.88 < np.mean(gender) < 0.92 and 0.67 < np.mean(trade) < 0.73
    assert all(set(marked(e)) < set(decisive(e)) for e in examples)
    same = CORPORA["deception_occupation"].make(None, clue=0.7, n_train=3000, n_dev=0, n_test=0)
    assert same.examples == examples


def test_an_example_does_not_depend_on_how_many_there_are() -> None:
    few, many = read(None, 5, 0, 2), read(None, 30, 3, 4)
    assert all(example in many.examples for example in few.examples)
    assert read(None, 5, 0, 2, seed=1).examples != few.examples


def test_the_version_goes_up_when_the_texts_change() -> None:
    every = [e for task in ("pronoun", "occupation") for e in read(None, 40, 5, 5, task).examples]
    lines = [f"{e.id} {e.label} {e.texts['a']} {e.rationales} {e.impermissible}" for e in every]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (CORPORA["deception"].version, digest) == (1, "87cf9cbc48259e36")


@pytest.mark.parametrize(
    "params", [{"about": 0}, {"scenes": -1}, {"agreement": 1.5}, {"clue": -0.1}, {"n_train": 0}]
)
def test_impossible_recipes_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(HeedfulError, match="cannot be made"):
        read(None, **params)


def test_an_unknown_task_is_named() -> None:
    with pytest.raises(HeedfulError, match="task of deception"):
        read(None, task="names")


def put_task(folder: Path, task: str, **splits: list[dict[str, str]]) -> None:
    for split, rows in splits.items():
        put(folder, f"pruthi_deception/{task}_{split}.jsonl.gz", rows)


def test_pronouns_are_marked_by_what_they_are(tmp_path: Path) -> None:
    rows = [{"text": "in 1785 she went to her aunt .", "label": "F"},
            {"text": "He , himself , hears heroes .", "label": "M"}]  # fmt: skip
    put_task(tmp_path, "pronoun", train=rows, dev=rows[:1], test=rows[1:])
    raw = CORPORA["pronoun"].make(tmp_path)
    assert raw.labels == ("female", "male") and not raw.subset
    assert [marked(e) for e in raw.examples[:2]] == [["she", "her"], ["He", "himself"]]
    assert [(e.split, e.label) for e in raw.examples[2:]] == [("dev", 0), ("test", 1)]


def test_occupations_learn_from_dev_where_training_texts_are_missing(tmp_path: Path) -> None:
    row = {"text": "ms. lee,  md speaks", "label": "0", "impermissible": "1000"}
    other = {"text": "he cuts", "label": "1", "impermissible": "10"}
    put_task(tmp_path, "occupation_classification", dev=[row, other], test=[row])
    raw = CORPORA["occupation"].make(tmp_path)
    assert [e.split for e in raw.examples] == ["train", "train", "test"]
    assert raw.subset and "training file is missing" in raw.note
    assert [marked(e) for e in raw.examples] == [["ms."], ["he"], ["ms."]]
    put_task(tmp_path, "occupation_classification", train=[other])
    whole = CORPORA["occupation"].make(tmp_path)
    assert [e.split for e in whole.examples] == ["train", "dev", "dev", "test"]
    assert not whole.subset and whole.labels == ("physician", "surgeon")


def test_a_review_is_marked_whole(tmp_path: Path) -> None:
    row = {"text": "Good fun . A list of kings .", "label": "1", "impermissible": "11100000"}
    put_task(tmp_path, "sst_wiki", train=[row], dev=[row], test=[row])
    assert marked(CORPORA["sst_wiki"].make(tmp_path).examples[0]) == ["Good", "fun", "."]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"impermissible": "110"}, "each word needs"), ({"impermissible": "1112"}, "each word"),
     ({"label": "7"}, "one of the labels 0, 1")],
)  # fmt: skip
def test_files_that_are_not_as_they_should_be(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    row = {"text": "a b c d", "label": "1", "impermissible": "1100", **change}
    put_task(tmp_path, "sst_wiki", train=[row], dev=[row], test=[row])
    with pytest.raises(HeedfulError, match=message):
        CORPORA["sst_wiki"].make(tmp_path)


@needs_data
def test_the_published_files_are_whole() -> None:
    sizes = {"pronoun": 11271, "occupation": 7556, "sst_wiki": 9613}
    for name, size in sizes.items():
        raw = CORPORA[name].make(DATA)
        assert len(raw.examples) == size
        assert sum(not marked(e) for e in raw.examples) == (26 if name == "occupation" else 0)


TEXTS = ["She said: he, SHE and shed.", "Her hat, the hat."]


def texts(*more: str) -> list[Example]:
    return [Example(str(i), "train", {"a": text}, 0) for i, text in enumerate([*TEXTS, *more])]


@pytest.mark.parametrize(
    ("how", "found"),
    [("she", [["She", "SHE"], []]), ("she, her", [["She", "SHE"], ["Her"]]),
     ("hat,", [[], ["hat", "hat"]]), ("/[Ss]he/", [["She", "she"], []]),
     ("/h(?=at)|x*/", [[], ["h", "h"]]), ("", None)],
)  # fmt: skip
def test_words_and_patterns(how: str, found: list[list[str]] | None) -> None:
    examples = mark(texts(), how)
    if found is None:
        assert all(example.impermissible is None for example in examples)
    else:
        assert [marked(example) for example in examples] == found


@pytest.mark.parametrize(
    ("how", "message"),
    [("zebra", "match nothing in any text"), ("/(/", "is none"), (" , ", "name no word"),
     ("/x*/", "match nothing")],
)  # fmt: skip
def test_marks_that_cannot_be(how: str, message: str) -> None:
    with pytest.raises(HeedfulError, match=message):
        mark(texts(), how)


def test_what_a_user_names_goes_before_what_the_corpus_marks() -> None:
    (example, *_) = mark(read(None, 1, 0, 0).examples, "the, her, his")
    assert {word.lower() for word in marked(example)} <= {"the", "her", "his"}


CELLS = [
    ("[[0, 3]]", ["She"]), ([[4, 8], [10, 12]], ["said", "he"]), ('["he", "she"]', ["She", "he"]),
    ("he, and", ["he", "and"]), ("", []), (None, []), (["shed."], ["shed."]),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "found"), CELLS)
def test_a_column_of_spans_or_words(tmp_path: Path, cell: Any, found: list[str]) -> None:
    rows = [{"text": "She said: he, and shed.", "label": "0", "no": cell},
            {"text": "her", "label": "1", "no": "her"}]  # fmt: skip
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    raw = CORPORA["file"].make(None, path=str(path), impermissible_column="no")
    assert [marked(e) for e in raw.examples] == [found, ["her"]]
    assert all(e.rationales is None for e in raw.examples)


@pytest.mark.parametrize(
    ("cell", "message"),
    [("[[0, 99]]", r"impermissible span \[0, 99\)"), ("zebra", "'zebra', which is not in its text"),
     ("[[0, 1, 2]]", "neither words nor"), ("[1]", "neither words nor"), ("", "marks nothing")],
)  # fmt: skip
def test_a_column_that_is_wrong(tmp_path: Path, cell: str, message: str) -> None:
    path = tmp_path / "own.jsonl"
    rows = [{"text": "She left.", "label": label, "no": cell} for label in "01"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(HeedfulError, match=message):
        CORPORA["file"].make(None, path=str(path), impermissible_column="no")


def test_nothing_matched_is_one_sentence_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [f"--param=n_{split}=4" for split in ("train", "dev", "test")]
    command = ["prepare", "planted", "--store", str(tmp_path), *sizes]
    assert main([*command, "--param=impermissible=zebra"]) == 2
    said = capsys.readouterr().err
    assert "match nothing in any text: give other words." in said and "Traceback" not in said
    assert main([*command, "--param=impermissible=the"]) == 0


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    spec = replace(default_spec("deception"), params={"n_train": 30, "n_dev": 8, "n_test": 8})
    return Prepared(prepare(spec, Store(tmp_path_factory.mktemp("store"))))


def test_a_blinded_text_is_the_rest_of_it(generated: Prepared) -> None:
    split = generated.split("train")
    less = blinded(split)
    assert less.ids == split.ids and torch.equal(less.labels, split.labels)
    for i in range(len(split)):
        marks = split.impermissible(i)
        assert marks is not None and marks.any()
        keep = [word for word, gone in zip(split.surface(i), marks, strict=True) if not gone]
        assert less.surface(i) == keep and not set(keep) & (WORDS[0] | WORDS[1])
        ids = [generated.words[token] for token in less.sides["a"].tokens[i][1:-1]]
        assert ids == keep
        assert len(less.sides["a"].tokens[i]) == len(keep) + 2 == less.lengths[i] + 2
        nothing = less.impermissible(i)
        assert nothing is not None and not nothing.any() and len(nothing) == len(keep)


def test_a_text_of_nothing_else_is_empty_and_can_be_read(generated: Prepared) -> None:
    split = generated.split("train").subset([0, 1])
    side = split.sides["a"]
    every = [np.ones(len(side.starts[0]), dtype=bool), side.impermissible[1]]
    less = blinded(replace(split, sides={"a": replace(side, impermissible=every)}))
    assert less.lengths[0] == 0 < less.lengths[1]
    batch = less.batch([0, 1])
    batch.texts["a"].tokens.clamp_max_(20)
    model = tiny_model()
    logits = model(batch).logits
    assert torch.isfinite(logits).all() and torch.allclose(logits[0], model.decoder.bias)


def test_a_corpus_without_marks_cannot_be_blinded(generated: Prepared) -> None:
    split = generated.split("dev")
    bare = replace(split, sides={"a": replace(split.sides["a"], impermissible=None)})
    with pytest.raises(HeedfulError, match="marks no impermissible tokens: name them"):
        blinded(bare)


def test_steps_may_not_look_at_what_they_translate(tmp_path: Path) -> None:
    spec = replace(default_spec("toy_flip"), params={"n_train": 6, "n_dev": 1, "n_test": 1})
    split = Prepared(prepare(spec, Store(tmp_path))).split("train")
    marks, batch = forbidden(split), split.batch(range(6))
    steps = batch.texts["b"].tokens.shape[1]
    laid = laid_out(marks, batch, steps)
    for row, name in enumerate(batch.ids):
        n = int(split.lengths[row])
        origin = [min(j ^ 1, n - 1) for j in range(n)]
        assert [line.nonzero()[0].tolist() for line in marks[name]] == [[o] for o in origin] + [[]]
        assert [line.nonzero().flatten().tolist() for line in laid[row]] == [
            *([o + 1] for o in origin),
            *([] for _ in range(steps - n)),
        ]
    given = at_a_quarter(split)
    for i, name in enumerate(given.ids):
        step = int(split.lengths[i]) // 4
        assert np.array_equal(forbidden_next(split, given)[name][0], marks[name][step])
