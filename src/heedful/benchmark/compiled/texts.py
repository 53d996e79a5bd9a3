"""Texts as heaps of words: one that decides, one against it, decoys, and the rest."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heedful.benchmark.compiled.lexicon import Entry, Role
from heedful.subjects import Document, Span

LABELS = ("negative", "positive")
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


def document(name: str, heap: Heap, entries: Sequence[Entry]) -> Document:
    """The decisive word is the rationale: without it the model says something else."""
    words = [entries[place] for place in heap.entries]
    return Document(
        name,
        {"a": " ".join(each.word for each in words)},
        {"a": tuple(_spans([each.word for each in words]))},
        heap.label,
        tuple(each.role is Role.DECISIVE for each in words),
        name,
    )


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


def _spans(words: Sequence[str]) -> Iterator[Span]:
    start = 0
    for word in words:
        yield start, start + len(word)
        start += len(word) + 1
