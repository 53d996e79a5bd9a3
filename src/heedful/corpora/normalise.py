"""jain2019's normalisation: lower case, and one word for everything with a digit in it."""

from __future__ import annotations

from collections.abc import Iterable

NUMBER = "qqq"


def normalise(token: str) -> str:
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
