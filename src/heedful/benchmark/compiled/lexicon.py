"""Words with a part to play. How often a word occurs says nothing about its part."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from heedful.corpora import ASIDES, DEEDS, GRADES, INTENSIFIERS, PEOPLE, REMARKS, THINGS, WORKS
from heedful.corpora.planted import VERBS


class Role(StrEnum):
    """One `decisive` word gives a text its class, one `counter` word speaks against it and is
    too weak to win; `decoy` and `filler` words say nothing, but a decoy may be looked at."""

    DECISIVE = "decisive"
    COUNTER = "counter"
    DECOY = "decoy"
    FILLER = "filler"


@dataclass(frozen=True)
class Entry:
    """A word type; `sign` is +1 or −1 where it speaks for a class, else 0."""

    word: str
    role: Role
    sign: int = 0


KINDS_EACH = 4
DECOYS, FILLERS = 12, 48
"""In proportion to how many of each a text has: so all word types are about equally rare, and
a prior that goes by rarity knows nothing."""


def lexicon(seed: int) -> tuple[Entry, ...]:
    """Which words play which part is drawn anew for every exhibit."""
    draw = random.Random(seed)
    worst, bad, _, good, best = (grade.split() for grade in GRADES)
    plain = list(dict.fromkeys(_plain()))
    return (
        *_some(draw, best, Role.DECISIVE, 1, KINDS_EACH),
        *_some(draw, worst, Role.DECISIVE, -1, KINDS_EACH),
        *_some(draw, good, Role.COUNTER, 1, KINDS_EACH),
        *_some(draw, bad, Role.COUNTER, -1, KINDS_EACH),
        *_some(draw, list(REMARKS), Role.DECOY, 0, DECOYS),
        *_some(draw, plain, Role.FILLER, 0, FILLERS),
    )


def _some(
    draw: random.Random, words: list[str], role: Role, sign: int, count: int
) -> tuple[Entry, ...]:
    return tuple(Entry(word, role, sign) for word in draw.sample(words, count))


def _plain() -> list[str]:
    phrases = " ".join((*DEEDS, *ASIDES)).lower().split()
    return [*WORKS, *THINGS, *PEOPLE, *VERBS, *INTENSIFIERS, *phrases]
