"""Generated texts with words that tell the label and that attention must not be seen on.

After pruthi2020's tasks. In `pronoun` the forbidden words (pronouns) tell the label, the gender
of who is spoken of, and nothing else does. In `occupation` the label is one of two made-up
trades; forbidden words (pronouns, titles) go with it more often than not, and so do words of
the trade. What tells the label, forbidden or not, is the rationale.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from heedful.catalogue import SHARE, Piece
from heedful.corpora.deception_grammar import (
    GENDERS,
    OCCUPATIONS,
    Token,
    biography,
    scene,
    sentence,
    work,
)
from heedful.corpora.example import Example, GivenTokens, RawCorpus, Spans
from heedful.corpora.made import SIZES, check_recipe
from heedful.errors import unknown_name
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec

LABELS = {"pronoun": GENDERS, "occupation": OCCUPATIONS}


@dataclass(frozen=True)
class Recipe:
    """How texts are made; see `read`."""

    task: str
    about: int
    scenes: int
    agreement: float
    clue: float
    seed: int


def read(
    data_dir: Path | None = None,
    n_train: int = 1500,
    n_dev: int = 300,
    n_test: int = 500,
    task: str = "pronoun",
    about: int = 2,
    scenes: int = 1,
    agreement: float = 0.9,
    clue: float = 0.75,
    seed: int = 0,
) -> RawCorpus:
    """One to `about` sentences speak of the person, up to `scenes` more of nobody. For the task
    `occupation`, gender goes with the label as often as `agreement` says, and the one word of
    the trade as often as `clue` says."""
    recipe = Recipe(task, about, scenes, agreement, clue, seed)
    sizes = {"train": n_train, "dev": n_dev, "test": n_test}
    _check(recipe, sizes)
    examples = [
        make_example(f"deception-{task}-{split}-{number:05d}", split, recipe)
        for split, size in sizes.items()
        for number in range(size)
    ]
    return RawCorpus(LABELS[task], examples, {})


def make_example(name: str, split: str, recipe: Recipe) -> Example:
    """One text; its own random numbers, so that other sizes leave it as it is."""
    rng = random.Random(stable_hash(recipe.seed, "deception", name))
    label = rng.randrange(2)
    sentences = _compose(rng, label, recipe)
    sentences += [scene(rng) for _ in range(rng.randint(0, recipe.scenes))]
    rng.shuffle(sentences)
    text, tokens = _spell(sentences)
    every = [token for words in sentences for token in words]
    decisive = _spans(tokens, [token.decisive for token in every])
    forbidden = _spans(tokens, [token.forbidden for token in every])
    return Example(
        name,
        split,
        {"a": text},
        label,
        {"a": tokens},
        {"a": decisive},
        impermissible={"a": forbidden},
    )


def _compose(rng: random.Random, label: int, recipe: Recipe) -> list[list[Token]]:
    """What is said of the person, and for an occupation what is said of the work."""
    count = rng.randint(1, recipe.about)
    if recipe.task == "pronoun":
        return [sentence(rng, label) for _ in range(count)]
    gender = label if rng.random() < recipe.agreement else 1 - label
    trade = label if rng.random() < recipe.clue else 1 - label
    return [*(biography(rng, gender) for _ in range(count)), work(rng, trade)]


def _spell(sentences: list[list[Token]]) -> tuple[str, GivenTokens]:
    """The text, and its tokens with offsets; a full stop stands at its word."""
    text, tokens = "", []
    for words in sentences:
        for token in words:
            text += " " if text and token.word != "." else ""
            tokens.append((token.word, len(text), len(text) + len(token.word)))
            text += token.word
    return text, tokens


def _spans(tokens: GivenTokens, chosen: list[bool]) -> Spans:
    return [(start, end) for (_, start, end), is_so in zip(tokens, chosen, strict=True) if is_so]


def _check(recipe: Recipe, sizes: dict[str, int]) -> None:
    if recipe.task not in LABELS:
        raise unknown_name("task of deception", recipe.task, list(LABELS))
    shares = (recipe.agreement, recipe.clue)
    problems = {
        "about must be at least 1": recipe.about < 1,
        "scenes must not be negative": recipe.scenes < 0,
        "agreement and clue must be from 0 to 1": not all(0 <= share <= 1 for share in shares),
    }
    check_recipe("deception", sizes, problems)


DEFAULTS = PrepareSpec(tokenizer="given")
BOUNDS = {**SIZES, "about": (1, 100), "scenes": (0, 100), "agreement": SHARE, "clue": SHARE}

PIECE = Piece(
    name="deception",
    description="Generated texts with known words that attention must not be seen on",
    make=read,
    bounds=BOUNDS,
    paper="pruthi2020",
    licence="part of Heedful",
)
