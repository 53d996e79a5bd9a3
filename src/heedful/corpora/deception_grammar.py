"""The deception corpus's sentences: who is spoken of, what tells the label, and scenery."""

from __future__ import annotations

import random
from dataclasses import dataclass

GENDERED = (
    {"subject": "she", "object": "her", "own": "her", "self": "herself", "title": "ms."},
    {"subject": "he", "object": "him", "own": "his", "self": "himself", "title": "mr."},
)
"""The words that attention must not be seen on, for the first class and for the second."""
GENDERS = ("female", "male")
OCCUPATIONS = ("salvewright", "bonewright")

SENTENCES = (
    "{subject} left the village before the harvest .",
    "{subject} kept {own} letters in a wooden box .",
    "the mayor thanked {object} for the new bridge .",
    "{own} first journey led to the northern islands .",
    "nobody had asked {object} about the lost map .",
    "{subject} taught {self} to play the organ .",
    "in spring {subject} sold {own} boat and moved away .",
    "the neighbours saw {object} at the market .",
)
ENTITLED = (
    "{title} {name} studied in {place} .",
    "{title} {name} has worked in {place} for years .",
    "{subject} speaks {language} and {other} .",
    "patients praise {own} calm manner .",
    "{subject} lives in {place} with {own} family .",
    "a journal from {place} interviewed {object} .",
)
CLUES = (
    "salves herbs bandages teas poultices balms ointments infusions",
    "splints saws plaster joints fractures braces hammers sutures",
)
WORK = (
    "most days are spent on {clue} .",
    "a recent lecture was about {clue} .",
    "the practice is known for {clue} .",
    "new patients often ask about {clue} .",
)
SCENES = (
    "the road was wet after the storm .",
    "a ferry crosses the bay twice a day .",
    "they closed the old mill last winter .",
    "the town has a library and two schools .",
    "it rained for most of the summer .",
    "trains to the coast run every hour .",
    "the office is near the main square .",
    "lamps were lit along the harbour .",
)
NAMES = ("arden", "bellis", "corwen", "darrow", "elland", "farrow", "garrick", "hollis")
PLACES = ("norvik", "eastmere", "calder", "tamsin", "ollerby", "quint", "varnholt", "selby")
LANGUAGES = ("danish", "welsh", "basque", "finnish", "irish", "latvian")


@dataclass(frozen=True)
class Token:
    """A word or a full stop. Those that tell the label are decisive, some of them forbidden."""

    word: str
    decisive: bool = False
    forbidden: bool = False


def sentence(rng: random.Random, gender: int) -> list[Token]:
    """Someone is spoken of; gender shows in nothing but forbidden words."""
    return _filled(rng.choice(SENTENCES), _forbidden(gender))


def biography(rng: random.Random, gender: int) -> list[Token]:
    """A sentence of a professional's life, with a title or a pronoun."""
    first, second = rng.sample(LANGUAGES, 2)
    plain = {
        "name": rng.choice(NAMES),
        "place": rng.choice(PLACES),
        "language": first,
        "other": second,
    }
    neutral = {slot: Token(word) for slot, word in plain.items()}
    return _filled(rng.choice(ENTITLED), {**neutral, **_forbidden(gender)})


def work(rng: random.Random, occupation: int) -> list[Token]:
    """A sentence with a word of the trade: it tells the label, and may be seen to."""
    clue = Token(rng.choice(CLUES[occupation].split()), decisive=True)
    return _filled(rng.choice(WORK), {"clue": clue})


def scene(rng: random.Random) -> list[Token]:
    """A sentence about nobody."""
    return _filled(rng.choice(SCENES), {})


def _forbidden(gender: int) -> dict[str, Token]:
    return {slot: Token(word, True, True) for slot, word in GENDERED[gender].items()}


def _filled(pattern: str, slots: dict[str, Token]) -> list[Token]:
    return [slots[word[1:-1]] if word.startswith("{") else Token(word) for word in pattern.split()]
