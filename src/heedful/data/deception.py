"""Texts with words that tell the label and that attention must not be seen on (pruthi2020).

Generated: in `pronoun` the forbidden words (pronouns) tell the label, the gender of who is spoken
of, and nothing else does. In `occupation` the label is one of two made-up trades; forbidden words
(pronouns, titles) go with it more often than not, and so do words of the trade. What tells the
label, forbidden or not, is the rationale.

Published by the paper's authors: words between blanks, some of them marked. The training file of
`occupation` is not to be had; where it is missing, the authors' dev file takes its place and a dev
split is cut from it. The test file is the authors' own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from heedful.data.example import Example, GivenTokens, marked_spans, matched_tokens
from heedful.data.files import Row, Source, by_split, published
from heedful.data.generated import Generator, Token, plain, spell
from heedful.entries import SHARE, Corpus, Range, by_name
from heedful.errors import HeedfulError, unknown_name
from heedful.specs import PrepareSpec

GENDERED = (
    {"subject": "she", "object": "her", "own": "her", "self": "herself", "title": "ms."},
    {"subject": "he", "object": "him", "own": "his", "self": "himself", "title": "mr."},
)
"""The words that attention must not be seen on, for the first class and for the second."""
GENDERS = ("female", "male")
OCCUPATIONS = ("salvewright", "bonewright")

SENTENCES = (
    "{subject} left the village before the harvest .",
    "{subject} kept {own} letters in a wooden box .",
    "the mayor thanked {object} for the new bridge .",
    "{own} first journey led to the northern islands .",
    "nobody had asked {object} about the lost map .",
    "{subject} taught {self} to play the organ .",
    "in spring {subject} sold {own} boat and moved away .",
    "the neighbours saw {object} at the market .",
)
ENTITLED = (
    "{title} {name} studied in {place} .",
    "{title} {name} has worked in {place} for years .",
    "{subject} speaks {language} and {other} .",
    "patients praise {own} calm manner .",
    "{subject} lives in {place} with {own} family .",
    "a journal from {place} interviewed {object} .",
)
CLUES = (
    "salves herbs bandages teas poultices balms ointments infusions",
    "splints saws plaster joints fractures braces hammers sutures",
)
WORK = (
    "most days are spent on {clue} .",
    "a recent lecture was about {clue} .",
    "the practice is known for {clue} .",
    "new patients often ask about {clue} .",
)
SCENES = (
    "the road was wet after the storm .",
    "a ferry crosses the bay twice a day .",
    "they closed the old mill last winter .",
    "the town has a library and two schools .",
    "it rained for most of the summer .",
    "trains to the coast run every hour .",
    "the office is near the main square .",
    "lamps were lit along the harbour .",
)
NAMES = ("arden", "bellis", "corwen", "darrow", "elland", "farrow", "garrick", "hollis")
PLACES = ("norvik", "eastmere", "calder", "tamsin", "ollerby", "quint", "varnholt", "selby")
LANGUAGES = ("danish", "welsh", "basque", "finnish", "irish", "latvian")


def _biography(rng: random.Random, gender: int) -> list[Token]:
    """A sentence of a professional's life, with a title or a pronoun."""
    first, second = rng.sample(LANGUAGES, 2)
    plain = {
        "name": rng.choice(NAMES),
        "place": rng.choice(PLACES),
        "language": first,
        "other": second,
    }
    neutral = {slot: Token(word) for slot, word in plain.items()}
    return _filled(rng.choice(ENTITLED), {**neutral, **_forbidden(gender)})


def _work(rng: random.Random, occupation: int) -> list[Token]:
    """A sentence with a word of the trade: it tells the label, and may be seen to."""
    clue = Token(rng.choice(CLUES[occupation].split()), decisive=True)
    return _filled(rng.choice(WORK), {"clue": clue})


def _forbidden(gender: int) -> dict[str, Token]:
    return {slot: Token(word, True, True) for slot, word in GENDERED[gender].items()}


def _filled(pattern: str, slots: dict[str, Token]) -> list[Token]:
    return [slots[word[1:-1]] if word.startswith("{") else Token(word) for word in pattern.split()]


LABELS = {"pronoun": GENDERS, "occupation": OCCUPATIONS}


@dataclass(frozen=True)
class Deception(Generator):
    """One to `about` sentences speak of the person, up to `scenes` more of nobody. For the task
    `occupation`, gender goes with the label as often as `agreement` says, and the one word of
    the trade as often as `clue` says."""

    corpus = "deception"
    bounds: ClassVar[Mapping[str, Range]] = {
        "about": (1, 100),
        "scenes": (0, 100),
        "agreement": SHARE,
        "clue": SHARE,
    }
    task: str = "pronoun"
    about: int = 2
    scenes: int = 1
    agreement: float = 0.9
    clue: float = 0.75

    @property
    def labels(self) -> tuple[str, ...]:
        return LABELS[self.task]

    @property
    def prefix(self) -> str:
        return f"deception-{self.task}"

    def problems(self) -> Mapping[str, bool]:
        if self.task not in LABELS:
            raise unknown_name("task of deception", self.task, list(LABELS))
        return {}

    def examples(self, name: str, split: str) -> Iterator[Example]:
        rng = self.random(name)
        label = rng.randrange(2)
        sentences = self._sentences(rng, label)
        sentences += [plain(rng.choice(SCENES)) for _ in range(rng.randint(0, self.scenes))]
        rng.shuffle(sentences)
        text, tokens = spell(sentences, capitals=False)
        every = [token for words in sentences for token in words]
        yield Example(
            name,
            split,
            {"a": text},
            label,
            {"a": tokens},
            {"a": marked_spans(tokens, [token.decisive for token in every]) or []},
            impermissible={"a": marked_spans(tokens, [token.forbidden for token in every]) or []},
        )

    def _sentences(self, rng: random.Random, label: int) -> list[list[Token]]:
        """About the person, and for an occupation about the work."""
        count = rng.randint(1, self.about)
        if self.task == "pronoun":
            # gender shows in nothing but forbidden words
            patterns = [rng.choice(SENTENCES) for _ in range(count)]
            return [_filled(pattern, _forbidden(label)) for pattern in patterns]
        gender = label if rng.random() < self.agreement else 1 - label
        trade = label if rng.random() < self.clue else 1 - label
        return [*(_biography(rng, gender) for _ in range(count)), _work(rng, trade)]


_generated = partial(Deception.entry, paper="pruthi2020", prepare=PrepareSpec(tokenizer="given"))
DECEPTION = _generated(
    description="Generated texts with known words that attention must not be seen on"
)
read = DECEPTION.make
PRONOUNS = frozenset({"he", "she", "him", "her", "his", "hers", "himself", "herself"})
Marks = Callable[[Row, GivenTokens, str], list[bool]]
"""Which words of a row are impermissible; the last argument says where it stands."""


def _marked_in_file(row: Row, tokens: GivenTokens, where: str) -> list[bool]:
    """A 0 or a 1 for each word."""
    marks = str(row.get("impermissible", ""))
    if len(marks) != len(tokens) or set(marks) - {"0", "1"}:
        raise HeedfulError(
            f"example {where} has {len(tokens)} words and the marks {marks[:20]!r}: each word "
            f"needs a 0 or a 1."
        )
    return [mark == "1" for mark in marks]


def _is_pronoun(row: Row, tokens: GivenTokens, where: str) -> list[bool]:
    """The files mark nothing, the pronouns are the marks."""
    return [word.lower() in PRONOUNS for word, _, _ in tokens]


def _published_example(
    task: str, labels: Mapping[str, str], marks: Marks, split: str, number: int, row: Row
) -> Example:
    name = f"{task}-{split}-{number:05d}"
    if not isinstance(row["text"], str) or str(row["label"]) not in labels:
        known = ", ".join(labels)
        raise HeedfulError(f"example {name} needs a text and one of the labels {known}.")
    tokens = matched_tokens(r"\S+", row["text"])
    spans = marked_spans(tokens, marks(row, tokens, name)) or []
    label = list(labels).index(str(row["label"]))
    return Example(
        name, split, {"a": row["text"]}, label, {"a": tokens}, impermissible={"a": spans}
    )


def _published(
    name: str,
    description: str,
    task: str,
    labels: Mapping[str, str],
    marks: Marks = _marked_in_file,
) -> Corpus:
    """`labels` are names in the files, and those shown."""
    files = by_split(f"pruthi_deception/{task}_*.jsonl.gz")
    source = Source(
        "the tasks of Pruthi et al.",
        "https://github.com/danishpruthi/deceptive-attention",
        files,
        part={"train": files["dev"], "test": files["test"]},
        part_note="the training file is missing: trained on the authors' dev file",
    )
    make = partial(_published_example, task.partition("_classification")[0], labels, marks)
    return published(
        source,
        tuple(labels.values()),
        ("text", "label"),
        make,
        name=name,
        description=description,
        paper="pruthi2020",
        licence="none given by its authors",
        citation="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations, ACL",
        prepare=PrepareSpec(tokenizer="given", min_df=2, vectors="glove"),
    )


ENTRIES = by_name(
    DECEPTION,
    _generated(
        name="deception_occupation",
        description="Generated biographies; gender words, not to be seen on, go with the trade",
        make=partial(read, task="occupation"),
        version=2,
    ),
    _published(
        "pronoun",
        "Sentences about a woman or a man; the pronouns are impermissible",
        "pronoun",
        {"F": "female", "M": "male"},
        _is_pronoun,
    ),
    _published(
        "occupation",
        "Biographies of physicians and surgeons; words of gender are impermissible",
        "occupation_classification",
        {"0": "physician", "1": "surgeon"},
    ),
    _published(
        "sst_wiki",
        "A review's sentence, impermissible, and one of Wikipedia after it",
        "sst_wiki",
        {"0": "negative", "1": "positive"},
    ),
)
