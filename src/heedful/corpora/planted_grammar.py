"""The planted corpus's sentences: verdicts that decide, remarks that do not, scenes, asides."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """A word or a punctuation mark; decisive ones make the rationale."""

    word: str
    decisive: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GRADES = (
    "dreadful awful terrible horrible atrocious abysmal appalling dismal unbearable lousy",
    "dull boring clumsy tedious forgettable shallow stale disappointing sloppy weak",
    "average ordinary passable standard middling moderate typical uneven acceptable plain",
    "enjoyable pleasant charming clever engaging solid amusing graceful thoughtful lively",
    "superb brilliant wonderful excellent magnificent splendid masterful dazzling stunning perfect",
)
SCALES = {
    2: (("negative", (0, 1)), ("positive", (3, 4))),
    3: (("negative", (0, 1)), ("mixed", (2,)), ("positive", (3, 4))),
    4: (("terrible", (0,)), ("poor", (1,)), ("good", (3,)), ("great", (4,))),
    5: (("terrible", (0,)), ("poor", (1,)), ("fair", (2,)), ("good", (3,)), ("great", (4,))),
}
NEGATORS = ("not", "never", "hardly")
INTENSIFIERS = ("really", "quite", "rather", "truly", "very")
WORKS = _words("film novel play concert exhibition documentary musical story opera painting")
THINGS = _words("weather coffee bus hotel queue sandwich taxi umbrella carpet elevator")
REMARKS = _words(
    "tasty bland cosy grubby punctual sluggish sunny gloomy sturdy flimsy spacious cramped "
    "cheap costly warm chilly tidy messy quiet noisy"
)
VERBS = ("was", "seemed", "felt", "looked", "remained")
PEOPLE = _words("cousin neighbour teacher brother colleague aunt friend dentist landlord sister")
DEEDS = (
    "waited", "walked home", "took the train", "read the newspaper", "bought a ticket",
    "called a friend", "sat down", "told a long story", "opened the window", "lost a glove",
)  # fmt: skip
ASIDES = (
    "yesterday", "again", "afterwards", "apparently", "on Monday", "after lunch", "at noon",
    "in the village", "near the harbour", "behind the station", "before the rain",
    "for two hours", "with three students", "during the first week", "in front of the museum",
)  # fmt: skip


def label_names(classes: int) -> tuple[str, ...]:
    return tuple(name for name, _ in SCALES[classes])


def class_words(label: int, classes: int) -> list[str]:
    """The opinion words of a class."""
    return [word for grade in SCALES[classes][label][1] for word in GRADES[grade].split()]


def mirror(label: int, classes: int) -> int:
    """What a negator makes of a class: the scale read from its other end."""
    return classes - 1 - label


def verdict(rng: random.Random, label: int, classes: int, negation: float) -> list[Token]:
    """The sentence that decides: at most six tokens with its full stop."""
    negated = rng.random() < negation
    word = rng.choice(class_words(mirror(label, classes) if negated else label, classes))
    return _judgement(rng, rng.choice(WORKS), word, negated, decisive=True)


def remark(rng: random.Random, words: Sequence[str] | None, negation: float) -> list[Token]:
    """A sentence of the same form about something that does not matter."""
    word = rng.choice(words or REMARKS)
    return _judgement(rng, rng.choice(THINGS), word, rng.random() < negation, decisive=False)


def scene(rng: random.Random) -> list[Token]:
    """A sentence without a judgement."""
    return _plain(f"{rng.choice(('my', 'our', 'the'))} {rng.choice(PEOPLE)} {rng.choice(DEEDS)} .")


def aside(rng: random.Random, room: int, said: Collection[str] = ()) -> list[Token]:
    """When, where or how: at most `room` tokens, and nothing just said where that can be."""
    fitting = [words for words in ASIDES if len(words.split()) <= room]
    fresh = [words for words in fitting if words.split()[-1] not in said]
    return _plain(rng.choice(fresh or fitting))


def _judgement(
    rng: random.Random, subject: str, opinion: str, negated: bool, decisive: bool
) -> list[Token]:
    start = _plain(f"{rng.choice(('the', 'this', 'that'))} {subject} {rng.choice(VERBS)}")
    if negated:
        start.append(Token(rng.choice(NEGATORS), decisive))
    elif rng.random() < 0.3:
        start.append(Token(rng.choice(INTENSIFIERS)))
    return [*start, Token(opinion, decisive), Token(".")]


def _plain(words: str) -> list[Token]:
    return [Token(word) for word in words.split()]
