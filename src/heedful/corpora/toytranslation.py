"""Generated texts and what becomes of them: a toy translation, or copies in some order.

Which source word each target word comes from is known: the ground truth that attention of a
translating model is compared with. Copying, reversing and flipping pairs are pruthi2020's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, GivenTokens, RawCorpus
from heedful.corpora.made import LENGTH, SIZES, check_recipe
from heedful.corpora.toytranslation_grammar import sentence, translate
from heedful.errors import unknown_name
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec

Pair = tuple[list[str], list[str], list[int]]
"""Source, target, and for each target word the number of the source's word."""


@dataclass(frozen=True)
class Recipe:
    """How texts are made; see `read`."""

    task: str
    words: int
    min_length: int
    max_length: int
    seed: int


def read(
    data_dir: Path | None = None,
    n_train: int = 4000,
    n_dev: int = 300,
    n_test: int = 500,
    task: str = "translate",
    words: int = 100,
    min_length: int = 3,
    max_length: int = 12,
    seed: int = 0,
) -> RawCorpus:
    """`task` is `translate` (a toy grammar with a lexicon of its own), `copy`, `reverse` or
    `flip` (the words of each pair change places). The latter three draw from so many made-up
    `words`, as often as the lengths say; a translation's length follows from the grammar."""
    recipe = Recipe(task, words, min_length, max_length, seed)
    sizes = {"train": n_train, "dev": n_dev, "test": n_test}
    _check(recipe, sizes)
    examples = [
        make_example(f"toy-{task}-{split}-{number:06d}", split, recipe)
        for split, size in sizes.items()
        for number in range(size)
    ]
    return RawCorpus((), examples, {}, task="generation")


def make_example(name: str, split: str, recipe: Recipe) -> Example:
    """One pair; its own random numbers, so that other sizes leave it as it is."""
    rng = random.Random(stable_hash(recipe.seed, "toytranslation", name))
    source, target, origins = TASKS[recipe.task](rng, recipe)
    tokens = {"a": _spelled(source), "b": _spelled(target)}
    links = [
        (tokens["a"][origin][1:], token[1:])
        for origin, token in zip(origins, tokens["b"], strict=True)
    ]
    texts = {"a": " ".join(source), "b": " ".join(target)}
    return Example(name, split, texts, 0, tokens, alignment=links)


def made_up(number: int) -> str:
    """A word of syllables, another one for each number: ba, be, …, baba, …"""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    syllables = [c + v for c in consonants for v in vowels]
    word = syllables[number % len(syllables)]
    return word if number < len(syllables) else made_up(number // len(syllables) - 1) + word


def _translation(rng: random.Random, recipe: Recipe) -> Pair:
    phrase = sentence(rng)
    return list(phrase.words), *translate(phrase)


def _rearranged(order: Callable[[int], list[int]]) -> Callable[[random.Random, Recipe], Pair]:
    def pair(rng: random.Random, recipe: Recipe) -> Pair:
        length = rng.randint(recipe.min_length, recipe.max_length)
        source = [made_up(rng.randrange(recipe.words)) for _ in range(length)]
        origins = order(length)
        return source, [source[origin] for origin in origins], origins

    return pair


def _pairs_flipped(length: int) -> list[int]:
    """1 0 3 2 …; a last word without a partner stays."""
    return [min(place ^ 1, length - 1) for place in range(length)]


TASKS: dict[str, Callable[[random.Random, Recipe], Pair]] = {
    "translate": _translation,
    "copy": _rearranged(lambda length: list(range(length))),
    "reverse": _rearranged(lambda length: list(reversed(range(length)))),
    "flip": _rearranged(_pairs_flipped),
}


def _spelled(words: list[str]) -> GivenTokens:
    tokens, at = [], 0
    for word in words:
        tokens.append((word, at, at + len(word)))
        at += len(word) + 1
    return tokens


def _check(recipe: Recipe, sizes: dict[str, int]) -> None:
    if recipe.task not in TASKS:
        raise unknown_name("task of the corpus toytranslation", recipe.task, list(TASKS))
    problems = {
        "words must be at least 2": recipe.words < 2,
        "min_length must be at least 1": recipe.min_length < 1,
        "max_length must be at least min_length": recipe.max_length < recipe.min_length,
    }
    check_recipe("toytranslation", sizes, problems)


DEFAULTS = PrepareSpec(tokenizer="given", dimension=64)
BOUNDS = {**SIZES, "words": (2, 10**6), "min_length": LENGTH, "max_length": LENGTH}

PIECE = Piece(
    name="toytranslation",
    description="Generated translations, copies and reversals whose alignment is known",
    make=read,
    bounds=BOUNDS,
    kind="generation",
    licence="part of Heedful",
)
