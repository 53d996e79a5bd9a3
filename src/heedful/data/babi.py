"""Stories and questions whose supporting facts are known: bAbI's files, and generated ones.

In the generated ones people walk about a few places and carry things. One fact, two or three
decide the answer, and these are the rationale. The sentences, names and the world are Heedful's
own; everything is worked out from the list of facts itself, never from a state kept beside it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from heedful.data.example import (
    Example,
    RawCorpus,
    Spans,
    class_names,
    index_of,
    matched_tokens,
    numbered,
)
from heedful.data.files import Row, Source, digests, read_rows
from heedful.data.generated import Generator
from heedful.entries import Corpus, Range
from heedful.errors import HeedfulError
from heedful.specs import PrepareSpec

PEOPLE = ("Amara", "Bruno", "Chiara", "Dagny", "Emil", "Farid")
PLACES = ("library", "cellar", "attic", "orchard", "workshop", "stable", "harbour", "chapel")
THINGS = ("lantern", "violin", "basket", "compass", "kettle", "umbrella")
VERBS = {
    "move": ("walked to", "hurried to", "headed for", "strolled into"),
    "take": ("picked up", "took", "grabbed"),
    "drop": ("put down", "dropped", "laid down"),
}


@dataclass(frozen=True)
class Fact:
    """What somebody did: `target` is the place of a move, else the thing."""

    deed: str
    person: str
    target: str
    text: str


@dataclass(frozen=True)
class World:
    """Who and what there is; `touching` is the share of deeds that take or put down."""

    people: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    touching: float


@dataclass(frozen=True)
class Asked:
    """A question, its only right answer, and the facts that support it."""

    question: str
    answer: str
    support: tuple[int, ...]


def add_fact(facts: list[Fact], world: World, rng: random.Random) -> None:
    """One more thing that can happen after the others."""
    deed = "move"
    if rng.random() < world.touching:
        deed = rng.choice(("take", "take", "drop"))
    choices = _choices(facts, world, deed) or _choices(facts, world, "move")
    deed, person, target = rng.choice(choices)
    text = f"{person} {rng.choice(VERBS[deed])} the {target}."
    facts.append(Fact(deed, person, target, text))


def questions(facts: Sequence[Fact], world: World, task: int) -> list[Asked]:
    """All that can be asked: with one, two or three supporting facts."""
    if task == 1:
        return _where_is_somebody(facts, world)
    if task == 2:
        return _where_is_something(facts, world)
    return _where_was_something(facts, world)


def last_move(facts: Sequence[Fact], person: str, before: int) -> int | None:
    """The last of the first `before` facts that moved the person."""
    moves = [i for i in range(before) if (facts[i].deed, facts[i].person) == ("move", person)]
    return moves[-1] if moves else None


def last_touch(facts: Sequence[Fact], thing: str, before: int) -> int | None:
    """The last of the first `before` facts in which the thing was taken or put down."""
    touched = [i for i in range(before) if facts[i].deed != "move" and facts[i].target == thing]
    return touched[-1] if touched else None


def _where_is_somebody(facts: Sequence[Fact], world: World) -> list[Asked]:
    moves = {person: last_move(facts, person, len(facts)) for person in world.people}
    return [
        Asked(f"Where is {person}?", facts[move].target, (move,))
        for person, move in moves.items()
        if move is not None
    ]


def _where_is_something(facts: Sequence[Fact], world: World) -> list[Asked]:
    """A thing is where its holder last went, or where it was put down."""
    found = []
    for thing in world.things:
        touch = last_touch(facts, thing, len(facts))
        if touch is not None:
            move = _place_move(facts, touch, len(facts))
            asked = f"Where is the {thing}?"
            found.append(Asked(asked, facts[move].target, tuple(sorted((touch, move)))))
    return found


def _where_was_something(facts: Sequence[Fact], world: World) -> list[Asked]:
    """Asked about the step from one place to the next, where the thing was in the latter only
    once: then there is one right answer. It takes the move to the one place, the move to the
    other, and that the thing was taken."""
    found = []
    for thing in world.things:
        steps = _carried(facts, thing)
        visits = (
            [facts[steps[0][0]].target, *(facts[step[1]].target for step in steps)] if steps else []
        )
        for come, go, take in steps:
            before, after = facts[come].target, facts[go].target
            if visits.count(after) == 1:
                asked = f"Where was the {thing} before the {after}?"
                found.append(Asked(asked, before, tuple(sorted((come, go, take)))))
    return found


def _carried(facts: Sequence[Fact], thing: str) -> list[tuple[int, int, int]]:
    """(the holder's move before, the move with the thing, how it was taken), for each step."""
    steps = []
    for go, fact in enumerate(facts):
        take = last_touch(facts, thing, go)
        if fact.deed != "move" or take is None:
            continue
        if (facts[take].deed, facts[take].person) == ("take", fact.person):
            steps.append((_place_move(facts, take, go), go, take))
    return steps


def _place_move(facts: Sequence[Fact], touch: int, now: int) -> int:
    """The move that says where a thing is now, given how it was last touched. Only people who
    have moved touch things, so there is one."""
    before = now if facts[touch].deed == "take" else touch
    move = last_move(facts, facts[touch].person, before)
    assert move is not None
    return move


def _choices(facts: Sequence[Fact], world: World, deed: str) -> list[tuple[str, str, str]]:
    """Who can do this to what, after these facts."""
    now = len(facts)
    found = []
    for person in world.people:
        move = last_move(facts, person, now)
        here = None if move is None else facts[move].target
        if deed == "move":
            found += [(deed, person, place) for place in world.places if place != here]
        elif here is not None:
            found += [
                (deed, person, thing)
                for thing in world.things
                if _can(facts, deed, person, here, thing)
            ]
    return found


def _can(facts: Sequence[Fact], deed: str, person: str, here: str, thing: str) -> bool:
    """Who holds a thing can put it down; one that lies here, or that nobody has touched and
    so may lie anywhere, can be taken."""
    touch = last_touch(facts, thing, len(facts))
    if touch is None:
        return deed == "take"
    if facts[touch].deed == "take":
        return deed == "drop" and facts[touch].person == person
    return deed == "take" and facts[_place_move(facts, touch, len(facts))].target == here


SHORTEST = {1: 1, 2: 4, 3: 6}


@dataclass(frozen=True)
class Babi(Generator):
    """`task` 1 asks where somebody is (one supporting fact), 2 where a thing is (two), 3 where
    a thing was before it came to a place (three). Each question has a story of its own, of
    `min_facts` to `max_facts` facts, one to a line. The classes are the places."""

    corpus = "babi"
    bounds: ClassVar[Mapping[str, Range]] = {
        "task": (1, 3),
        "people": (2, len(PEOPLE)),
        "places": (2, len(PLACES)),
        "things": (2, len(THINGS)),
        "min_facts": (1, 1000),
        "max_facts": (1, 1000),
    }
    task: int = 1
    n_train: int = 1000
    n_dev: int = 150
    n_test: int = 300
    people: int = 4
    places: int = 6
    things: int = 3
    min_facts: int = 6
    max_facts: int = 12
    seed: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        return PLACES[: self.places]

    @property
    def world(self) -> World:
        touching = 0.0 if self.task == 1 else 0.5
        return World(PEOPLE[: self.people], self.labels, THINGS[: self.things], touching)

    def problems(self) -> Mapping[str, bool]:
        if self.task not in SHORTEST:
            raise HeedfulError(f"task is {self.task}: give 1, 2 or 3.")
        shortest = max(SHORTEST[self.task], self.min_facts)
        return {
            f"max_facts must be at least {shortest}": self.max_facts < shortest,
            "places must be at least 3 for task 3": self.task == 3 and self.places < 3,
        }

    def examples(self, name: str, split: str) -> Iterator[Example]:
        facts, asked = self._story(self.random(self.task, name))
        lines = [fact.text for fact in facts]
        texts = {"a": "\n".join(lines), "b": asked.question}
        yield Example(
            name,
            split,
            texts,
            PLACES.index(asked.answer),
            {side: matched_tokens(r"\w+|[^\w\s]", text) for side, text in texts.items()},
            {"a": fact_spans(lines, list(asked.support))},
        )

    def _story(self, rng: random.Random) -> tuple[list[Fact], Asked]:
        """One that something can be asked about; where nothing can be, another is begun."""
        world = self.world
        while True:
            facts: list[Fact] = []
            for _ in range(rng.randint(self.min_facts, self.max_facts)):
                add_fact(facts, world, rng)
            possible = questions(facts, world, self.task)
            if possible:
                return facts, rng.choice(possible)


BABI = Babi.entry(
    description="Generated stories and questions whose supporting facts are known",
    kind="pair",
    prepare=PrepareSpec(tokenizer="given", dimension=50),
)
read = BABI.make
COLUMNS = ("facts", "question", "answer", "support")
SUBSET = "the training file is the version of 1000 questions, the papers used 10000"


def read_files(source: Source, task: int, data_dir: Path | None) -> RawCorpus:
    """One task; the classes are the answers of its training questions."""
    files, source = source.find(data_dir), source.at(data_dir)
    rows = {split: read_rows(files[name], COLUMNS) for split, name in source.files.items()}
    labels = class_names([row["answer"] for row in rows["train"]], source.files["train"])
    numbers = numbered(labels)
    examples = [
        _question(row, f"babi{task}-{split}-{number:05d}", split, numbers, story)
        for split in rows
        for number, (row, story) in enumerate(zip(rows[split], _stories(rows[split]), strict=True))
    ]
    subset = bool(source.note)
    return RawCorpus(labels, examples, digests(files), subset=subset, note=source.note)


def fact_spans(facts: list[str], chosen: list[int]) -> Spans:
    """Where the chosen facts stand when all are written one to a line."""
    starts = [0]
    for fact in facts:
        starts.append(starts[-1] + len(fact) + 1)
    return [(starts[i], starts[i] + len(facts[i])) for i in sorted(set(chosen))]


def _stories(rows: list[Row]) -> Iterator[int]:
    """The number of each question's story: a story goes on where all that was told before is
    told again."""
    story, told = -1, list[str]()
    for row in rows:
        if story < 0 or row["facts"][: len(told)] != told:
            story += 1
        told = row["facts"]
        yield story


def _question(row: Row, name: str, split: str, labels: dict[str, int], story: int) -> Example:
    facts, support = row["facts"], row["support"]
    if not all(0 <= fact < len(facts) for fact in support):
        raise HeedfulError(f"{name} is supported by a fact that is not there: get the file again.")
    texts = {"a": "\n".join(facts), "b": row["question"]}
    label = index_of(row["answer"], labels, f"row {int(name[-5:]) + 1} of {split}")
    marks = {"a": fact_spans(facts, support)}
    cluster = f"{name.rpartition('-')[0]}-story-{story:04d}"
    return Example(name, split, texts, label, rationales=marks, cluster=cluster)


def _published(task: int, facts: str, question: str) -> Corpus:
    train, test = f"babi/qa{task}_train", f"babi/qa{task}_test.jsonl.gz"
    source = Source(
        "the bAbI tasks",
        "https://research.facebook.com/downloads/babi",
        {"train": f"{train}.jsonl.gz", "test": test},
        part={"train": f"{train}_1k.jsonl.gz", "test": test},
        part_note=SUBSET,
    )
    return Corpus(
        name=f"babi{task}",
        kind="pair",
        description=f"Stories and a question, {facts}: {question}",
        make=partial(read_files, source, task),
        find=source.find,
        version=2,
        paper="jain2019",
        needs=("data",),
        licence="CC BY 3.0",
        citation="Weston et al. 2016, Towards AI-Complete Question Answering",
        # jain2019: the version of 10000 questions, 15% of them for dev, every word kept, vectors
        # of 50 numbers that are learned from the start.
        prepare=PrepareSpec(
            tokenizer="spacy", min_df=1, dev_fraction=0.15, vectors="random", dimension=50
        ),
    )


ENTRIES = {
    "babi": BABI,
    "babi1": _published(1, "one supporting fact", "Where is a person?"),
    "babi2": _published(2, "two supporting facts", "Where is a thing?"),
    "babi3": _published(3, "three supporting facts", "Where was a thing before?"),
}
