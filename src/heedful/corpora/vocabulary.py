"""Words and their ids, counted on the training split only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heedful.specs import END, START, UNKNOWN

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")


@dataclass(frozen=True)
class Vocabulary:
    """`words[i]` has id i; `df[i]` is the number of training texts that hold it."""

    words: tuple[str, ...]
    df: tuple[int, ...]
    ids: dict[str, int]

    def encode(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Ids between a start and an end token."""
        get = self.ids.get
        middle = [get(word, UNKNOWN) for word in words]
        return np.array([START, *middle, END], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.words)


def build_vocabulary(texts: Iterable[Sequence[str]], min_df: int) -> Vocabulary:
    """The special tokens, then words in at least `min_df` texts by (df descending, word).

    A token in a text that looks like a special one is an unknown word, never padding.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text))
    kept = [(word, n) for word, n in counts.items() if n >= min_df and word not in SPECIALS]
    kept.sort(key=lambda item: (-item[1], item[0]))
    words = SPECIALS + tuple(word for word, _ in kept)
    df = (0,) * len(SPECIALS) + tuple(n for _, n in kept)
    ids = {word: i for i, word in enumerate(words) if i >= len(SPECIALS)}
    return Vocabulary(words, df, ids)
