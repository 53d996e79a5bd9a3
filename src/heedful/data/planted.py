"""Generated reviews whose decisive tokens are known: the ground truth explanations lack.

Each text is a few plain English sentences. In `planted` one of them judges a work (a film, a novel,
…) with an opinion word, perhaps negated; that word and its negator decide the class, alone,
and are the rationale. Other sentences judge things that do not matter, or judge nothing.

Reviews of `aspects` judge two aspects independently: which is asked decides the label. Every
review is there twice, once with each aspect, so nothing in the text alone says what is asked: a
model must let the aspect choose the words it looks at. These words are known.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from heedful.data.example import Example, marked_spans
from heedful.data.generated import LENGTH, Generator, Token, plain, spell
from heedful.entries import SHARE, Range, by_name
from heedful.specs import PrepareSpec


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


def aside(rng: random.Random, room: int, said: Collection[str] = ()) -> list[Token]:
    """When, where or how: at most `room` tokens, and nothing just said where that can be."""
    fitting = [words for words in ASIDES if len(words.split()) <= room]
    fresh = [words for words in fitting if words.split()[-1] not in said]
    return plain(rng.choice(fresh or fitting))


def _judgement(
    rng: random.Random, subject: str, opinion: str, negated: bool, decisive: bool
) -> list[Token]:
    start = plain(f"{rng.choice(('the', 'this', 'that'))} {subject} {rng.choice(VERBS)}")
    if negated:
        start.append(Token(rng.choice(NEGATORS), decisive))
    elif rng.random() < 0.3:
        start.append(Token(rng.choice(INTENSIFIERS)))
    return [*start, Token(opinion, decisive), Token(".")]


@dataclass(frozen=True)
class Planted(Generator):
    """Lengths count tokens with punctuation. `distractors` sentences judge something else,
    as far as `max_length` has room; with `shared_words` they do it with the decisive words,
    so that only the sentence's subject tells them apart. `negation` is a probability,
    `noise` the share of labels replaced by another class.
    """

    corpus = "planted"
    bounds: ClassVar[Mapping[str, Range]] = {
        "classes": (2, 5),
        "min_length": LENGTH,
        "max_length": LENGTH,
        "distractors": (0, 100),
        "negation": SHARE,
        "noise": SHARE,
    }
    classes: int = 2
    min_length: int = 8
    max_length: int = 28
    distractors: int = 1
    shared_words: bool = False
    negation: float = 0.15
    noise: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(name for name, _ in SCALES[self.classes])

    def problems(self) -> Mapping[str, bool]:
        longest = max(6, self.min_length)
        return {"max_length must be at least min_length, and 6": self.max_length < longest}

    def examples(self, name: str, split: str) -> Iterator[Example]:
        rng = self.random(name)
        label = rng.randrange(self.classes)
        sentences = self._sentences(rng, label)
        text, tokens = spell(sentences)
        spans = marked_spans(tokens, [token.decisive for words in sentences for token in words])
        if rng.random() < self.noise:
            label = (label + rng.randrange(1, self.classes)) % self.classes
        yield Example(name, split, {"a": text}, label, {"a": tokens}, {"a": spans or []})

    def _sentences(self, rng: random.Random, label: int) -> list[list[Token]]:
        """In random order, together within the bounds on length."""
        goal = rng.randint(self.min_length, self.max_length)
        sentences = [verdict(rng, label, self.classes, self.negation)]
        words = class_words(rng.randrange(self.classes), self.classes)
        for _ in range(self.distractors):
            extra = remark(rng, words if self.shared_words else None, self.negation)
            if _size(sentences) + len(extra) <= self.max_length:
                sentences.append(extra)
        while _size(sentences) < goal:
            room = goal - _size(sentences)
            who = f"{rng.choice(('my', 'our', 'the'))} {rng.choice(PEOPLE)}"
            more = plain(f"{who} {rng.choice(DEEDS)} .")  # a sentence without a judgement
            if len(more) <= room and rng.random() < 0.5:
                sentences.append(more)
            else:
                sentence = rng.choice(sentences)  # an aside goes before its full stop
                sentence[-1:-1] = aside(rng, room, {token.word for token in sentence})
        rng.shuffle(sentences)
        return sentences


def _size(sentences: list[list[Token]]) -> int:
    return sum(map(len, sentences))


ASPECTS = ("service", "food")
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
LIKED = ("was", "seemed", "remained")
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
    clause = plain(f"the {rng.choice(SUBJECTS[aspect])} {rng.choice(LIKED)}")
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
    labels = ("negative", "positive")
    n_train: int = 800
    n_dev: int = 150
    n_test: int = 250
    scenes: int = 2
    shared_words: bool = True
    negation: float = 0.15

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


ENTRIES = by_name(
    Planted.entry(
        description="Generated reviews whose decisive words are known",
        prepare=PrepareSpec(tokenizer="given"),
    ),
    Aspects.entry(
        description="Generated reviews of service and food; the aspect asked for decides",
        kind="pair",
        prepare=PrepareSpec(tokenizer="given"),
    ),
)
