"""What corpora of our own making share: bounds of their parameters, refusals, and spelling."""

from __future__ import annotations

import inspect
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from heedful.data.example import Example, GivenTokens, RawCorpus
from heedful.entries import Range
from heedful.errors import HeedfulError
from heedful.randomness import stable_hash

SIZES: Mapping[str, Range] = {"n_train": (1, 10**6), "n_dev": (0, 10**6), "n_test": (0, 10**6)}
LENGTH: Range = (1, 10_000)
"""What `--param` may ask of corpora of our own making: examples by split, words of a text."""
_SIZES = "sizes must not be negative, and n_train at least 1"


@dataclass(frozen=True)
class Token:
    """A word or a full stop. Those that tell the label are decisive, some of them forbidden;
    where a text has several labels, `tells` names the one."""

    word: str
    decisive: bool = False
    forbidden: bool = False
    tells: str = ""


def plain(words: str) -> list[Token]:
    """Tokens that tell nothing."""
    return [Token(word) for word in words.split()]


def spell(sentences: Sequence[Sequence[Token]], capitals: bool = True) -> tuple[str, GivenTokens]:
    """The text, and its tokens with offsets; a full stop stands at its word."""
    text, tokens = "", []
    for sentence in sentences:
        for position, token in enumerate(sentence):
            word = token.word.capitalize() if capitals and not position else token.word
            text += " " if text and word != "." else ""
            tokens.append((word, len(text), len(text) + len(word)))
            text += word
    return text, tokens


class Generator(ABC):
    """A generated corpus: a dataclass whose fields are its parameters.

    Each text has its own random numbers, so other sizes leave every text as it is.
    """

    corpus: ClassVar[str]
    digits: ClassVar[int] = 5
    n_train: int
    n_dev: int
    n_test: int
    seed: int

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The names of the classes; none for generation."""

    @property
    def prefix(self) -> str:
        """How the ids of its texts begin."""
        return self.corpus

    @abstractmethod
    def problems(self) -> Mapping[str, bool]:
        """Sentences about parameters that do not fit together, and whether each is true."""

    @abstractmethod
    def examples(self, name: str, split: str) -> Iterable[Example]:
        """Those of one text."""

    def random(self, *key: Any) -> random.Random:
        return random.Random(stable_hash(self.seed, self.corpus, *key))

    def read(self) -> RawCorpus:
        sizes = {"train": self.n_train, "dev": self.n_dev, "test": self.n_test}
        check_recipe(self.corpus, sizes, self.problems())
        task = "classification" if self.labels else "generation"
        return RawCorpus(self.labels, list(self._all(sizes)), {}, task=task)

    def _all(self, sizes: Mapping[str, int]) -> Iterator[Example]:
        for split, size in sizes.items():
            for number in range(size):
                yield from self.examples(f"{self.prefix}-{split}-{number:0{self.digits}d}", split)


def reader(generator: Callable[..., Generator]) -> Callable[..., RawCorpus]:
    """What a registry calls to read the corpus; its parameters are the generator's fields."""

    def read(data_dir: Path | None = None, *values: Any, **params: Any) -> RawCorpus:
        return generator(*values, **params).read()

    read.__signature__ = inspect.signature(generator)  # type: ignore[attr-defined]
    return read


def check_recipe(corpus: str, sizes: Mapping[str, int], problems: Mapping[str, bool]) -> None:
    """`problems` are sentences, each with whether it is so; `sizes` are examples by split."""
    few = min(sizes.values()) < 0 or sizes["train"] < 1
    for problem, found in {_SIZES: few, **problems}.items():
        if found:
            raise HeedfulError(f"the {corpus} corpus cannot be made: {problem}.")
