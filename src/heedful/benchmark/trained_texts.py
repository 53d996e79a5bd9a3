"""Texts whose deciding words are known, and what each word may be exchanged for.

Every word belongs to a family of words that fit the same place: opinions, remarks, nouns, ….
An exchange within the family leaves a text that the generator could have made. Words of a family
are about as frequent as others, so that rarity does not tell which words decide.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from heedful.benchmark.generated import LABELS, spelled
from heedful.data import DEEDS, GRADES, INTENSIFIERS, PEOPLE, REMARKS, THINGS, WORKS, Side, Split
from heedful.data.planted import NEGATORS, VERBS
from heedful.hashing import stable_hash
from heedful.specs import END, PAD, START, UNKNOWN
from heedful.targets import Document, Row, framed


@dataclass(frozen=True)
class Word:
    """`sign` is +1 or −1 where a word of its family speaks for a class, else 0."""

    text: str
    family: str
    sign: int = 0


Lexicon = Mapping[str, tuple[Word, ...]]
"""Words by family."""


@dataclass(frozen=True)
class Task:
    """`families` are those whose words can decide. `compose` draws clauses, of which `label` is
    computed; lengths count words."""

    name: str
    families: tuple[str, ...]
    compose: Callable[[random.Random, Lexicon], list[list[Word]]]
    score: Callable[[Sequence[Word]], float]
    lengths: tuple[int, int] = (13, 19)
    softness: float = 0.0
    """0: the label is the score's sign. Else it is drawn, with log-odds of score × softness."""
    turning: tuple[str, ...] = ("opinion",)
    """The families whose words, each exchanged for its opposite, turn the decision round."""
    even_on: str = "words"
    """Lengths are drawn evenly: of `words`, or of their `logarithm`, which has more short texts."""

    def length(self, draw: random.Random) -> int:
        if self.even_on == "words":
            return draw.randint(*self.lengths)
        shortest, longest = (math.log(length) for length in self.lengths)
        return round(math.exp(draw.uniform(shortest, longest)))

    def opposed(self, draw: random.Random, words: Lexicon, text: Sequence[Word]) -> list[Word]:
        """The text with every word of `turning` exchanged for one of the opposite sign."""
        return [
            draw.choice([other for other in words[word.family] if other.sign == -word.sign])
            if word.family in self.turning and word.sign
            else word
            for word in text
        ]


@dataclass(frozen=True)
class Text:
    """`label` is what a model is trained on, `right` the sign of the task's score."""

    id: str
    words: tuple[Word, ...]
    label: int
    right: int


def lexicon(seed: int) -> Lexicon:
    """Which words speak for which class is drawn anew for every seed."""
    draw = random.Random(stable_hash(seed, "lexicon"))
    worst, bad, neutral, good, best = (grade.split() for grade in GRADES)
    remarks = draw.sample(REMARKS, 9)
    deeds = list(dict.fromkeys(" ".join(DEEDS).split()))
    return {
        "opinion": (
            *_words(draw.sample([*good, *best], 3), "opinion", 1),
            *_words(draw.sample([*worst, *bad], 3), "opinion", -1),
            *_words(draw.sample(neutral, 3), "opinion"),
        ),
        "remark": (
            *_words(remarks[:3], "remark", 1),
            *_words(remarks[3:6], "remark", -1),
            *_words(remarks[6:], "remark"),
        ),
        "adverb": (
            *_words(NEGATORS, "adverb", -1),
            *_words(INTENSIFIERS[:3], "adverb"),
        ),
        "noun": _words([*WORKS, *THINGS], "noun"),
        "verb": _words(VERBS, "verb"),
        "person": _words(PEOPLE, "person"),
        "deed": _words(deeds, "deed"),
    }


def _text(task: Task, words: Lexicon, seed: int, name: str) -> Text:
    draw = random.Random(stable_hash(seed, task.name, name))
    clauses = task.compose(draw, words)
    goal = task.length(draw)
    while sum(map(len, clauses)) < goal:
        clauses.append(_filler(draw, words))
    draw.shuffle(clauses)
    chosen = tuple(word for clause in clauses for word in clause)
    score = task.score(chosen)
    right = int(score > 0)
    chance = 1 / (1 + math.exp(-score * task.softness))
    label = int(draw.random() < chance) if task.softness else right
    return Text(name, chosen, label, right)


def _words(words: Sequence[str], family: str, sign: int = 0) -> tuple[Word, ...]:
    return tuple(Word(word, family, sign) for word in words)


def _filler(draw: random.Random, words: Lexicon) -> list[Word]:
    """A clause that decides nothing: what somebody did, or an opinion of no sign."""
    if draw.random() < 0.6:
        return [draw.choice(words["person"]), draw.choice(words["deed"])]
    family = draw.choice(("opinion", "remark"))
    return _judgement(draw, words, draw.choice(_of_sign(words, family, 0)))


def _of_sign(words: Lexicon, family: str, sign: int) -> list[Word]:
    return [word for word in words[family] if word.sign == sign]


def _judgement(draw: random.Random, words: Lexicon, *said: Word) -> list[Word]:
    return [draw.choice(words["noun"]), draw.choice(words["verb"]), *said]


def _opinions(
    draw: random.Random, words: Lexicon, signs: Sequence[int], family: str = "opinion"
) -> list[list[Word]]:
    return [_judgement(draw, words, draw.choice(_of_sign(words, family, sign))) for sign in signs]


def _sign(draw: random.Random) -> int:
    return draw.choice((-1, 1))


def _majority(draw: random.Random, words: Lexicon) -> list[list[Word]]:
    return _opinions(draw, words, [_sign(draw) for _ in range(3)])


def _single(draw: random.Random, words: Lexicon) -> list[list[Word]]:
    return _opinions(draw, words, [_sign(draw)])


def _twice(draw: random.Random, words: Lexicon) -> list[list[Word]]:
    """Two words say the same, and either would do."""
    return _opinions(draw, words, [_sign(draw)] * 2)


def _two_cues(draw: random.Random, words: Lexicon) -> list[list[Word]]:
    return [
        *_opinions(draw, words, [_sign(draw)]),
        *_opinions(draw, words, [_sign(draw)], "remark"),
    ]


def _negated(draw: random.Random, words: Lexicon) -> list[list[Word]]:
    """An opinion after an adverb, half of the time one that turns it round."""
    adverb = draw.choice(_of_sign(words, "adverb", draw.choice((-1, 0))))
    return [_judgement(draw, words, adverb, draw.choice(_of_sign(words, "opinion", _sign(draw))))]


def _sum(family: str) -> Callable[[Sequence[Word]], float]:
    return lambda words: float(sum(word.sign for word in words if word.family == family))


def _product(*families: str) -> Callable[[Sequence[Word]], float]:
    def score(words: Sequence[Word]) -> float:
        return float(
            math.prod(word.sign for word in words if word.family in families and word.sign)
        )

    return score


def two_cues(remarks: float) -> Task:
    """Opinions and remarks both count, remarks for this share."""

    def score(words: Sequence[Word]) -> float:
        return (1 - remarks) * _sum("opinion")(words) + remarks * _sum("remark")(words)

    families = ("opinion", "remark")
    return Task("two cues", families, _two_cues, score, turning=families)


MAJORITY = Task("majority", ("opinion",), _majority, _sum("opinion"), softness=1.2)
"""Both polarities in most texts: words for and against the decision matter."""
SINGLE = Task("single", ("opinion",), _single, _sum("opinion"))
REDUNDANT = Task("redundant", ("opinion",), _twice, _sum("opinion"))
NEGATED = Task("negated", ("opinion", "adverb"), _negated, _product("opinion", "adverb"))
XOR = Task("xor", ("opinion", "remark"), _two_cues, _product("opinion", "remark"), lengths=(6, 8))
LONG = Task("long", ("opinion",), _single, _sum("opinion"), lengths=(6, 500), even_on="logarithm")


# Generated texts as training takes them, and as an audit takes them.


SPECIAL = ("<pad>", "<unk>", "<start>", "<end>")
SIZES = {"train": 2500, "dev": 400}
DIMENSION = 32


@dataclass(frozen=True)
class Corpus:
    """What `heedful.training` asks of a corpus. The words that decide are its rationales, and
    what attention must not be seen on where a model is trained to hide them."""

    rule: Task
    seed: int
    task: str = "classification"
    classes: int = len(LABELS)

    @cached_property
    def lexicon(self) -> Lexicon:
        return lexicon(self.seed)

    @cached_property
    def words(self) -> list[str]:
        known = dict.fromkeys(word.text for family in self.lexicon.values() for word in family)
        return [*SPECIAL, *known]

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def vectors(self) -> Tensor:
        generator = torch.Generator().manual_seed(stable_hash(self.seed, "vectors") % (1 << 31))
        vectors = torch.randn(len(self.words), DIMENSION, generator=generator) * 0.3
        vectors[[PAD, UNKNOWN]] = 0.0
        return vectors

    def split(self, name: str) -> Split:
        return self._splits[name]

    def texts(self, part: str, count: int) -> list[Text]:
        """Generated for this purpose; those of other parts are others."""
        return [
            _text(self.rule, self.lexicon, self.seed, f"{part}-{number:05d}")
            for number in range(count)
        ]

    def decides(self, word: Word) -> bool:
        return bool(word.sign) and word.family in self.rule.families

    @cached_property
    def deciding(self) -> Tensor:
        """The tokens of all words that can decide."""
        known = (word for family in self.lexicon.values() for word in family)
        return torch.tensor([self.places[word.text] for word in known if self.decides(word)])

    def tokens(self, words: Sequence[Word]) -> list[int]:
        return [START, *(self.places[word.text] for word in words), END]

    def row(self, words: Sequence[Word]) -> Row:
        return framed(self.tokens(words))

    def document(self, text: Text) -> Document:
        marks = tuple(self.decides(word) for word in text.words)
        surface, spans = spelled([word.text for word in text.words])
        return Document(text.id, {"a": surface}, {"a": spans}, text.right, marks, text.id)

    @cached_property
    def _splits(self) -> Mapping[str, Split]:
        return {name: self._split(self.texts(name, size)) for name, size in SIZES.items()}

    def _split(self, some: Sequence[Text]) -> Split:
        written = [spelled([word.text for word in text.words]) for text in some]
        marks = [np.array([self.decides(word) for word in text.words]) for text in some]
        side = Side(
            [np.array(self.tokens(text.words), dtype=np.int32) for text in some],
            [surface for surface, _ in written],
            [np.array([start for start, _ in spans], dtype=np.int32) for _, spans in written],
            [np.array([end for _, end in spans], dtype=np.int32) for _, spans in written],
            list(marks),
            [np.zeros(len(text.words), dtype=np.int32) for text in some],
            impermissible=list(marks),
        )
        labels = torch.tensor([text.label for text in some])
        return Split(tuple(text.id for text in some), labels, {"a": side})
