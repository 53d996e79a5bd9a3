"""Texts of a corpus found among parsed sentences, and which token hangs on which.

A text is a sentence's when both are the same but for blanks, whatever either's tokens are;
tokens then belong to the word in which they begin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heedful.corpora.conllu import Sentence
from heedful.corpora.split import Split


def heads_by_id(split: Split, sentences: Sequence[Sentence]) -> dict[str, NDArray[np.bool_]]:
    """For the texts of side a that are among the sentences: `[t, t]` over their real tokens,
    True from each token of a word to each of its head. The root's rows are empty."""
    known = {_letters("".join(sentence.words)): sentence for sentence in sentences}
    found = {}
    for i, name in enumerate(split.ids):
        sentence = known.get(_letters(split.text(i)))
        if sentence is not None:
            found[name] = _between(_words(split, i, sentence), sentence)
    return found


def _letters(text: str) -> str:
    return "".join(text.split())


def _words(split: Split, i: int, sentence: Sentence) -> NDArray[np.int64]:
    """The number of each real token's word."""
    text, starts = split.text(i), np.asarray(split.sides["a"].starts[i], dtype=np.int64)
    before = np.cumsum([0] + [not character.isspace() for character in text])
    sizes = [len(_letters(word)) for word in sentence.words]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    numbers: NDArray[np.int64] = owner[np.minimum(before[starts], len(owner) - 1)]
    return numbers


def _between(words: NDArray[np.int64], sentence: Sentence) -> NDArray[np.bool_]:
    heads = np.asarray(sentence.heads, dtype=np.int64)[words]
    return np.asarray(heads[:, None] == words[None, :])
