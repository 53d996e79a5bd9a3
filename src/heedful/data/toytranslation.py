"""Generated texts and what becomes of them: a toy translation, or copies in some order.

Which source word each target word comes from is known: the ground truth that attention of a
translating model is compared with. Copying, reversing and flipping pairs are pruthi2020's.

In the toy language adjectives follow their noun, the verb goes to the end of its clause, and some
words become two.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from heedful.data.example import Example, join_tokens
from heedful.data.generated import LENGTH, Generator
from heedful.entries import Corpus, Range, by_name
from heedful.errors import unknown_name
from heedful.specs import PrepareSpec

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


@dataclass(frozen=True)
class ToyTranslation(Generator):
    """`task` is `translate` (a toy grammar with a lexicon of its own), `copy`, `reverse` or
    `flip` (the words of each pair change places). The latter three draw from so many made-up
    `words`, as often as the lengths say; a translation's length follows from the grammar."""

    corpus = "toytranslation"
    bounds: ClassVar[Mapping[str, Range]] = {
        "words": (2, 10**6),
        "min_length": LENGTH,
        "max_length": LENGTH,
    }
    digits = 6
    n_train: int = 4000
    task: str = "translate"
    words: int = 100
    min_length: int = 3
    max_length: int = 12

    @property
    def prefix(self) -> str:
        return f"toy-{self.task}"

    def problems(self) -> Mapping[str, bool]:
        if self.task not in TASKS:
            raise unknown_name("task of the corpus toytranslation", self.task, list(TASKS))
        return {"max_length must be at least min_length": self.max_length < self.min_length}

    def examples(self, name: str, split: str) -> Iterator[Example]:
        source, target, origins = self._pair(self.random(name))
        tokens = {"a": join_tokens(source)[1], "b": join_tokens(target)[1]}
        links = [
            (tokens["a"][origin][1:], token[1:])
            for origin, token in zip(origins, tokens["b"], strict=True)
        ]
        texts = {"a": " ".join(source), "b": " ".join(target)}
        yield Example(name, split, texts, 0, tokens, alignment=links)

    def _pair(self, rng: random.Random) -> tuple[list[str], list[str], list[int]]:
        """Source, target, and for each target word the number of the source's word."""
        order = TASKS[self.task]
        if order is None:
            phrase = sentence(rng)
            translated = [(word, n) for n in phrase.order for word in LEXICON[phrase.words[n]]]
            return list(phrase.words), [word for word, _ in translated], [n for _, n in translated]
        length = rng.randint(self.min_length, self.max_length)
        source = [made_up(rng.randrange(self.words)) for _ in range(length)]
        origins = order(length)
        return source, [source[origin] for origin in origins], origins


def made_up(number: int) -> str:
    """A word of syllables, another one for each number: ba, be, …, baba, …"""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    syllables = [c + v for c in consonants for v in vowels]
    word = syllables[number % len(syllables)]
    return word if number < len(syllables) else made_up(number // len(syllables) - 1) + word


TASKS: Mapping[str, Callable[[int], list[int]] | None] = {
    "translate": None,
    "copy": lambda length: list(range(length)),
    "reverse": lambda length: list(reversed(range(length))),
    # 1 0 3 2 …; a last word without a partner stays
    "flip": lambda length: [min(place ^ 1, length - 1) for place in range(length)],
}
"""The order in which a task writes the words of a source of some length; None for a translation."""
_toy = partial(
    ToyTranslation.entry, kind="generation", prepare=PrepareSpec(tokenizer="given", dimension=64)
)
TRANSLATION = _toy(
    description="Generated translations, copies and reversals whose alignment is known"
)
read = TRANSLATION.make


def _ordered(task: str, order: str) -> Corpus:
    """One of the toy tasks under a name of its own: studies name corpora."""
    return _toy(
        name=f"toy_{task}",
        description=f"Made-up words, {order}",
        make=partial(read, task=task),
        version=2,
        paper="pruthi2020",
    )


ENTRIES = by_name(
    TRANSLATION,
    _ordered("copy", "the words in their order"),
    _ordered("reverse", "the words from the last to the first"),
    _ordered("flip", "the words of each pair change places"),
)
