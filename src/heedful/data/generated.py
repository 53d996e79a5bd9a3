"""What corpora of our own making share: bounds of their parameters, refusals, and spelling."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from heedful.data.example import Example, GivenTokens, RawCorpus
from heedful.entries import Corpus, Range
from heedful.errors import HeedfulError
from heedful.hashing import stable_hash

SIZES: Mapping[str, Range] = {"n_train": (1, 10**6), "n_dev": (0, 10**6), "n_test": (0, 10**6)}
LENGTH: Range = (1, 10_000)
"""What `--param` may ask of corpora of our own making: examples by split, words of a text."""


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


@dataclass(frozen=True)
class Generator:
    """A generated corpus: a dataclass whose fields are its parameters, within `bounds`.

    Each text has its own random numbers, so other sizes leave every text as it is.
    """

    corpus: ClassVar[str]
    bounds: ClassVar[Mapping[str, Range]]
    digits: ClassVar[int] = 5
    n_train: int = 1500
    n_dev: int = 300
    n_test: int = 500
    seed: int = field(default=0, kw_only=True)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes; none for generation."""
        return ()

    @property
    def prefix(self) -> str:
        """How the ids of its texts begin."""
        return self.corpus

    def problems(self) -> Mapping[str, bool]:
        """Sentences about parameters that do not fit together, and whether each is true."""
        return {}

    def examples(self, name: str, split: str) -> Iterable[Example]:
        """Those of one text: what each corpus writes itself, unless it has a `read` of its own."""
        raise NotImplementedError

    def random(self, *key: Any) -> random.Random:
        return random.Random(stable_hash(self.seed, self.corpus, *key))

    @property
    def sizes(self) -> dict[str, int]:
        return {"train": self.n_train, "dev": self.n_dev, "test": self.n_test}

    def check(self) -> None:
        problems = {
            "sizes must not be negative, and n_train at least 1": min(self.sizes.values()) < 0
            or self.n_train < 1,
            **self.problems(),
        }
        for name, (low, high) in self.bounds.items():
            wrong = not low <= getattr(self, name) <= high
            problems[f"{name} must be from {low:g} to {high:g}"] = wrong
        for problem, found in problems.items():
            if found:
                raise HeedfulError(f"the {self.corpus} corpus cannot be made: {problem}.")

    def read(self, data_dir: Path | None) -> RawCorpus:
        self.check()
        examples = [
            example
            for split, size in self.sizes.items()
            for number in range(size)
            for example in self.examples(f"{self.prefix}-{split}-{number:0{self.digits}d}", split)
        ]
        task = "classification" if self.labels else "generation"
        return RawCorpus(self.labels, examples, {}, task=task)

    @classmethod
    def entry(cls, **facts: Any) -> Corpus:
        """Its entry in the registry: what is called to read it takes the fields as parameters."""

        def read(data_dir: Path | None = None, *values: Any, **params: Any) -> RawCorpus:
            return cls(*values, **params).read(data_dir)

        read.__signature__ = inspect.signature(cls)  # type: ignore[attr-defined]
        usual = {"name": cls.corpus, "make": read, "bounds": {**SIZES, **cls.bounds}}
        return Corpus(**{**usual, "licence": "part of Heedful", **facts})
