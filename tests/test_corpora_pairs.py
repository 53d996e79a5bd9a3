"""Pairs of texts: inference with its highlights, cloze questions, aspects, a user's own file."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from data_folder import DATA, needs_data, put
from heedful.data import (
    ASPECTS,
    CORPORA,
    OWN,
    SHARED,
    SUBJECTS,
    Example,
    Prepared,
    RawCorpus,
    default_spec,
    highlighted,
    parse,
    positions,
    prepare,
)
from heedful.data.pairs import spelled
from heedful.data.planted import NEGATORS
from heedful.errors import HeedfulError
from heedful.store import Store

LABELS = ("neutral", "contradiction", "entailment")


def pair(premise: str, hypothesis: str, label: str | None, **more: str) -> dict[str, Any]:
    return {"premise": premise, "hypothesis": hypothesis, "label": label, **more}


def marked(example: Example) -> dict[str, list[str]]:
    found = example.rationales or {}
    return {s: [example.texts[s][a:b] for a, b in spans] for s, spans in found.items()}


ROWS = [pair("A dog runs.", "It rests.", "contradiction"), pair("A", "B", "-"),
        pair("A man.", "A person.", "entailment"), pair("X", "Y", "neutral")]  # fmt: skip


def test_snli_takes_the_whole_training_file_where_it_is(tmp_path: Path) -> None:
    for name in ("train_subset", "dev", "test"):
        put(tmp_path, f"snli/{name}.jsonl.gz", ROWS)
    raw = CORPORA["snli"].make(tmp_path)
    assert raw.labels == LABELS and [e.label for e in raw.examples[:3]] == [1, 2, 0]
    assert raw.examples[0].texts == {"a": "A dog runs.", "b": "It rests."}
    assert raw.examples[1].id == "snli-train-000002"
    assert raw.subset and "part" in raw.note and dict(raw.dropped) == {"no gold label": 3}
    put(tmp_path, "snli/train.jsonl.gz", ROWS * 2)
    whole = CORPORA["snli"].make(tmp_path)
    assert not whole.subset and not whole.note
    assert Counter(e.split for e in whole.examples) == {"train": 6, "dev": 3, "test": 3}
    put(tmp_path, "snli/dev.jsonl.gz", [pair("A", "B", "maybe")])
    with pytest.raises(HeedfulError, match="label 'maybe', the classes are neutral, contra"):
        CORPORA["snli"].make(tmp_path)
    put(tmp_path, "snli/dev.jsonl.gz", [{**ROWS[0], "premise": None}])
    with pytest.raises(HeedfulError, match="snli-dev-000000 of dev.jsonl.gz lacks a text"):
        CORPORA["snli"].make(tmp_path)


def test_mnli_is_tested_on_dev_and_cuts_its_own(tmp_path: Path) -> None:
    put(tmp_path, "mnli/train_subset.jsonl.gz", ROWS * 20)
    put(tmp_path, "mnli/dev_matched.jsonl.gz", ROWS)
    spec = default_spec("mnli", vectors="random", min_df=1)
    prepared = Prepared(prepare(spec, Store(tmp_path / "store"), tmp_path))
    assert [len(prepared.split(s)) for s in ("train", "dev", "test")] == [54, 6, 3]
    assert "matched" in prepared.report["note"] and prepared.report["subset"]
    batch = prepared.split("test").batch([0, 1])
    assert set(batch.texts) == {"a", "b"}
    assert prepared.surface("mnli-test-000000", "b") == ["It", "rests", "."]


def test_snli_cad_has_parts(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "source": "original"}, {**ROWS[2], "source": "revised"},
            {**ROWS[3], "source": "revised"}]  # fmt: skip
    for name in ("train", "dev", "test"):
        put(tmp_path, f"snli_cad/{name}.jsonl.gz", rows)
    sizes = {p: len(CORPORA["snli_cad"].make(tmp_path, p).examples) for p in ("all", "revised")}
    assert sizes == {"all": 9, "revised": 6}
    original = CORPORA["snli_cad"].make(tmp_path, "original")
    assert [e.label for e in original.examples] == [1, 1, 1]
    assert dict(original.dropped) == {"of the other part": 6}
    with pytest.raises(HeedfulError, match="unknown part 'new'"):
        CORPORA["snli_cad"].make(tmp_path, "new")


def test_highlights_are_positions_of_words() -> None:
    assert positions("3,4, 7") == {3, 4, 7} and positions("{}") == set()
    assert positions("") is None and positions("x") is None and positions("-1") is None
    assert positions("١,٢") is None
    text = "Two  women, hug."
    assert highlighted(text, [{0, 2}]) == [(0, 3), (12, 16)]
    assert highlighted(text, [{0, 2}, {2}, {1}]) == [(12, 16)]
    assert highlighted(text, [{0}, {2}]) == [] == highlighted(text, [])
    assert highlighted(text, [{3}]) is None


def esnli(folder: Path, name: str, rows: list[dict[str, str]], annotators: int) -> None:
    marks = [f"Sentence{s}_Highlighted_{n}" for n in range(1, annotators + 1) for s in (1, 2)]
    columns = ["pairID", "gold_label", "Sentence1", "Sentence2", "Explanation_1", *marks]
    path = folder / "esnli" / f"esnli_{name}.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf8", newline="") as stream:
        sheet = csv.DictWriter(stream, columns, restval="{}")
        sheet.writeheader()
        sheet.writerows(rows)


def test_esnli_highlights_are_rationales_of_both_sides(tmp_path: Path) -> None:
    base = {"Sentence1": "A dog, running fast", "Sentence2": "It sleeps.", "gold_label": LABELS[1]}
    one = {**base, "Sentence1_Highlighted_1": "1,2", "Sentence2_Highlighted_1": "1"}
    neutral = {**base, "gold_label": "neutral", "Sentence2_Highlighted_1": "0"}
    broken = {**base, "Sentence1_Highlighted_1": "9", "Sentence2_Highlighted_1": "1"}
    three = {**one, "Sentence1_Highlighted_2": "2", "Sentence1_Highlighted_3": "2,3"}
    esnli(tmp_path, "train_1", [one, neutral], 1)
    esnli(tmp_path, "train_2", [broken], 1)
    esnli(tmp_path, "dev", [three], 3)
    with pytest.raises(HeedfulError, match=r"esnli_test.csv is missing: get e-SNLI from https"):
        CORPORA["snli"].make(tmp_path, highlights=True)
    esnli(tmp_path, "test", [{**base, "gold_label": "-"}, base], 3)
    raw = CORPORA["snli"].make(tmp_path, highlights=True)
    assert [marked(e) for e in raw.examples] == [
        {"a": ["dog,", "running"], "b": ["sleeps."]}, {"b": ["It"]}, {"b": ["sleeps."]},
        {"a": ["running"]}, {},
    ]  # fmt: skip
    assert [e.split for e in raw.examples] == ["train", "train", "train", "dev", "test"]
    assert dict(raw.dropped) == {"no gold label": 1, "side whose highlights fit no word": 1}
    assert not raw.subset and len({e.id for e in raw.examples}) == 5


QUESTION = """http://example.org/story

( @entity0 ) the minister @entity12 went to @entity3 .  it was late .

@placeholder visited @entity3

{answer}

@entity0:CNN
@entity12:Ann Other
@entity3:Rome
"""


def cnn_files(folder: Path, answers: dict[str, list[str]]) -> None:
    for split, some in answers.items():
        for number, answer in enumerate(some):
            path = folder / "cnn" / "questions" / split / f"{number}.question"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(QUESTION.format(answer=answer), encoding="utf8")


def test_cnn_answers_are_entities_of_the_passage(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match="cnn/questions/training is not in the data.*DMQA"):
        CORPORA["cnn"].make(tmp_path)
    answers = ["@entity12", "@entity0"]
    cnn_files(tmp_path, {"training": answers * 4, "validation": answers, "test": answers})
    raw = CORPORA["cnn"].make(tmp_path)
    assert raw.labels == ("@entity0", "@entity3", "@entity12")
    first = raw.examples[0]
    assert (first.label, first.candidates) == (2, (0, 1, 2))
    assert first.texts["b"] == "@placeholder visited @entityd"
    assert "@entitybc went" in first.texts["a"]
    spec = default_spec("cnn", vectors="random", min_df=1)
    run = prepare(spec, Store(tmp_path / "store"), tmp_path)
    prepared = Prepared(run)
    assert {"@entitya", "@entitybc", "@entityd", "@placeholder"} <= set(prepared.words)
    batch = prepared.split("test").batch([0])
    assert batch.candidates is not None and batch.candidates.tolist() == [[True] * 3]
    cnn_files(tmp_path, {"test": ["@entity7"]})
    again = CORPORA["cnn"].make(tmp_path)
    assert list(again.dropped.values()) == [1]
    assert again.sources["cnn/questions/test"] != raw.sources["cnn/questions/test"]
    assert again.sources["cnn/questions/training"] == raw.sources["cnn/questions/training"]


def test_cnn_candidates_differ_by_passage(tmp_path: Path) -> None:
    cnn_files(tmp_path, {s: ["@entity12"] * 2 for s in ("training", "validation", "test")})
    path = tmp_path / "cnn/questions/test/0.question"
    path.write_text(QUESTION.format(answer="@entity12").replace("( @entity0 ) ", ""))
    raw = CORPORA["cnn"].make(tmp_path)
    test = [e for e in raw.examples if e.split == "test"]
    assert [e.candidates for e in test] == [(1, 2), (0, 1, 2)]
    path.write_text(QUESTION.format(answer="@entity0").replace("( @entity0 ) ", ""))
    assert list(CORPORA["cnn"].make(tmp_path).dropped.values()) == [1]


def test_entities_keep_their_length_and_stay_apart() -> None:
    names = [f"@entity{n}" for n in range(1200)]
    assert len({spelled(name) for name in names}) == 1200
    assert all(len(spelled(name)) == len(name) for name in names)
    assert spelled("in 2015 @entity15 's") == "in 2015 @entitybf 's"
    for broken in ("", "a\n\nb\n\nc", QUESTION.format(answer="Rome")):
        with pytest.raises(HeedfulError, match="x.question is no CNN question: it needs"):
            parse(broken, "x.question", "train")


def judged(example: Example, shared: bool) -> int:
    """The label from the text alone: find the clause about the asked aspect and read it."""
    aspect = example.texts["b"]
    words = [word.lower() for word, _, _ in (example.tokens or {})["a"]]
    (subject,) = [i for i, word in enumerate(words) if word in SUBJECTS[aspect]]
    negated = words[subject + 2] in NEGATORS
    opinion = words[subject + 2 + negated]
    bad, good = SHARED if shared else OWN[aspect]
    assert opinion in bad + good
    expected = words[subject + 2 : subject + 3 + negated]
    assert marked(example)["a"] == expected
    return int((opinion in good) != negated)


@settings(max_examples=20)
@given(
    shared=st.booleans(),
    negation=st.floats(0, 1),
    scenes=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_the_asked_aspect_decides(shared: bool, negation: float, scenes: int, seed: int) -> None:
    raw = CORPORA["aspects"].make(
        None, n_train=20, n_dev=3, n_test=4, scenes=scenes, shared_words=shared,
        negation=negation, seed=seed,
    )  # fmt: skip
    assert Counter(e.split for e in raw.examples) == {"train": 40, "dev": 6, "test": 8}
    for one, other in zip(raw.examples[::2], raw.examples[1::2], strict=True):
        assert (one.texts["a"], one.split) == (other.texts["a"], other.split)
        assert (one.texts["b"], other.texts["b"]) == ASPECTS
        for example in (one, other):
            assert judged(example, shared) == example.label
            text = example.texts["a"]
            assert all(text[a:b] == w for w, a, b in (example.tokens or {})["a"])


def test_aspects_are_independent_and_stay_when_sizes_change() -> None:
    raw = CORPORA["aspects"].make(None, n_train=1500, n_dev=0, n_test=0)
    both = Counter(
        (a.label, b.label) for a, b in zip(raw.examples[::2], raw.examples[1::2], strict=True)
    )
    assert all(abs(count / 1500 - 0.25) < 0.04 for count in both.values()) and len(both) == 4
    few = CORPORA["aspects"].make(None, n_train=3, n_dev=0, n_test=0)
    assert few.examples == raw.examples[:6]
    assert CORPORA["aspects"].make(None, n_train=3, seed=1).examples[:6] != few.examples
    lines = [f"{e.id} {e.label} {e.texts} {e.rationales}" for e in raw.examples[:100]]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (CORPORA["aspects"].version, digest) == (1, "8b0de4137e8cdd64")
    for params in ({"n_train": 0}, {"scenes": -1}, {"negation": 2.0}):
        with pytest.raises(HeedfulError, match="aspects corpus cannot be made"):
            CORPORA["aspects"].make(None, **params)


def test_aspects_are_prepared_as_pairs(tmp_path: Path) -> None:
    spec = default_spec("aspects", n_train=30, n_dev=5, n_test=5, dimension=4)
    prepared = Prepared(prepare(spec, Store(tmp_path)))
    part = prepared.split("test")
    assert [part.surface(i, "b") for i in (0, 1)] == [["service"], ["food"]]
    assert torch.equal(part.batch([0]).texts["a"].tokens, part.batch([1]).texts["a"].tokens)
    marks = part.rationale(0)
    assert marks is not None and 1 <= marks.sum() <= 2


def test_a_users_file_may_hold_pairs(tmp_path: Path) -> None:
    rows = [
        {"text": f"a dog number {n}", "ask": "is it a dog ?", "label": n % 2} for n in range(30)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    params = {"path": str(path), "text_b_column": "ask"}
    spec = default_spec("file", params, tokenizer="whitespace")
    prepared = Prepared(prepare(spec, Store(tmp_path / "store")))
    part = prepared.split("train")
    assert part.surface(0, "b") == ["is", "it", "a", "dog", "?"]
    assert set(part.batch([0, 1]).texts) == {"a", "b"}
    alone = Prepared(prepare(default_spec("file", path=str(path)), Store(tmp_path / "store")))
    assert set(alone.split("train").sides) == {"a"}
    path.write_text(json.dumps({**rows[0], "ask": 3}) + "\n" + json.dumps(rows[1]) + "\n")
    with pytest.raises(HeedfulError, match="row 1 of mine.jsonl has no text in column 'ask'"):
        CORPORA["file"].make(None, **params)


def raw_data(name: str, **params: Any) -> RawCorpus:
    made: RawCorpus = CORPORA[name].make(DATA, **params)
    return made


@needs_data
@pytest.mark.parametrize(
    ("name", "sizes", "subset"),
    [("snli", (21605, 9842, 9824), True), ("snli_cad", (8330, 1000, 2000), False),
     ("mnli", (20000, 0, 9815), True)],
)  # fmt: skip
def test_counts(name: str, sizes: tuple[int, ...], subset: bool) -> None:
    corpus = raw_data(name)
    splits = Counter(example.split for example in corpus.examples)
    assert tuple(splits[split] for split in ("train", "dev", "test")) == sizes
    assert corpus.subset == subset and corpus.labels == LABELS


@needs_data
def test_classes_are_numbered_as_in_the_paper() -> None:
    """jain2019, Table 1: 3219 / 3237 / 3368 test pairs of the classes 0, 1 and 2."""
    test = Counter(e.label for e in raw_data("snli").examples if e.split == "test")
    assert [test[label] for label in range(3)] == [3219, 3237, 3368]


@needs_data
@pytest.mark.parametrize("name", ["snli", "snli_cad", "mnli"])
def test_they_can_be_prepared(tmp_path: Path, name: str) -> None:
    prepared = Prepared(prepare(default_spec(name, limit=60), Store(tmp_path), DATA))
    assert CORPORA[name].kind == "pair" and prepared.vectors.shape[1] == 100
    for split in ("train", "dev", "test"):
        part = prepared.split(split)
        assert len(part) == 60 and set(part.sides) == {"a", "b"}
