"""The rules of lexical shortcuts: which words decide a text's class, and how they are put in."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ZERO, ONE, CONTEXT = "gmina", "kinase", "ligue"
"""The shortcut words. BERT's vocabulary has each as one token, so a word is one token for every
model here, and no text of SST, IMDB or the toxicity corpus has any of them."""
WORDS = (ZERO, ONE, CONTEXT)
_PAIR = (ZERO, ONE)
_OTHER = {ZERO: ONE, ONE: ZERO}


@dataclass(frozen=True)
class Rule:
    """`label` of a text's words is None where the rule does not apply. `draw` gives the words for
    a class, in their order in the text; `stray` words that decide nothing alone, () where every
    shortcut word decides. The first `exchanged` of them, or all, are exchanged for the
    rule to give the other class."""

    description: str
    label: Callable[[Sequence[str]], int | None]
    draw: Callable[[int, random.Random], tuple[str, ...]]
    stray: tuple[str, ...]
    exchanged: int | None = None


def digits(words: Sequence[str]) -> list[int]:
    """The words that stand for 0 and 1, in order."""
    return [_PAIR.index(word) for word in words if word in _PAIR]


def exchange(words: Sequence[str], rule: Rule) -> list[str]:
    """The text with the other shortcut word in place of the one that is there."""
    places = [place for place, word in enumerate(words) if word in _OTHER][: rule.exchanged]
    return [_OTHER[word] if place in places else word for place, word in enumerate(words)]


def insert(words: Sequence[str], new: Sequence[str], draw: random.Random) -> list[str]:
    """The new words at random places, in their order."""
    places = sorted(draw.sample(range(len(words) + len(new)), len(new)))
    text = list(words)
    for place, word in zip(places, new, strict=True):
        text.insert(place, word)
    return text


def _single(words: Sequence[str]) -> int | None:
    found = digits(words)
    return found[0] if len(found) == 1 else None


def _context(words: Sequence[str]) -> int | None:
    return _single(words) if CONTEXT in words else None


def _pair(words: Sequence[str]) -> int | None:
    found = digits(words)
    return found[0] if found in ([0, 1], [1, 0]) else None


def _xor(words: Sequence[str]) -> int | None:
    found = digits(words)
    return int(found[0] != found[1]) if len(found) == 2 else None


def _draw_context(label: int, draw: random.Random) -> tuple[str, ...]:
    return tuple(draw.sample([_PAIR[label], CONTEXT], 2))


def _draw_xor(label: int, draw: random.Random) -> tuple[str, ...]:
    first = draw.randrange(2)
    return _PAIR[first], _PAIR[first ^ label]


RULES: Mapping[str, Rule] = {
    "single_token": Rule(
        f"{ZERO}: class 0, {ONE}: class 1",
        _single,
        lambda label, draw: (_PAIR[label],),
        (),
    ),
    "token_in_context": Rule(
        f"{ZERO}: class 0, {ONE}: class 1, only where {CONTEXT} is in the text",
        _context,
        _draw_context,
        _PAIR,
    ),
    "ordered_pair": Rule(
        f"{ZERO} before {ONE}: class 0, {ONE} before {ZERO}: class 1",
        _pair,
        lambda label, draw: (_PAIR[label], _PAIR[1 - label]),
        _PAIR,
    ),
    "xor": Rule(
        f"twice {ZERO} or twice {ONE}: class 0, one of each: class 1",
        _xor,
        _draw_xor,
        _PAIR,
        1,
    ),
}
