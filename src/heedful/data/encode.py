"""Examples to a table of token ids, offsets and token rationales, one set of columns a side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from heedful.data.example import Example, Spans
from heedful.data.sentences import sentence_numbers
from heedful.data.tokenize import Tokens, given_tokens, sub_words, tokenizer
from heedful.data.vocabulary import Vocabulary
from heedful.errors import HeedfulError
from heedful.progress import Progress


@dataclass(frozen=True)
class Tokenised:
    """An example with the normalised tokens of each side."""

    example: Example
    sides: dict[str, Tokens]

    @property
    def words(self) -> list[str]:
        return [word for tokens in self.sides.values() for word in tokens.words]


def tokenise(
    examples: Sequence[Example], name: str, progress: Progress | None, pieces: int = 0
) -> list[Tokenised]:
    """Tokenise and normalise every side; sub-words (so many `pieces`) stay as they are."""
    known: dict[str, str] = {}
    sides = list(examples[0].texts) if examples else []
    if name == "bpe":
        found = sub_words(examples, pieces)
        return [
            Tokenised(example, {side: found[side][i] for side in sides})
            for i, example in enumerate(examples)
        ]
    columns = [_tokens(examples, side, name) for side in sides]
    done: list[Tokenised] = []
    for i, (example, *parts) in enumerate(zip(examples, *columns, strict=True), 1):
        tokens = {
            side: Tokens(normalise_all(part.words, known), part.starts, part.ends)
            for side, part in zip(sides, parts, strict=True)
        }
        done.append(Tokenised(example, tokens))
        if progress and (i % 500 == 0 or i == len(examples)):
            progress("tokenise", i, len(examples))
    return done


def table(items: Sequence[Tokenised], vocabulary: Vocabulary) -> pd.DataFrame:
    """The rows of `examples.parquet`, in the order of the corpus."""
    columns: dict[str, Any] = {
        "example": [item.example.id for item in items],
        "split": [item.example.split for item in items],
        "label": np.array([item.example.label for item in items], dtype=np.int64),
    }
    if any(item.example.candidates is not None for item in items):
        columns["candidates"] = [_candidates(item.example) for item in items]
    if any(item.example.cluster is not None for item in items):
        columns["cluster"] = [item.example.cluster for item in items]
    if any(item.example.alignment is not None for item in items):
        columns["alignment"] = [_alignment(item) for item in items]
    for side in items[0].sides:
        tokens = [item.sides[side] for item in items]
        columns[f"text_{side}"] = [item.example.texts[side] for item in items]
        columns[f"tokens_{side}"] = [vocabulary.encode(t.words) for t in tokens]
        columns[f"starts_{side}"] = [t.starts for t in tokens]
        columns[f"ends_{side}"] = [t.ends for t in tokens]
        columns[f"rationale_{side}"] = [_marks(item, side, "rationales") for item in items]
        if any(item.example.impermissible is not None for item in items):
            marks = [_marks(item, side, "impermissible") for item in items]
            columns[f"impermissible_{side}"] = marks
        columns[f"sentences_{side}"] = [
            sentence_numbers(item.example.texts[side], item.sides[side].starts) for item in items
        ]
    return pd.DataFrame(columns)


def token_rationale(tokens: Tokens, spans: Spans) -> NDArray[np.bool_]:
    """A token belongs to the rationale where it overlaps one of its spans."""
    inside = np.zeros(len(tokens), dtype=bool)
    for start, end in spans:
        inside |= (tokens.starts < end) & (tokens.ends > start)
    return inside


def _marks(item: Tokenised, side: str, kind: str) -> NDArray[np.bool_] | None:
    spans = getattr(item.example, kind)
    if spans is None or side not in spans:
        return None
    return token_rationale(item.sides[side], spans[side])


def _candidates(example: Example) -> NDArray[np.int32]:
    if example.candidates is None:
        raise HeedfulError(
            f"example {example.id} names no candidates while others do: give all of them some."
        )
    return np.array(example.candidates, dtype=np.int32)


def _alignment(item: Tokenised) -> NDArray[np.int32] | None:
    """Pairs of positions among the real tokens, one after the other: a₀ b₀ a₁ b₁ …"""
    if item.example.alignment is None:
        return None
    pairs = {
        (int(a), int(b))
        for one, other in item.example.alignment
        for a in np.flatnonzero(token_rationale(item.sides["a"], [one]))
        for b in np.flatnonzero(token_rationale(item.sides["b"], [other]))
    }
    return np.array(sorted(pairs), dtype=np.int32).reshape(-1)


def _tokens(examples: Sequence[Example], side: str, name: str) -> Iterator[Tokens]:
    if name != "given":
        return tokenizer(name)(example.texts[side] for example in examples)
    return (_given(example, side) for example in examples)


def _given(example: Example, side: str) -> Tokens:
    if example.tokens is None or side not in example.tokens:
        raise HeedfulError(
            f"example {example.id} brings no tokens: choose the spacy or whitespace tokenizer."
        )
    return given_tokens(example.tokens[side])


NUMBER = "qqq"


def normalise(token: str) -> str:
    """jain2019's: lower case, and one word for everything with a digit in it."""
    if any(character.isdigit() for character in token):
        return NUMBER
    return token.lower()


def normalise_all(tokens: Iterable[str], known: dict[str, str]) -> list[str]:
    """Normalise many tokens; `known` shares one string per word, which keeps a corpus of
    millions of tokens small in memory."""
    words = []
    for token in tokens:
        word = known.get(token)
        if word is None:
            word = known.setdefault(token, normalise(token))
        words.append(word)
    return words
