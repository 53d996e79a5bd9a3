"""Tokenisers: texts to tokens with character offsets. White space is never a token."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.corpora.example import GivenTokens
from heedful.errors import HeedfulError, unknown_name

TOKENIZERS = ("spacy", "whitespace", "words", "given", "bpe")
_PATTERNS = {"whitespace": r"\S+", "words": r"\w+"}


@dataclass(frozen=True)
class Tokens:
    """The tokens of one text; `starts` and `ends` are offsets into it."""

    words: list[str]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.words)


def tokenizer(name: str) -> Callable[[Iterable[str]], Iterator[Tokens]]:
    """A tokeniser of texts by name; `words` takes runs of word characters and so drops
    punctuation, `given` tokens come through `given_tokens` instead, sub-words (`bpe`) through
    `corpora/bpe.py`, which has to see the whole training split first."""
    if name == "spacy":
        return _spacy()
    if name in _PATTERNS:
        return partial(_matches, re.compile(_PATTERNS[name]))
    raise unknown_name("tokenizer", name, list(TOKENIZERS))


def given_tokens(tokens: GivenTokens) -> Tokens:
    """Tokens a corpus brings along."""
    return _pack(
        [word for word, _, _ in tokens], [s for _, s, _ in tokens], [e for *_, e in tokens]
    )


def _matches(pattern: re.Pattern[str], texts: Iterable[str]) -> Iterator[Tokens]:
    for text in texts:
        found = list(pattern.finditer(text))
        yield _pack(
            [m.group() for m in found], [m.start() for m in found], [m.end() for m in found]
        )


def _spacy() -> Callable[[Iterable[str]], Iterator[Tokens]]:
    try:
        import spacy
    except ImportError as error:
        raise HeedfulError(
            'the spacy tokenizer needs spaCy: `pip install "heedful[text]"`, '
            "or choose the words or whitespace tokenizer (`--param tokenizer=words`)."
        ) from error
    blank: Any = spacy.blank("en")  # spaCy types its tokenizer as any callable

    def tokenize(texts: Iterable[str]) -> Iterator[Tokens]:
        for doc in blank.tokenizer.pipe(texts):
            words = [token for token in doc if not token.is_space]
            starts = [token.idx for token in words]
            names = [token.text for token in words]
            yield _pack(names, starts, [s + len(n) for s, n in zip(starts, names, strict=True)])

    return tokenize


def _pack(words: list[str], starts: list[int], ends: list[int]) -> Tokens:
    return Tokens(words, np.asarray(starts, dtype=np.int32), np.asarray(ends, dtype=np.int32))
