"""Impermissible tokens by a list of words or a pattern, over what the corpus itself marks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from heedful.corpora.example import Example, Spans
from heedful.errors import HeedfulError


def mark(examples: Sequence[Example], how: str) -> list[Example]:
    """`how` is words with commas between them, found in any case, or `/a pattern/`."""
    if not how:
        return list(examples)
    pattern = _pattern(how)
    marked = [
        replace(example, impermissible={"a": found_in(example.texts["a"], pattern)})
        for example in examples
    ]
    if not any(example.impermissible and example.impermissible["a"] for example in marked):
        raise HeedfulError(
            f"the impermissible tokens {how!r} match nothing in any text: give other words."
        )
    return marked


def found_in(text: str, pattern: re.Pattern[str]) -> Spans:
    """Where it matches; a match of nothing marks nothing."""
    return [found.span() for found in pattern.finditer(text) if found.group()]


def words_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Whole words, in any case."""
    every = "|".join(re.escape(word.strip()) for word in words)
    return re.compile(rf"(?<!\w)(?:{every})(?!\w)", re.IGNORECASE)


def _pattern(how: str) -> re.Pattern[str]:
    if len(how) > 2 and how[0] == how[-1] == "/":
        try:
            return re.compile(how[1:-1])
        except re.error as error:
            raise HeedfulError(
                f"the impermissible pattern {how} is none ({error}): mend it."
            ) from error
    words = [word for word in how.split(",") if word.strip()]
    if not words:
        raise HeedfulError(f"the impermissible tokens {how!r} name no word.")
    return words_pattern(words)
