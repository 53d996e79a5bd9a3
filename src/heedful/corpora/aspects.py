"""Generated reviews that judge two aspects independently: which is asked decides the label.

Every review is there twice, once with each aspect, so nothing in the text alone says what is
asked: a model must let the aspect choose the words it looks at. These words are known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from heedful.catalogue import SHARE, Piece
from heedful.corpora.aspects_grammar import ASPECTS, LABELS, Word, judgement, linked, scene
from heedful.corpora.example import Example, GivenTokens, RawCorpus, Spans
from heedful.corpora.made import SIZES, check_recipe
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec


@dataclass(frozen=True)
class Recipe:
    """How reviews are made; see `read`."""

    scenes: int
    shared_words: bool
    negation: float
    seed: int


def read(
    data_dir: Path | None = None,
    n_train: int = 800,
    n_dev: int = 150,
    n_test: int = 250,
    scenes: int = 2,
    shared_words: bool = True,
    negation: float = 0.15,
    seed: int = 0,
) -> RawCorpus:
    """Sizes count reviews; each gives two examples of one split. Up to `scenes` sentences judge
    nothing. With `shared_words` both aspects are judged with the same words, so that only
    what is judged tells them apart; `negation` is the probability of a negator."""
    recipe = Recipe(scenes, shared_words, negation, seed)
    sizes = {"train": n_train, "dev": n_dev, "test": n_test}
    _check(recipe, sizes)
    examples = [
        example
        for split, size in sizes.items()
        for number in range(size)
        for example in make_review(f"aspects-{split}-{number:05d}", split, recipe)
    ]
    return RawCorpus(LABELS, examples, {})


def make_review(name: str, split: str, recipe: Recipe) -> list[Example]:
    """The two examples of one review; its own random numbers, so that other sizes leave it."""
    rng = random.Random(stable_hash(recipe.seed, "aspects", name))
    labels = {aspect: rng.randrange(2) for aspect in ASPECTS}
    text, tokens, spans = _spell(_compose(rng, labels, recipe))
    return [
        Example(
            f"{name}-{aspect}",
            split,
            {"a": text, "b": aspect},
            labels[aspect],
            {"a": tokens, "b": [(aspect, 0, len(aspect))]},
            {"a": spans[aspect]},
        )
        for aspect in ASPECTS
    ]


def _compose(rng: random.Random, labels: dict[str, int], recipe: Recipe) -> list[list[Word]]:
    """Two judgements, in one sentence or two, among scenes, in random order."""
    clauses = [
        judgement(rng, aspect, label, recipe.shared_words, recipe.negation)
        for aspect, label in labels.items()
    ]
    rng.shuffle(clauses)
    sentences = [linked(rng, *clauses)] if rng.random() < 0.5 else clauses
    sentences += [scene(rng) for _ in range(rng.randint(0, recipe.scenes))]
    rng.shuffle(sentences)
    return sentences


def _spell(sentences: list[list[Word]]) -> tuple[str, GivenTokens, dict[str, Spans]]:
    """The text, its tokens with offsets, and what tells about each aspect."""
    text, tokens = "", []
    spans: dict[str, Spans] = {aspect: [] for aspect in ASPECTS}
    for sentence in sentences:
        for position, word in enumerate([*sentence, Word(".")]):
            spelled = word.text if position else word.text.capitalize()
            text += " " if text and spelled != "." else ""
            tokens.append((spelled, len(text), len(text) + len(spelled)))
            text += spelled
            if word.tells:
                spans[word.tells].append(tokens[-1][1:])
    return text, tokens, spans


def _check(recipe: Recipe, sizes: dict[str, int]) -> None:
    problems = {
        "scenes must not be negative": recipe.scenes < 0,
        "negation must be from 0 to 1": not 0 <= recipe.negation <= 1,
    }
    check_recipe("aspects", sizes, problems)


DEFAULTS = PrepareSpec(tokenizer="given")

PIECE = Piece(
    name="aspects",
    description="Generated reviews of service and food; the aspect asked for decides",
    make=read,
    bounds={**SIZES, "scenes": (0, 100), "negation": SHARE},
    kind="pair",
    licence="part of Heedful",
)
