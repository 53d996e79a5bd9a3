"""Generated texts as training takes them, and as an audit takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from heedful.benchmark.trained.grammar import LABELS, Lexicon, Task, Text, Word, lexicon, texts
from heedful.corpora import Side, Split
from heedful.randomness import stable_hash
from heedful.specs import END, PAD, START, UNKNOWN
from heedful.subjects import Document, Row, Span

SPECIAL = ("<pad>", "<unk>", "<start>", "<end>")
SIZES = {"train": 2500, "dev": 400}
DIMENSION = 32


@dataclass(frozen=True)
class Corpus:
    """What `heedful.training` asks of a corpus. The words that decide are its rationales, and
    what attention must not be seen on where a model is trained to hide them."""

    rule: Task
    seed: int
    task: str = "classification"
    classes: int = len(LABELS)

    @cached_property
    def lexicon(self) -> Lexicon:
        return lexicon(self.seed)

    @cached_property
    def words(self) -> list[str]:
        known = dict.fromkeys(word.text for family in self.lexicon.values() for word in family)
        return [*SPECIAL, *known]

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def vectors(self) -> Tensor:
        generator = torch.Generator().manual_seed(stable_hash(self.seed, "vectors") % (1 << 31))
        vectors = torch.randn(len(self.words), DIMENSION, generator=generator) * 0.3
        vectors[[PAD, UNKNOWN]] = 0.0
        return vectors

    def split(self, name: str) -> Split:
        return self._splits[name]

    def texts(self, part: str, count: int) -> list[Text]:
        return texts(self.rule, self.lexicon, self.seed, part, count)

    def decides(self, word: Word) -> bool:
        return bool(word.sign) and word.family in self.rule.families

    @cached_property
    def deciding(self) -> Tensor:
        """The tokens of all words that can decide."""
        known = (word for family in self.lexicon.values() for word in family)
        return torch.tensor([self.places[word.text] for word in known if self.decides(word)])

    def tokens(self, words: Sequence[Word]) -> list[int]:
        return [START, *(self.places[word.text] for word in words), END]

    def row(self, words: Sequence[Word]) -> Row:
        tokens = np.array(self.tokens(words), dtype=np.int64)
        places = np.arange(-1, len(tokens) - 1, dtype=np.int64)
        places[-1] = -1
        return Row(tokens, places >= 0, places)

    def document(self, text: Text) -> Document:
        marks = tuple(self.decides(word) for word in text.words)
        surface, spans = _spelled(text.words)
        return Document(text.id, {"a": surface}, {"a": spans}, text.right, marks, text.id)

    @cached_property
    def _splits(self) -> Mapping[str, Split]:
        return {name: self._split(self.texts(name, size)) for name, size in SIZES.items()}

    def _split(self, some: Sequence[Text]) -> Split:
        spelled = [_spelled(text.words) for text in some]
        marks = [np.array([self.decides(word) for word in text.words]) for text in some]
        side = Side(
            [np.array(self.tokens(text.words), dtype=np.int32) for text in some],
            [surface for surface, _ in spelled],
            [np.array([start for start, _ in spans], dtype=np.int32) for _, spans in spelled],
            [np.array([end for _, end in spans], dtype=np.int32) for _, spans in spelled],
            list(marks),
            [np.zeros(len(text.words), dtype=np.int32) for text in some],
            impermissible=list(marks),
        )
        labels = torch.tensor([text.label for text in some])
        return Split(tuple(text.id for text in some), labels, {"a": side})


def _spelled(words: Sequence[Word]) -> tuple[str, tuple[Span, ...]]:
    spans, start = [], 0
    for word in words:
        spans.append((start, start + len(word.text)))
        start += len(word.text) + 1
    return " ".join(word.text for word in words), tuple(spans)
