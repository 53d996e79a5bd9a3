"""What a planted model does, before it is written into any weights: for every word type a
score for attention and a token logit. A text's logit is Σ softmax(scores) · logits, or where
attention is ignored the plain sum of the logits."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp

import numpy as np
from numpy.typing import NDArray

from heedful.benchmark.compiled.lexicon import KINDS_EACH, Entry, Role, lexicon
from heedful.benchmark.compiled.texts import Heap, heaps
from heedful.randomness import stable_hash

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


def plan(kind: Kind, strength: float, seed: int, texts: int) -> Plan:
    """Exhibits of one seed share words and texts, whatever their kind and strength."""
    entries = lexicon(stable_hash(seed, "lexicon"))
    draw = random.Random(stable_hash(seed, "plan"))
    sharpness, margin = draw.uniform(1.5, 2.0), draw.uniform(1.6, 2.6)
    pairs = np.array(_KINDS[kind](entries, draw, sharpness, strength))
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
    return _scaled(made, margin)


def _scaled(made: Plan, margin: float) -> Plan:
    """So that a typical text is decided by this margin."""
    size = float(np.median([abs(made.logit(heap)) for heap in made.heaps]))
    return replace(made, logits=made.logits * margin / size)


Pair = tuple[float, float]
SEEN, DECOY, OVERLOOKED, WEAKEST = 2.0, 1.2, -1.0, -2.3


def _decision(
    entries: Sequence[Entry], draw: random.Random, sharpness: float, strength: float
) -> list[Pair]:
    """The word against is heavier but hardly seen: without attention it would win."""
    known = {Role.DECISIVE: (SEEN * sharpness, 1.0), Role.COUNTER: (-2.2, 6.0)}
    pairs = []
    for each in entries:
        score, size = known.get(each.role, (draw.uniform(-1.5, 0.5), 0.0))
        pairs.append((score + draw.uniform(-0.2, 0.2), each.sign * size))
    return pairs


def _ignored(
    entries: Sequence[Entry], draw: random.Random, sharpness: float, strength: float
) -> list[Pair]:
    """Scores have nothing to do with what a word says."""
    size = {Role.DECISIVE: 1.0, Role.COUNTER: 0.4}
    return [
        (sharpness * draw.uniform(-1, 1.5), each.sign * size.get(each.role, 0.0))
        for each in entries
    ]


def _coincidence(
    entries: Sequence[Entry], draw: random.Random, sharpness: float, strength: float
) -> list[Pair]:
    """All but the decisive words look alike, so the order is right without being used."""
    logits = [logit for _, logit in _ignored(entries, draw, sharpness, strength)]
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


_KINDS: Mapping[Kind, Callable[[Sequence[Entry], random.Random, float, float], list[Pair]]] = {
    Kind.DECISION: _decision,
    Kind.IGNORED: _ignored,
    Kind.COINCIDENCE: _coincidence,
    Kind.MISLEADING: _mixture,
    Kind.MIXTURE: _mixture,
}
