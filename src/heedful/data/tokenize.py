"""Tokenisers: texts to tokens with character offsets, by rules or as learned sub-words (BPE).

White space is never a token. For sub-words a text is marked first: a blank becomes `▁`, and one
stands before the first word. So pieces joined and unmarked give back the text exactly. Learning
asks the `tokenizers` library; cutting and joining are done here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.data.example import Example, GivenTokens, matched_tokens
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
    `sub_words`, which has to see the whole training split first."""
    if name == "spacy":
        return _spacy()
    if name in _PATTERNS:
        return lambda texts: (given_tokens(matched_tokens(_PATTERNS[name], t)) for t in texts)
    raise unknown_name("tokenizer", name, list(TOKENIZERS))


def given_tokens(tokens: GivenTokens) -> Tokens:
    """(token, start, end) of each token, as a corpus brings them along, as columns."""
    starts = np.array([start for _, start, _ in tokens], dtype=np.int32)
    ends = np.array([end for _, _, end in tokens], dtype=np.int32)
    return Tokens([word for word, _, _ in tokens], starts, ends)


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
            words = (token for token in doc if not token.is_space)
            yield given_tokens([(w.text, w.idx, w.idx + len(w.text)) for w in words])

    return tokenize


MARK = "▁"
_ESCAPE = "␛"  # a text's own ▁ is written ␛u, its own ␛ is written ␛e
_ESCAPES = {MARK: f"{_ESCAPE}u", _ESCAPE: f"{_ESCAPE}e", " ": MARK}
_MARKING = {ord(character): written for character, written in _ESCAPES.items()}
_UNESCAPE = re.compile(f"{_ESCAPE}[ue]|{MARK}")
_WORD = re.compile(rf"{MARK}?(?:{_ESCAPE}[ue]|\w)+|{MARK}?[^\w{MARK}{_ESCAPE}]+|{MARK}")
_SEEN_TWICE = 2  # a pair met once is no regularity


def sub_words(examples: Sequence[Example], pieces: int) -> Mapping[str, list[Tokens]]:
    """The pieces of every side's texts. What is never a piece of a training text is cut
    further, down to characters, so that no model meets a piece it could not learn."""
    train = [text for e in examples if e.split == "train" for text in e.texts.values()]
    merges = learn(train, pieces)
    cutter = Cutter(merges)
    seen = {piece for text in train for piece in cutter.pieces(marked(text))}
    cutter = Cutter(merges, frozenset(seen))
    sides = list(examples[0].texts) if examples else []
    return {side: [cutter.tokens(example.texts[side]) for example in examples] for side in sides}


def detokenise(words: Iterable[str]) -> str:
    """The text that pieces are of."""
    joined = "".join(words).removeprefix(MARK)
    plain = {written: character for character, written in _ESCAPES.items()}
    return _UNESCAPE.sub(lambda found: plain[found.group()], joined)


def spelled(words: Sequence[str], tokenizer: str) -> str:
    """A written text, by the tokeniser its vocabulary comes from."""
    return detokenise(words) if tokenizer == "bpe" else " ".join(words)


def marked(text: str) -> str:
    """A text as pieces are cut from it: blanks are `▁`, and one stands before the first word. An
    empty text has no piece at all."""
    return MARK + text.translate(_MARKING) if text else ""


def learn(texts: Iterable[str], pieces: int) -> list[tuple[str, str]]:
    """The pairs to merge, the most frequent first; the library breaks ties by a fixed order."""
    if pieces < 1:
        raise HeedfulError(f"the parameter 'pieces' is {pieces}: give at least 1, such as 8000.")
    library = _library()
    model = library.Tokenizer(library.models.BPE())
    trainer = library.trainers.BpeTrainer(
        vocab_size=pieces, min_frequency=_SEEN_TWICE, show_progress=False
    )
    model.train_from_iterator((_WORD.findall(marked(text)) for text in texts), trainer)
    merges = json.loads(model.to_str())["model"]["merges"]
    return [(left, right) for left, right in merges]


@dataclass
class Cutter:
    """Cuts texts by learned merges. With `seen`, pieces outside of it are cut further."""

    merges: Sequence[tuple[str, str]]
    seen: frozenset[str] | None = None
    _known: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rank = {pair: rank for rank, pair in enumerate(self.merges)}
        self._parts = {left + right: (left, right) for left, right in reversed(self.merges)}

    def tokens(self, text: str) -> Tokens:
        """A piece stands where its characters stand; a mark only where it is the whole piece."""
        words = self.pieces(marked(text))
        places = _places(text)
        starts, ends, at = [], [], 0
        for word in words:
            bare = word.lstrip(MARK) or word[-1]
            end = at + len(word)
            starts.append(places[end - len(bare)][0])
            ends.append(places[end - 1][1])
            at = end
        return Tokens(words, np.array(starts, dtype=np.int32), np.array(ends, dtype=np.int32))

    def pieces(self, text: str) -> list[str]:
        """The pieces of a marked text."""
        return [piece for word in _WORD.findall(text) for piece in self._cut(word)]

    def _cut(self, word: str) -> list[str]:
        if word not in self._known:
            merged = self._merge(list(word))
            self._known[word] = [part for piece in merged for part in self._trained(piece)]
        return self._known[word]

    def _merge(self, parts: list[str]) -> list[str]:
        """The pair learned first is merged first, wherever it stands."""
        last = len(self._rank)
        while len(parts) > 1:
            pairs = list(pairwise(parts))
            best = min(pairs, key=lambda pair: self._rank.get(pair, last))
            if best not in self._rank:
                break
            parts = _joined(parts, best)
        return parts

    def _trained(self, piece: str) -> list[str]:
        if self.seen is None or piece in self.seen or piece not in self._parts:
            return [piece]
        return [part for half in self._parts[piece] for part in self._trained(half)]


def _joined(parts: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    place = 0
    while place < len(parts):
        whole = tuple(parts[place : place + 2]) == pair
        out.append("".join(pair) if whole else parts[place])
        place += 2 if whole else 1
    return out


def _places(text: str) -> list[tuple[int, int]]:
    """For each character of the marked text, the span of the text's own it stands for."""
    places = [(0, 0)]
    for at, character in enumerate(text):
        places += [(at, at + 1)] * len(_ESCAPES.get(character, character))
    return places


def _library() -> Any:
    try:
        import tokenizers
        from tokenizers import models, trainers  # noqa: F401
    except ImportError as error:
        raise HeedfulError(
            'sub-words need the tokenizers library: `pip install "heedful[hf]"`, '
            "or choose the words or whitespace tokenizer (`--param tokenizer=words`)."
        ) from error
    return tokenizers
