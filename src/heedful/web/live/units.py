"""What a person moves at a site: words, sentences, or positions where it is neither.

A word may be several tokens, and some tokens belong to no word: those are one unit together.
Weights of a word's tokens are added up to be shown; a word's new weight goes to its tokens in
the proportions the model gave them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.subjects import Document
from heedful.types import SiteSpec, Text
from heedful.words import word_numbers

WORDS, SENTENCES, POSITIONS = "words", "sentences", "positions"
OUTSIDE = "tokens of no word"
_LONGEST_LABEL = 80


@dataclass(frozen=True)
class Units:
    """`of_key` is the unit of each key (−1: of none, it cannot be attended); `words` the
    number of each unit's word, −1 where it has none."""

    kind: str
    labels: tuple[str, ...]
    words: tuple[int, ...]
    of_key: Int[Tensor, " k"]

    def __len__(self) -> int:
        return len(self.labels)

    def total(self, keys: Float[Tensor, "*n k"]) -> Float[Tensor, "*n u"]:
        """The sum over each unit's keys, float64."""
        return keys.double() @ self.members

    @property
    def members(self) -> Float[Tensor, "k u"]:
        numbers = torch.arange(len(self), device=self.of_key.device)
        return (self.of_key[:, None] == numbers).double()


def units_of(site: SiteSpec, readable: Bool[Tensor, " k"], text: Text, document: Document) -> Units:
    """`readable` are the keys that may be attended; the text is the only one of its batch."""
    if site.level == "sentences":
        names = _sentences(text, document, len(readable))
        return _each(SENTENCES, readable, names)
    if site.keys == "a" and len(readable) == text.tokens.shape[1]:
        return _words(readable, word_numbers(text)[0], document)
    names = [f"position {place + 1}" for place in range(len(readable))]
    return _each(POSITIONS, readable, names)


def spread(
    shown: Float[Tensor, " u"],
    units: Units,
    learned: Float[Tensor, "b h q k"],
    mask: Bool[Tensor, "b h q k"],
    normalised: bool,
) -> Float[Tensor, "b h q k"]:
    """Every row with these weights of units, float64: less what it may not attend, brought to
    a sum of 1 again. A row that is left with nothing stays as it was."""
    own, there = learned.double() * mask, mask.double()
    total, count = units.total(own), units.total(there)
    place = units.of_key.clamp_min(0)
    of_unit, of_count = total[..., place], count[..., place].clamp_min(1)
    share = torch.where(of_unit > 0, own / of_unit.clamp_min(1e-300), there / of_count)
    rows = shown.double()[place] * share * there * (units.of_key >= 0)
    if not normalised:
        return rows
    left = rows.sum(-1, keepdim=True)
    return torch.where(left > 0, rows / left.clamp_min(1e-300), learned.double())


def _words(readable: Tensor, numbers: Tensor, document: Document) -> Units:
    """Words in their order, then whatever else may be attended."""
    of_word = torch.where(readable, numbers, -1)
    known = sorted(set(of_word.tolist()) - {-1})
    unit = {number: place for place, number in enumerate(known)}
    outside = bool((readable & (numbers < 0)).any())
    spare = len(known) if outside else -1
    places = [
        unit.get(number, spare if there else -1)
        for number, there in zip(of_word.tolist(), readable.tolist(), strict=True)
    ]
    labels = [document.surface[number] for number in known]
    return Units(
        WORDS,
        (*labels, *([OUTSIDE] if outside else [])),
        (*known, *([-1] if outside else [])),
        torch.tensor(places, device=readable.device),
    )


def _each(kind: str, readable: Tensor, names: list[str]) -> Units:
    """Every key that may be attended is a unit."""
    labels = tuple(name for name, there in zip(names, readable.tolist(), strict=True) if there)
    places = torch.where(readable, readable.long().cumsum(0) - 1, -1)
    return Units(kind, labels, (-1,) * len(labels), places)


def _sentences(text: Text, document: Document, count: int) -> list[str]:
    """Each sentence as it stands in the text."""
    if text.sentences is None:
        return [f"sentence {number + 1}" for number in range(count)]
    spans = document.words["a"]
    numbers, sentences = word_numbers(text)[0], text.sentences[0]
    names = []
    for sentence in range(count):
        words = numbers[(sentences == sentence) & (numbers >= 0)].tolist()
        whole = document.texts["a"][spans[words[0]][0] : spans[words[-1]][1]] if words else ""
        names.append(whole if len(whole) <= _LONGEST_LABEL else f"{whole[: _LONGEST_LABEL - 1]}…")
    return names
