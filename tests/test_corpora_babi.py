"""Stories: our own, replayed from their text alone, and the published ones."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_folder import DATA, needs_data, put
from heedful.data import CORPORA, Example, Prepared, default_spec, fact_spans, prepare
from heedful.data.babi import read
from heedful.errors import HeedfulError
from heedful.store import Store

DEED = re.compile(
    r"(?P<who>\w+) (?:(?P<move>walked to|hurried to|headed for|strolled into)"
    r"|(?P<take>picked up|took|grabbed)|(?P<drop>put down|dropped|laid down)) the (?P<what>\w+)\."
)


class Replay:
    """The world, acted out sentence by sentence. It refuses what cannot happen, and keeps the
    whole past of each thing: where it was, and by which lines that is known."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.at: dict[str, tuple[str, int]] = {}
        self.held: dict[str, tuple[str, int]] = {}
        self.lies: dict[str, tuple[str, frozenset[int]]] = {}
        self.past: dict[str, list[tuple[str, frozenset[int]]]] = {}

    def act(self, line: int, sentence: str) -> None:
        found = DEED.fullmatch(sentence)
        assert found is not None, sentence
        who, what = found["who"], found["what"]
        if found["move"]:
            self._move(line, who, what)
        elif found["take"]:
            self._take(line, who, what)
        else:
            assert what in self.held or not self.whole
            assert self.held.pop(what, (who, line))[0] == who
            place, known = self.at[who]
            self.lies[what] = (place, frozenset({line, known}))

    def _move(self, line: int, who: str, place: str) -> None:
        old = self.at.get(who)
        assert old is None or old[0] != place
        self.at[who] = (place, line)
        for thing, (holder, taken) in self.held.items():
            if holder == who:
                why = {line, taken} | ({old[1]} if old else set())
                self.past.setdefault(thing, []).append((place, frozenset(why)))

    def _take(self, line: int, who: str, thing: str) -> None:
        assert thing not in self.held
        assert thing not in self.lies or self.lies.pop(thing)[0] == self.at[who][0]
        self.held[thing] = (who, line)
        if who in self.at:
            place, known = self.at[who]
            past = self.past.setdefault(thing, [])
            if not past or past[-1][0] != place:
                past.append((place, frozenset({line, known})))

    def answer(self, question: str) -> tuple[str, frozenset[int]]:
        """The answer and the lines it rests on."""
        if found := re.fullmatch(r"Where was the (\w+) before the (\w+)\?", question):
            past = self.past[found[1]]
            (step,) = [i for i, (place, _) in enumerate(past) if place == found[2]]
            assert step > 0
            return past[step - 1][0], past[step][1]
        if found := re.fullmatch(r"Where is the (\w+)\?", question):
            if found[1] in self.lies:
                return self.lies[found[1]]
            who, taken = self.held[found[1]]
            return self.at[who][0], frozenset({taken, self.at[who][1]})
        found = re.fullmatch(r"Where is (\w+)\?", question)
        assert found is not None
        place, line = self.at[found[1]]
        return place, frozenset({line})


def replay(example: Example, lines: list[int] | None = None) -> tuple[str, frozenset[int]]:
    world = Replay(whole=lines is None)
    for number, sentence in enumerate(example.texts["a"].split("\n")):
        if lines is None or number in lines:
            world.act(number, sentence)
    return world.answer(example.texts["b"])


def supports(example: Example) -> list[int]:
    """The marked lines, which must be whole."""
    assert example.rationales is not None
    text = example.texts["a"]
    for start, end in example.rationales["a"]:
        assert (start == 0 or text[start - 1] == "\n") and text[end : end + 1] in ("", "\n")
    return [text[:start].count("\n") for start, _ in example.rationales["a"]]


@settings(max_examples=60)
@given(
    task=st.integers(1, 3), people=st.integers(2, 6), places=st.integers(3, 8),
    things=st.integers(2, 6), low=st.integers(1, 12), extra=st.integers(0, 8),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_a_replay_finds_the_answer_and_its_supports(
    task: int, people: int, places: int, things: int, low: int, extra: int, seed: int
) -> None:
    high = max(6, low + extra)
    raw = read(None, 6, 2, 2, task, people, places, things, low, high, seed=seed)
    for example in raw.examples:
        assert low <= len(example.texts["a"].split("\n")) <= high
        answer, why = replay(example)
        assert raw.labels[example.label] == answer
        assert supports(example) == sorted(why) and len(why) == task
        text = example.texts["a"]
        assert all(text[a:b] == word for word, a, b in (example.tokens or {})["a"])


@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_supports_suffice(task: int) -> None:
    """Without all other lines the answer is the same."""
    raw = read(None, 150, 0, 0, task=task)
    for example in raw.examples:
        lines = supports(example)
        assert replay(example, lines) == (raw.labels[example.label], frozenset(lines))
    assert all(count > 10 for count in Counter(e.label for e in raw.examples).values())


def test_stories_stay_when_sizes_change_and_the_version_goes_up_with_them() -> None:
    few, many = read(None, 5, 0, 2, task=2), read(None, 40, 3, 9, task=2)
    by_id = {example.id: example for example in many.examples}
    assert all(by_id[example.id] == example for example in few.examples)
    assert read(None, 5, task=2, seed=1).examples[0] != few.examples[0]
    made = [e for task in (1, 2, 3) for e in read(None, 20, 2, 2, task=task).examples]
    lines = [f"{e.id} {e.label} {e.texts} {e.rationales}" for e in made]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (CORPORA["babi"].version, digest) == (1, "7c276db3630c61c3")


@pytest.mark.parametrize(
    "params",
    [{"task": 4}, {"n_train": 0}, {"people": 1}, {"places": 9}, {"things": 0}, {"min_facts": 0},
     {"min_facts": 9, "max_facts": 8}, {"task": 3, "min_facts": 1, "max_facts": 5},
     {"task": 3, "places": 2}],
)  # fmt: skip
def test_impossible_recipes_are_refused(params: dict[str, int]) -> None:
    with pytest.raises(HeedfulError, match="cannot be made|task is 4: give 1, 2 or 3"):
        read(None, **params)


def test_one_fact_is_one_sentence(tmp_path: Path) -> None:
    spec = default_spec("babi", task=3, n_train=20, n_dev=4, n_test=6)
    prepared = Prepared(prepare(spec, Store(tmp_path)))
    assert prepared.vectors.shape[1] == 50 and CORPORA["babi"].kind == "pair"
    part = prepared.split("test")
    for index in range(len(part)):
        numbers = part.sides["a"].sentences[index]
        facts = part.text(index).split("\n")
        assert numbers.max() + 1 == len(facts)
        marks = part.rationale(index)
        assert marks is not None and len(set(numbers[marks])) == 3
        assert all(marks[numbers == n].all() for n in set(numbers[marks]))


def test_published_files(tmp_path: Path) -> None:
    row = {"facts": ["Ann went in.", "Bob sat.", "Ann ate."], "question": "Where is Ann?"}
    rows = [
        {**row, "answer": "hall", "support": [2, 0]},
        {**row, "answer": "attic", "support": [1]},
    ]
    put(tmp_path, "babi/qa3_test.jsonl.gz", rows[:1])
    with pytest.raises(HeedfulError, match=r"qa3_train.jsonl.gz is missing: get the bAbI tasks"):
        CORPORA["babi3"].make(tmp_path)
    put(tmp_path, "babi/qa3_train_1k.jsonl.gz", rows)
    raw = CORPORA["babi3"].make(tmp_path)
    assert raw.labels == ("attic", "hall") and raw.subset and "1000" in raw.note
    first = raw.examples[0]
    assert first.texts == {"a": "Ann went in.\nBob sat.\nAnn ate.", "b": "Where is Ann?"}
    assert supports(first) == [0, 2] and first.label == 1
    put(tmp_path, "babi/qa3_train.jsonl.gz", rows * 2)
    assert not CORPORA["babi3"].make(tmp_path).subset
    put(tmp_path, "babi/qa3_train.jsonl.gz", [{**rows[0], "support": [3]}, rows[1]])
    with pytest.raises(HeedfulError, match="babi3-train-00000 is supported by a fact that is not"):
        CORPORA["babi3"].make(tmp_path)
    assert fact_spans(["ab", "c", "def"], [2, 0, 2]) == [(0, 2), (5, 8)]


@needs_data
@pytest.mark.parametrize(("task", "train"), [(1, 10000), (2, 10000), (3, 1000)])
def test_counts_and_supports(task: int, train: int) -> None:
    """10000 and 1000 questions as published, but for the training file of task 3."""
    raw = CORPORA[f"babi{task}"].make(DATA)
    assert Counter(e.split for e in raw.examples) == {"train": train, "test": 1000}
    assert len(raw.labels) == 6 and raw.subset == (task == 3)
    assert Counter(len(supports(e)) for e in raw.examples) == {task: train + 1000}


@needs_data
def test_they_can_be_prepared(tmp_path: Path) -> None:
    spec = default_spec("babi2", limit=50)
    prepared = Prepared(prepare(spec, Store(tmp_path), DATA))
    assert [len(prepared.split(s)) for s in ("train", "dev", "test")] == [50, 50, 50]
    part = prepared.split("test")
    facts = [len(part.text(i).split("\n")) for i in range(50)]
    assert [int(n.max()) + 1 for n in part.sides["a"].sentences] == facts
    assert prepared.vectors.shape[1] == 50
