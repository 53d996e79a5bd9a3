"""Generated reviews that judge two aspects independently: which is asked decides the label.

Every review is there twice, once with each aspect, so nothing in the text alone says what is
asked: a model must let the aspect choose the words it looks at. These words are known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from heedful.data.example import Example, marked_spans
from heedful.data.generated import Generator, Token, plain, spell
from heedful.entries import SHARE, Range
from heedful.specs import PrepareSpec

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
) -> list[Token]:
    """A clause that says how an aspect was liked; a negator turns the opinion word round."""
    negated = rng.random() < negation
    words = (SHARED if shared else OWN[aspect])[1 - label if negated else label]
    clause = plain(f"the {rng.choice(SUBJECTS[aspect])} {rng.choice(VERBS)}")
    if negated:
        clause.append(Token(rng.choice(NEGATORS), tells=aspect))
    return [*clause, Token(rng.choice(words), tells=aspect)]


@dataclass(frozen=True)
class Aspects(Generator):
    """Sizes count reviews; each gives two examples of one split. Up to `scenes` sentences judge
    nothing. With `shared_words` both aspects are judged with the same words, so that only
    what is judged tells them apart; `negation` is the probability of a negator."""

    corpus = "aspects"
    bounds: ClassVar[Mapping[str, Range]] = {"scenes": (0, 100), "negation": SHARE}
    labels = LABELS
    n_train: int = 800
    n_dev: int = 150
    n_test: int = 250
    scenes: int = 2
    shared_words: bool = True
    negation: float = 0.15
    seed: int = 0

    def examples(self, name: str, split: str) -> Iterator[Example]:
        rng = self.random(name)
        labels = {aspect: rng.randrange(2) for aspect in ASPECTS}
        sentences = [[*clause, Token(".")] for clause in self._clauses(rng, labels)]
        text, tokens = spell(sentences)
        every = [token for words in sentences for token in words]
        for aspect in ASPECTS:
            yield Example(
                f"{name}-{aspect}",
                split,
                {"a": text, "b": aspect},
                labels[aspect],
                {"a": tokens, "b": [(aspect, 0, len(aspect))]},
                {"a": marked_spans(tokens, [token.tells == aspect for token in every]) or []},
            )

    def _clauses(self, rng: random.Random, labels: dict[str, int]) -> list[list[Token]]:
        """Two judgements, in one sentence or two, among scenes, in random order."""
        clauses = [
            judgement(rng, aspect, label, self.shared_words, self.negation)
            for aspect, label in labels.items()
        ]
        rng.shuffle(clauses)
        sentences = clauses
        if rng.random() < 0.5:  # the link says nothing about agreement
            one, other = clauses
            sentences = [[*one, Token(rng.choice(LINKS)), *other]]
        sentences += [plain(rng.choice(SCENES)) for _ in range(rng.randint(0, self.scenes))]
        rng.shuffle(sentences)
        return sentences


ENTRY = Aspects.entry(
    description="Generated reviews of service and food; the aspect asked for decides",
    kind="pair",
    prepare=PrepareSpec(tokenizer="given"),
)
read = ENTRY.make
