"""Sentences of made-up restaurant reviews: judgements of the service or the food, and scenes."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word or a mark; one that tells how an aspect was liked names that aspect."""

    text: str
    tells: str = ""


ASPECTS = ("service", "food")
LABELS = ("negative", "positive")
SUBJECTS = {
    "service": ("waiter", "waitress", "host", "bartender", "manager", "crew", "doorman", "staff"),
    "food": ("soup", "steak", "bread", "dessert", "pasta", "salad", "fish", "curry"),
}
SHARED = (
    ("awful", "terrible", "poor", "dreadful", "horrible", "disappointing", "lousy", "dismal"),
    ("excellent", "wonderful", "superb", "lovely", "great", "delightful", "splendid", "perfect"),
)
OWN = {
    "service": (
        ("rude", "slow", "careless", "grumpy", "inattentive", "impatient"),
        ("friendly", "attentive", "polite", "prompt", "helpful", "courteous"),
    ),
    "food": (
        ("bland", "stale", "soggy", "greasy", "burnt", "tasteless"),
        ("tasty", "fresh", "juicy", "crisp", "delicious", "tender"),
    ),
}
NEGATORS = ("not", "never", "hardly")
VERBS = ("was", "seemed", "remained")
LINKS = ("while", "and", "but")
SCENES = (
    "we came on a Sunday", "our table stood near the door", "it rained all evening",
    "my brother had booked it weeks ago", "we walked home afterwards", "the street was crowded",
    "they had painted the walls green", "we stayed until midnight", "a band played upstairs",
)  # fmt: skip


def judgement(
    rng: random.Random, aspect: str, label: int, shared: bool, negation: float
) -> list[Word]:
    """A clause that says how an aspect was liked; a negator turns the opinion word round."""
    negated = rng.random() < negation
    words = (SHARED if shared else OWN[aspect])[1 - label if negated else label]
    clause = plain(f"the {rng.choice(SUBJECTS[aspect])} {rng.choice(VERBS)}")
    if negated:
        clause.append(Word(rng.choice(NEGATORS), aspect))
    return [*clause, Word(rng.choice(words), aspect)]


def linked(rng: random.Random, one: list[Word], other: list[Word]) -> list[Word]:
    """Two clauses as one; the link says nothing about agreement, it is drawn at random."""
    return [*one, Word(rng.choice(LINKS)), *other]


def scene(rng: random.Random) -> list[Word]:
    """A clause that judges nothing."""
    return plain(rng.choice(SCENES))


def plain(words: str) -> list[Word]:
    return [Word(word) for word in words.split()]
