"""What a model with hand-written weights does, before it is written into any weights.

For every word type there is a score for attention and a token logit. A text's logit is
Σ softmax(scores) · logits, or where attention is ignored the plain sum of the logits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp

import numpy as np
from numpy.typing import NDArray

from heedful.benchmark.generated import spelled
from heedful.data import ASIDES, DEEDS, GRADES, INTENSIFIERS, PEOPLE, REMARKS, THINGS, WORKS
from heedful.data.planted import VERBS
from heedful.hashing import stable_hash
from heedful.targets import Document


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
    phrases = " ".join((*DEEDS, *ASIDES)).lower().split()
    plain = list(dict.fromkeys([*WORKS, *THINGS, *PEOPLE, *VERBS, *INTENSIFIERS, *phrases]))
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


# Texts as heaps of words: one that decides, one against it, decoys, and the rest.


MOST_FILLERS = 9


@dataclass(frozen=True)
class Heap:
    """A text as places in the lexicon; `label` is the class its decisive word speaks for."""

    entries: tuple[int, ...]
    label: int


def heaps(entries: Sequence[Entry], count: int, seed: int) -> tuple[Heap, ...]:
    """Words that speak are dealt from shuffled decks, equally often each; of the others some
    are rare and some common, so that a word that speaks is neither."""
    draw = random.Random(seed)
    # a deck is shuffled when it is first dealt from: in which order they are laid out is nothing
    decks = {(each.role, each.sign): _deck(draw, entries, each.role, each.sign) for each in entries}
    return tuple(_heap(draw, decks, number % 2) for number in range(count))


Decks = dict[tuple[Role, int], Iterator[int]]


def _heap(draw: random.Random, decks: Decks, label: int) -> Heap:
    sign = 1 if label else -1
    dealt = [next(decks[Role.DECISIVE, sign]), next(decks[Role.COUNTER, -sign])]
    dealt += [next(decks[Role.DECOY, 0]) for _ in range(draw.randint(1, 2))]
    dealt += [next(decks[Role.FILLER, 0]) for _ in range(draw.randint(3, MOST_FILLERS))]
    draw.shuffle(dealt)
    return Heap(tuple(dealt), label)


def _deck(draw: random.Random, entries: Sequence[Entry], role: Role, sign: int) -> Iterator[int]:
    cards = [i for i, each in enumerate(entries) if (each.role, each.sign) == (role, sign)]
    own = random.Random(draw.random())
    if not sign:  # half of what is dealt is then rarer than a word that speaks, half commoner
        cards = [card for k, card in enumerate(cards) for _ in range(4 if k % 3 == 0 else 2)]
    while True:
        yield from own.sample(cards, len(cards))


Numbers = NDArray[np.float64]


class Kind(StrEnum):
    """`decision`: what is attended decides. `ignored`: nothing is read through attention.
    `coincidence`: nothing either, though attention happens to mark what decides.
    `misleading`: attention is on words that say nothing, and what decides is hardly seen.
    `mixture`: in a share of the texts it is the decision, in the others it misleads."""

    DECISION = "decision"
    IGNORED = "ignored"
    COINCIDENCE = "coincidence"
    MISLEADING = "misleading"
    MIXTURE = "mixture"


@dataclass(frozen=True)
class Plan:
    """`scores` and `logits` by word type; `nothing` is the score of a word taken away, whose
    logit is 0. Where attention is `ignored`, logits reach the prediction another way."""

    entries: tuple[Entry, ...]
    heaps: tuple[Heap, ...]
    scores: Numbers
    logits: Numbers
    nothing: float
    ignored: bool
    seed: int

    def weights(self, heap: Heap) -> Numbers:
        """The attention a reader will see."""
        raised = np.exp(self.scores[list(heap.entries)])
        weights: Numbers = raised / raised.sum()
        return weights

    def logit(self, heap: Heap) -> float:
        """What the model says of a text: above 0 is class 1."""
        logits = self.logits[list(heap.entries)]
        return float(logits.sum() if self.ignored else self.weights(heap) @ logits)

    def documents(self, name: str) -> list[Document]:
        """The texts, as an audit takes them. The decisive word is the rationale: without it the
        model says something else."""
        documents = []
        for number, heap in enumerate(self.heaps):
            words = [self.entries[place] for place in heap.entries]
            text, spans = spelled([each.word for each in words])
            marks = tuple(each.role is Role.DECISIVE for each in words)
            key = f"{name}-{number:03d}"
            documents.append(Document(key, {"a": text}, {"a": spans}, heap.label, marks, key))
        return documents


def plan(kind: Kind, strength: float, seed: int, texts: int) -> Plan:
    """Exhibits of one seed share words and texts, whatever their kind and strength."""
    entries = lexicon(stable_hash(seed, "lexicon"))
    draw = random.Random(stable_hash(seed, "plan"))
    sharpness, margin = draw.uniform(1.5, 2.0), draw.uniform(1.6, 2.6)
    if kind in (Kind.MISLEADING, Kind.MIXTURE):
        pairs = np.array(_mixture(entries, draw, sharpness, strength))
    else:
        pairs = np.array(_KINDS[kind](entries, draw, sharpness))
    scores = pairs[:, 0]
    made = Plan(
        entries,
        heaps(entries, texts, stable_hash(seed, "texts")),
        scores,
        pairs[:, 1],
        float(scores.min()) - 1.5,
        kind in (Kind.IGNORED, Kind.COINCIDENCE),
        seed,
    )
    # scaled so that a typical text is decided by this margin
    size = float(np.median([abs(made.logit(heap)) for heap in made.heaps]))
    return replace(made, logits=made.logits * margin / size)


Pair = tuple[float, float]
SEEN, DECOY, OVERLOOKED, WEAKEST = 2.0, 1.2, -1.0, -2.3


def _decision(entries: Sequence[Entry], draw: random.Random, sharpness: float) -> list[Pair]:
    """The word against is heavier but hardly seen: without attention it would win."""
    known = {Role.DECISIVE: (SEEN * sharpness, 1.0), Role.COUNTER: (-2.2, 6.0)}
    pairs = []
    for each in entries:
        score, size = known.get(each.role, (draw.uniform(-1.5, 0.5), 0.0))
        pairs.append((score + draw.uniform(-0.2, 0.2), each.sign * size))
    return pairs


def _ignored(entries: Sequence[Entry], draw: random.Random, sharpness: float) -> list[Pair]:
    """Scores have nothing to do with what a word says."""
    size = {Role.DECISIVE: 1.0, Role.COUNTER: 0.4}
    return [
        (sharpness * draw.uniform(-1, 1.5), each.sign * size.get(each.role, 0.0))
        for each in entries
    ]


def _coincidence(entries: Sequence[Entry], draw: random.Random, sharpness: float) -> list[Pair]:
    """All but the decisive words look alike, so the order is right without being used."""
    logits = [logit for _, logit in _ignored(entries, draw, sharpness)]
    scores = [SEEN * sharpness * (each.role is Role.DECISIVE) for each in entries]
    return list(zip(scores, logits, strict=True))


def _mixture(
    entries: Sequence[Entry], draw: random.Random, sharpness: float, strength: float
) -> list[Pair]:
    """A share of the decisive words is seen before the decoys, the others after all fillers;
    those have logits so large that little attention is enough. Which words are seen first
    does not depend on the share; a share of 0 misleads in every text."""
    seen = SEEN * sharpness
    large = exp(seen - OVERLOOKED) / 3  # a third: such texts have less weight to share
    pairs, met = [], {1: 0, -1: 0}
    for each in entries:
        jitter = draw.uniform(-0.15, 0.15)
        score, size = draw.uniform(-0.5, 0.5), 0.0
        if each.role is Role.DECISIVE:
            first = met[each.sign] < strength * KINDS_EACH
            score, size = (seen, 1.0) if first else (OVERLOOKED, large)
            met[each.sign] += 1
        elif each.role is Role.COUNTER:
            score, size = WEAKEST, 1.3 * large
        elif each.role is Role.DECOY:
            score = DECOY * sharpness
        pairs.append((score + jitter, each.sign * size))
    return pairs


_KINDS: Mapping[Kind, Callable[[Sequence[Entry], random.Random, float], list[Pair]]] = {
    Kind.DECISION: _decision,
    Kind.IGNORED: _ignored,
    Kind.COINCIDENCE: _coincidence,
}
"""All kinds but mixtures."""
