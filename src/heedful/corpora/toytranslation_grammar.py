"""The toy language: a grammar of plain sentences, a made-up lexicon, and other word order.

Adjectives follow their noun, the verb goes to the end of its clause, and some words become
two. Which word a translated word comes from is known, because it is written down while
translating.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

NOUNS = {
    "dog": "belu", "cat": "mira", "bird": "fipo", "horse": "grano", "child": "kelis",
    "woman": "damira", "man": "domu", "teacher": "lektu", "doctor": "sanor", "king": "rexo",
    "river": "flumi", "house": "kasolu", "garden": "hortu", "ship": "navilu", "letter": "skriba",
    "apple": "pomelu", "stone": "petru", "song": "kantila", "lamp": "luzor", "window": "fenest",
}  # fmt: skip
ADJECTIVES = {
    "small": "pikin", "large": "granda", "old": "vetus", "young": "juna", "red": "rubi",
    "green": "verdo", "quiet": "silen", "happy": "felka", "tired": "lasa", "wise": "sofi",
}  # fmt: skip
VERBS = {
    "sees": "vidat", "finds": "trovat", "likes": "amat", "carries": "portat", "follows": "sekat",
    "paints": "pintat", "draws": "desat", "hears": "audat", "leaves": "laset", "needs": "bezot",
}  # fmt: skip
DETERMINERS = {"the": "lo", "a": "un", "every": "omna", "this": "hika"}
PREPOSITIONS = {"near": "pres", "behind": "retro", "without": "sen"}
ADVERBS = {"today": "hodi di", "often": "multi fo", "never": "nul fo"}
JOINTS = {"and": "ed", "while": "dum ke"}
LEXICON = {
    word: tuple(translation.split())
    for part in (NOUNS, ADJECTIVES, VERBS, DETERMINERS, PREPOSITIONS, ADVERBS, JOINTS)
    for word, translation in part.items()
} | {".": (".",)}
"""Each word of the language and the one or two words it becomes."""


@dataclass(frozen=True)
class Phrase:
    """Words in the source's order, and that of the target as numbers of the source's words."""

    words: tuple[str, ...]
    order: tuple[int, ...]


def sentence(rng: random.Random) -> Phrase:
    """One clause, or two with a word between them, and a full stop."""
    parts = [clause(rng)]
    if rng.random() < 0.25:
        parts += [_word(rng, JOINTS), clause(rng)]
    return _one_after_another([*parts, Phrase((".",), (0,))])


def translate(phrase: Phrase) -> tuple[list[str], list[int]]:
    """The translation's words, and for each the number of the source's word it comes from."""
    words, origins = [], []
    for number in phrase.order:
        for word in LEXICON[phrase.words[number]]:
            words.append(word)
            origins.append(number)
    return words, origins


def clause(rng: random.Random) -> Phrase:
    """subject verb object [place] [adverb] → [adverb] subject object [place] verb"""
    parts = [_noun_phrase(rng), _word(rng, VERBS), _noun_phrase(rng)]
    target = [0, 2]
    if rng.random() < 0.4:
        parts.append(_one_after_another([_word(rng, PREPOSITIONS), _noun_phrase(rng)]))
        target.append(len(parts) - 1)
    target.append(1)
    if rng.random() < 0.3:
        parts.append(_word(rng, ADVERBS))
        target.insert(0, len(parts) - 1)
    return _arranged(parts, target)


def _noun_phrase(rng: random.Random) -> Phrase:
    """determiner [adjective …] noun → determiner noun [adjective …]"""
    count = rng.choices((0, 1, 2), (5, 4, 1))[0]
    adjectives = [Phrase((word,), (0,)) for word in rng.sample(list(ADJECTIVES), count)]
    parts = [_word(rng, DETERMINERS), *adjectives, _word(rng, NOUNS)]
    return _arranged(parts, [0, count + 1, *range(1, count + 1)])


def _word(rng: random.Random, words: dict[str, str]) -> Phrase:
    return Phrase((rng.choice(list(words)),), (0,))


def _one_after_another(parts: Sequence[Phrase]) -> Phrase:
    return _arranged(parts, range(len(parts)))


def _arranged(parts: Sequence[Phrase], target: Sequence[int]) -> Phrase:
    """The parts in a row, and in the order `target` for the translation."""
    starts = [sum(len(part.words) for part in parts[:number]) for number in range(len(parts))]
    order = [starts[number] + place for number in target for place in parts[number].order]
    return Phrase(tuple(word for part in parts for word in part.words), tuple(order))
