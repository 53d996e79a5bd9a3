"""What corpora of our own making share: bounds of their parameters, refusals, and spelling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from heedful.data.example import Example, GivenTokens
from heedful.entries import Range
from heedful.errors import HeedfulError

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


def generated(
    corpus: str, sizes: Mapping[str, int], make: Callable[[str, str], Example]
) -> Iterator[Example]:
    """Examples made from their names and splits, so that other sizes leave each as it is."""
    for split, size in sizes.items():
        for number in range(size):
            yield make(f"{corpus}-{split}-{number:05d}", split)


def check_recipe(corpus: str, sizes: Mapping[str, int], problems: Mapping[str, bool]) -> None:
    """`problems` are sentences, each with whether it is so; `sizes` are examples by split."""
    few = min(sizes.values()) < 0 or sizes["train"] < 1
    for problem, found in {_SIZES: few, **problems}.items():
        if found:
            raise HeedfulError(f"the {corpus} corpus cannot be made: {problem}.")
