"""Stories and questions whose supporting facts are known: bAbI's files, and generated ones.

In the generated ones people walk about a few places and carry things. One fact, two or three
decide the answer, and these are the rationale. The sentences, names and the world are Heedful's
own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from heedful.entries import Corpus, Range, by_name
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
class Asked:
    """A question, its only right answer, and the facts that support it."""

    question: str
    answer: str
    support: tuple[int, ...]


@dataclass
class Story:
    """What people did, and what follows from it; `touching` is the share of deeds that take or put
    down. Facts are known by their numbers.

    Of each person the last `move` is known. A thing that somebody has touched is with its `holder`,
    or `lies` where the holder's move before it was put down led; `touched` is when it was last
    taken or put down. Each of its `steps` is the holder's move before, the move with the thing, and
    how it was taken. Only people who have moved touch things.
    """

    people: tuple[str, ...]
    places: tuple[str, ...]
    things: tuple[str, ...]
    touching: float
    facts: list[str] = field(default_factory=list)
    places_of: dict[int, str] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    holder: dict[str, str] = field(default_factory=dict)
    lies: dict[str, int] = field(default_factory=dict)
    steps: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)

    def go_on(self, rng: random.Random) -> None:
        """One more thing that can happen after the others."""
        deed = "move"
        if rng.random() < self.touching:
            deed = rng.choice(("take", "take", "drop"))
        deed, person, target = rng.choice(self._choices(deed) or self._choices("move"))
        now = len(self.facts)
        self.facts.append(f"{person} {rng.choice(VERBS[deed])} the {target}.")
        if deed == "move":
            for thing, holder in self.holder.items():
                if holder == person:
                    step = (self.moved[person], now, self.touched[thing])
                    self.steps.setdefault(thing, []).append(step)
            self.moved[person], self.places_of[now] = now, target
            return
        self.touched[target] = now
        if deed == "take":
            self.holder[target] = person
        else:
            del self.holder[target]
            self.lies[target] = self.moved[person]

    def _choices(self, deed: str) -> list[tuple[str, str, str]]:
        """Who can do this to what: who holds a thing can put it down; one that lies here, or that
        nobody has touched and so may lie anywhere, can be taken."""
        choices = []
        for person in self.people:
            here = self.places_of.get(self.moved.get(person, -1))
            if deed == "move":
                choices += [(deed, person, place) for place in self.places if place != here]
            elif here is not None:
                fitting = (thing for thing in self.things if self._can(deed, person, here, thing))
                choices += [(deed, person, thing) for thing in fitting]
        return choices

    def _can(self, deed: str, person: str, here: str, thing: str) -> bool:
        if deed == "drop" or thing in self.holder:
            return deed == "drop" and self.holder.get(thing) == person
        return thing not in self.touched or self.places_of[self.lies[thing]] == here

    def questions(self, task: int) -> list[Asked]:
        """All that can be asked: with one, two or three supporting facts."""
        ask = {1: self._where_people_are, 2: self._where_things_are, 3: self._where_things_were}
        return list(ask[task]())

    def _where_people_are(self) -> Iterator[Asked]:
        for person in self.people:
            if person in self.moved:
                move = self.moved[person]
                yield Asked(f"Where is {person}?", self.places_of[move], (move,))

    def _where_things_are(self) -> Iterator[Asked]:
        """A thing is where its holder last went, or where it was put down."""
        for thing in self.things:
            if thing in self.touched:
                held = thing in self.holder
                move = self.moved[self.holder[thing]] if held else self.lies[thing]
                support = tuple(sorted((self.touched[thing], move)))
                yield Asked(f"Where is the {thing}?", self.places_of[move], support)

    def _where_things_were(self) -> Iterator[Asked]:
        """Asked about the step from one place to the next, where the thing was in the latter only
        once: then there is one right answer. It takes the move to the one place, the move to the
        other, and that the thing was taken."""
        for thing in self.things:
            steps = self.steps.get(thing, [])
            moves = [*(come for come, _, _ in steps[:1]), *(go for _, go, _ in steps)]
            visits = [self.places_of[move] for move in moves]
            for step in steps:
                before, after = (self.places_of[move] for move in step[:2])
                if visits.count(after) == 1:
                    question = f"Where was the {thing} before the {after}?"
                    yield Asked(question, before, tuple(sorted(step)))


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

    @property
    def labels(self) -> tuple[str, ...]:
        return PLACES[: self.places]

    def problems(self) -> Mapping[str, bool]:
        if self.task not in SHORTEST:
            raise HeedfulError(f"task is {self.task}: give 1, 2 or 3.")
        shortest = max(SHORTEST[self.task], self.min_facts)
        return {
            f"max_facts must be at least {shortest}": self.max_facts < shortest,
            "places must be at least 3 for task 3": self.task == 3 and self.places < 3,
        }

    def examples(self, name: str, split: str) -> Iterator[Example]:
        story, asked = self._story(self.random(self.task, name))
        texts = {"a": "\n".join(story.facts), "b": asked.question}
        yield Example(
            name,
            split,
            texts,
            PLACES.index(asked.answer),
            {side: matched_tokens(r"\w+|[^\w\s]", text) for side, text in texts.items()},
            {"a": fact_spans(story.facts, asked.support)},
        )

    def _story(self, rng: random.Random) -> tuple[Story, Asked]:
        """One that something can be asked about; where nothing can be, another is begun."""
        world = (PEOPLE[: self.people], self.labels, THINGS[: self.things])
        while True:
            story = Story(*world, touching=0.0 if self.task == 1 else 0.5)
            for _ in range(rng.randint(self.min_facts, self.max_facts)):
                story.go_on(rng)
            questions = story.questions(self.task)
            if questions:
                return story, rng.choice(questions)


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


def fact_spans(facts: Sequence[str], chosen: Sequence[int]) -> Spans:
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


ENTRIES = by_name(
    BABI,
    _published(1, "one supporting fact", "Where is a person?"),
    _published(2, "two supporting facts", "Where is a thing?"),
    _published(3, "three supporting facts", "Where was a thing before?"),
)
