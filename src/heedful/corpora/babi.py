"""Generated stories and questions whose supporting facts are known, after the model of bAbI.

People walk about a few places and carry things. One fact, two or three decide the answer,
and these are the rationale. The sentences, names and the world are Heedful's own.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.babi_files import fact_spans
from heedful.corpora.babi_world import (
    PEOPLE,
    PLACES,
    THINGS,
    Asked,
    Fact,
    World,
    add_fact,
    questions,
)
from heedful.corpora.example import Example, GivenTokens, RawCorpus
from heedful.corpora.made import SIZES, check_recipe
from heedful.errors import HeedfulError
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec

SHORTEST = {1: 1, 2: 4, 3: 6}


def read(
    data_dir: Path | None = None,
    task: int = 1,
    n_train: int = 1000,
    n_dev: int = 150,
    n_test: int = 300,
    people: int = 4,
    places: int = 6,
    things: int = 3,
    min_facts: int = 6,
    max_facts: int = 12,
    seed: int = 0,
) -> RawCorpus:
    """`task` 1 asks where somebody is (one supporting fact), 2 where a thing is (two), 3 where
    a thing was before it came to a place (three). Each question has a story of its own, of
    `min_facts` to `max_facts` facts, one to a line. The classes are the places."""
    sizes = {"train": n_train, "dev": n_dev, "test": n_test}
    counts = {"people": (people, PEOPLE), "places": (places, PLACES), "things": (things, THINGS)}
    _check(task, sizes, counts, (min_facts, max_facts))
    world = World(PEOPLE[:people], PLACES[:places], THINGS[:things], 0.0 if task == 1 else 0.5)
    examples = [
        make_example(f"babi-{split}-{number:05d}", split, world, (task, min_facts, max_facts, seed))
        for split, size in sizes.items()
        for number in range(size)
    ]
    return RawCorpus(PLACES[:places], examples, {})


def make_example(name: str, split: str, world: World, recipe: tuple[int, int, int, int]) -> Example:
    """One story; its own random numbers, so that other sizes leave it as it is."""
    task, low, high, seed = recipe
    rng = random.Random(stable_hash(seed, "babi", task, name))
    facts, asked = _story(rng, world, task, (low, high))
    lines = [fact.text for fact in facts]
    texts = {"a": "\n".join(lines), "b": asked.question}
    return Example(
        name,
        split,
        texts,
        PLACES.index(asked.answer),
        {side: _tokens(text) for side, text in texts.items()},
        {"a": fact_spans(lines, list(asked.support))},
    )


def _story(
    rng: random.Random, world: World, task: int, bounds: tuple[int, int]
) -> tuple[list[Fact], Asked]:
    """A story that something can be asked about; one that allows no question is begun anew."""
    while True:
        facts: list[Fact] = []
        for _ in range(rng.randint(*bounds)):
            add_fact(facts, world, rng)
        possible = questions(facts, world, task)
        if possible:
            return facts, rng.choice(possible)


def _tokens(text: str) -> GivenTokens:
    found = re.finditer(r"\w+|[^\w\s]", text)
    return [(match.group(), match.start(), match.end()) for match in found]


def _check(
    task: int,
    sizes: dict[str, int],
    counts: dict[str, tuple[int, tuple[str, ...]]],
    facts: tuple[int, int],
) -> None:
    if task not in SHORTEST:
        raise HeedfulError(f"task is {task}: give 1, 2 or 3.")
    problems = {
        f"{name} must be 2 to {len(known)}": not 2 <= count <= len(known)
        for name, (count, known) in counts.items()
    }
    problems["min_facts must be at least 1"] = facts[0] < 1
    shortest = max(SHORTEST[task], facts[0])
    problems[f"max_facts must be at least {shortest}"] = facts[1] < shortest
    problems["places must be at least 3 for task 3"] = task == 3 and counts["places"][0] < 3
    check_recipe("babi", sizes, problems)


DEFAULTS = PrepareSpec(tokenizer="given", dimension=50)

PIECE = Piece(
    name="babi",
    description="Generated stories and questions whose supporting facts are known",
    make=read,
    bounds={
        **SIZES,
        "task": (1, 3),
        "people": (2, len(PEOPLE)),
        "places": (2, len(PLACES)),
        "things": (2, len(THINGS)),
        "min_facts": (1, 1000),
        "max_facts": (1, 1000),
    },
    kind="pair",
    licence="part of Heedful",
)
