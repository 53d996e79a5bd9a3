"""Another corpus with a lexical shortcut planted in a part of it (Bastings et al. 2022).

New words are put at random places of some texts, and a rule on them sets the label. The words
that decide such a text are known: they are its rationale.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

from heedful.data.example import Example, RawCorpus, cut_splits, join_tokens, pick
from heedful.data.generated import Generator
from heedful.data.registry import CORPORA, default_prepare
from heedful.data.reviews import SST
from heedful.entries import SHARE, Range
from heedful.errors import HeedfulError, unknown_name
from heedful.hashing import stable_hash
from heedful.specs import PrepareSpec

ZERO, ONE, CONTEXT = "gmina", "kinase", "ligue"
"""The shortcut words. BERT's vocabulary has each as one token, so a word is one token for every
model here, and no text of SST, IMDB or the toxicity corpus has any of them."""
WORDS = (ZERO, ONE, CONTEXT)
_PAIR = (ZERO, ONE)
_OTHER = {ZERO: ONE, ONE: ZERO}


@dataclass(frozen=True)
class Rule:
    """`label` of a text's words is None where the rule does not apply. `draw` gives the words for
    a class, in their order in the text; `stray` words that decide nothing alone, () where every
    shortcut word decides. The first `exchanged` of them, or all, are exchanged for the
    rule to give the other class."""

    description: str
    label: Callable[[Sequence[str]], int | None]
    draw: Callable[[int, random.Random], tuple[str, ...]]
    stray: tuple[str, ...]
    exchanged: int | None = None


def digits(words: Sequence[str]) -> list[int]:
    """The words that stand for 0 and 1, in order."""
    return [_PAIR.index(word) for word in words if word in _PAIR]


def exchange(words: Sequence[str], rule: Rule) -> list[str]:
    """The text with the other shortcut word in place of the one that is there."""
    places = [place for place, word in enumerate(words) if word in _OTHER][: rule.exchanged]
    return [_OTHER[word] if place in places else word for place, word in enumerate(words)]


def insert(words: Sequence[str], new: Sequence[str], draw: random.Random) -> list[str]:
    """The new words at random places, in their order."""
    places = sorted(draw.sample(range(len(words) + len(new)), len(new)))
    text = list(words)
    for place, word in zip(places, new, strict=True):
        text.insert(place, word)
    return text


def _single(words: Sequence[str]) -> int | None:
    found = digits(words)
    return found[0] if len(found) == 1 else None


def _context(words: Sequence[str]) -> int | None:
    return _single(words) if CONTEXT in words else None


def _pair(words: Sequence[str]) -> int | None:
    found = digits(words)
    return found[0] if found in ([0, 1], [1, 0]) else None


def _xor(words: Sequence[str]) -> int | None:
    found = digits(words)
    return int(found[0] != found[1]) if len(found) == 2 else None


def _draw_context(label: int, draw: random.Random) -> tuple[str, ...]:
    return tuple(draw.sample([_PAIR[label], CONTEXT], 2))


def _draw_xor(label: int, draw: random.Random) -> tuple[str, ...]:
    first = draw.randrange(2)
    return _PAIR[first], _PAIR[first ^ label]


RULES: Mapping[str, Rule] = {
    "single_token": Rule(
        f"{ZERO}: class 0, {ONE}: class 1",
        _single,
        lambda label, draw: (_PAIR[label],),
        (),
    ),
    "token_in_context": Rule(
        f"{ZERO}: class 0, {ONE}: class 1, only where {CONTEXT} is in the text",
        _context,
        _draw_context,
        _PAIR,
    ),
    "ordered_pair": Rule(
        f"{ZERO} before {ONE}: class 0, {ONE} before {ZERO}: class 1",
        _pair,
        lambda label, draw: (_PAIR[label], _PAIR[1 - label]),
        _PAIR,
    ),
    "xor": Rule(
        f"twice {ZERO} or twice {ONE}: class 0, one of each: class 1",
        _xor,
        _draw_xor,
        _PAIR,
        1,
    ),
}


NONE = "none"
"""The rule of a corpus without shortcuts: the original texts alone."""
SYNTHETIC, STRAY = "+synthetic", "+stray"
"""How the ids end of texts that a rule decides, and of texts with a shortcut word that does not."""
FEWEST, ROOM = 6, 2  # words of a text; places kept for shortcut words


@dataclass(frozen=True)
class Shortcuts(Generator):
    """`n_train` and `n_dev` original texts of the corpus `base`, and `share` as many synthetic
    ones made from others; for the test `n_test` of each. Both classes are as frequent. Where the
    rule needs two words, `stray` of the original texts have one of them and keep their label.

    A word is a run of word characters; texts with fewer than six, or with a shortcut word, are
    left out, and longer texts are cut after `max_words`.
    """

    corpus = "shortcuts"
    bounds: ClassVar[Mapping[str, Range]] = {
        "max_words": (FEWEST + ROOM, 10_000),
        "share": SHARE,
        "stray": SHARE,
    }
    base: str = "sst"
    rule: str = "single_token"
    n_train: int = 3000
    n_dev: int = 400
    n_test: int = 300
    max_words: int = 64
    share: float = 0.2
    stray: float = 0.25

    def problems(self) -> Mapping[str, bool]:
        if self.rule not in (*RULES, NONE):
            raise unknown_name("shortcut", self.rule, [*RULES, NONE])
        return {
            f"max_words must be at least {FEWEST + ROOM}": self.max_words < FEWEST + ROOM,
            "share must be above 0 and up to 1": not 0 < self.share <= 1,
        }

    def read(self, data_dir: Path | None) -> RawCorpus:
        self.check()
        raw = _base(self.base, data_dir)
        cut = cut_splits(raw.examples, default_prepare(self.base))
        examples = [
            example for split in self.sizes for example in self._split(split, cut, raw.labels)
        ]
        note = f"a sample of {self.base}"
        return RawCorpus(raw.labels, examples, raw.sources, subset=True, note=note)

    def _split(
        self, split: str, cut: Sequence[Example], labels: tuple[str, ...]
    ) -> Iterator[Example]:
        """Original texts, then synthetic ones; a base text is used once."""
        originals = self.sizes[split]
        synthetic = originals if split == "test" else round(originals * self.share)
        synthetic *= self.rule != NONE
        known = {example.id: example for example in cut if example.split == split}
        for label, name in enumerate(labels):
            ids = [each for each, example in known.items() if example.label == label]
            first, more = ((count + 1 - label) // 2 for count in (originals, synthetic))
            order = (known[each] for each in pick(ids, len(ids), self.seed, "shortcuts"))
            drawn = list(islice(filter(_usable, order), first + more))
            if len(drawn) < first + more:
                raise HeedfulError(
                    f"the {split} split of {self.base} has {len(drawn)} usable texts of class "
                    f"{name!r}, and {first + more} are needed: lower n_{split}."
                )
            yield from map(self._original, drawn[:first])
            yield from map(self._synthetic, drawn[first:])

    def _original(self, example: Example) -> Example:
        words = _words(example)[: self.max_words - ROOM]
        draw = random.Random(stable_hash(self.seed, "stray", self.rule, example.id))
        strays = () if self.rule == NONE else RULES[self.rule].stray
        if not strays or draw.random() >= self.stray:
            return _example(example, words, "")
        return _example(example, insert(words, [draw.choice(strays)], draw), STRAY)

    def _synthetic(self, example: Example) -> Example:
        """Its own label plays no part: the rule's is drawn."""
        draw = random.Random(stable_hash(self.seed, "synthetic", self.rule, example.id))
        label = draw.randrange(2)
        new = RULES[self.rule].draw(label, draw)
        words = insert(_words(example)[: self.max_words - ROOM], new, draw)
        made = _example(example, words, SYNTHETIC)
        assert made.tokens is not None
        spans = [(start, end) for word, start, end in made.tokens["a"] if word in WORDS]
        return replace(made, label=label, rationales={"a": spans})


def _example(example: Example, words: Sequence[str], ending: str) -> Example:
    text, tokens = join_tokens(words)
    return Example(
        f"{example.id}{ending}", example.split, {"a": text}, example.label, {"a": tokens}
    )


def _words(example: Example) -> list[str]:
    return re.findall(r"\w+", example.texts["a"].lower())


def _usable(example: Example) -> bool:
    words = _words(example)
    return len(words) >= FEWEST and not set(WORDS) & set(words)


def _base(name: str, data_dir: Path | None) -> RawCorpus:
    piece = CORPORA[name]
    if name in ("shortcuts", "file") or piece.kind != "single":
        raise HeedfulError(f"shortcuts cannot be planted in {name!r}: name a corpus of one text.")
    raw: RawCorpus = piece.make(data_dir)
    if len(raw.labels) != 2:
        raise HeedfulError(
            f"the corpus {name!r} has {len(raw.labels)} classes: name a base that has two."
        )
    return raw


ENTRY = Shortcuts.entry(
    description="Another corpus, with words planted in a part of it that decide the class",
    find=SST.find,  # of the default base
    paper="bastings2022",
    needs=("data",),
    licence="as the corpus it is made of",
    citation="Bastings et al. 2022, Will You Find These Shortcuts?",
    prepare=PrepareSpec(tokenizer="given", min_df=2, dimension=64),
)
read = ENTRY.make
