"""Needles: does an explanation find the one sentence of a long prompt that decides the answer?

A prompt has 20 sentences. One of them, the needle, says how a sentence ends that the model is then
given the beginning of. Here are the prompts, what makes one count, and the table of the page;
`needles_run.py` asks the model and scores explanations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.auditing import EXPLANATIONS
from heedful.errors import HeedfulError, unknown_name
from heedful.hashing import stable_hash
from heedful.metrics import bootstrap_means
from heedful.store import FileKind, begins, markdown_table
from heedful.units import SENTENCE, UNITS, WORD

SENTENCES = 20
FALL = 0.5
"""The share of the answer's probability that is lost without the needle, at least; without any
other sentence it is less."""
_CHANGED = {
    "integrated_gradients": "integrated_gradients:max_steps=8",
    **dict.fromkeys(("smoothgrad", "attnlrp", "decompx"), ""),
}
USUAL = (
    *(name for each in EXPLANATIONS if (name := _CHANGED.get(each, each))),
    *("leave_one_out", "contextcite", "random"),
)
"""Those of an audit and three more, with fewer gradients: a prompt of a language model is long."""
EACH_UNIT = ("occlusion", "leave_one_out")
"""Explanations that run the model once for each unit: left out by words, of which a prompt has more
than a hundred, unless they are named."""
PROMPT = ["model", "kind", "seed", "number"]
COLUMNS = (
    *PROMPT,
    *("verified", "reason", "answer", "probability", "without", "others"),
    *("unit", "explanation", "units", "first", "rank", "setting"),
)
"""Of the rows: one for each prompt, unit and explanation, and one for a prompt that does not count.
`without` is the answer's probability without the needle, `others` the lowest without another
sentence; `first` is 1 where the top unit is of the needle, `rank` that of its best unit."""
ROWS = FileKind("rows of `heedful benchmark --part needles`", begins(",".join(COLUMNS)))
TEXT_COLUMNS = ("model", "kind", "reason", "answer", "unit", "explanation", "setting")


@dataclass(frozen=True)
class Kind:
    """A sentence with two gaps: what it is about, and the answer."""

    beginning: str
    subjects: tuple[str, ...]
    answers: tuple[str, ...]

    def asked(self, subject: str) -> str:
        return self.beginning.format(subject)

    def sentence(self, subject: str, answer: str) -> str:
        return f"{self.asked(subject)} {answer}."


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_PLACES = _words("library museum school bakery station theatre church garage hotel pharmacy")
NEEDLE_KINDS: Mapping[str, Kind] = {
    "door": Kind(
        "The door of the {} is", _PLACES, _words("blue green red white black yellow brown pink")
    ),
    "train": Kind(
        "The train from {} goes to",
        _words("Oslo Bern Porto Riga Turin Graz Lyon Ghent Malmo Krakow"),
        _words("London Paris Berlin Rome Madrid Vienna Prague Dublin"),
    ),
    "box": Kind(
        "The box in the {} is full of",
        _words("attic cellar kitchen hall barn shed office pantry bedroom tower"),
        _words("gold sand paper water books glass milk salt"),
    ),
    "meeting": Kind(
        "The meeting in the {} is on",
        _PLACES,
        _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    ),
}
_NAMES = _words(
    "Anna Boris Carla David Elena Felix Grace Henry Irene Jacob Karen Leo Maria Nick Olga Peter "
    "Rosa Simon Tina Victor Wanda Yusuf"
)
_DEEDS = (
    "fed the cats", "wrote a letter", "washed the car", "called a friend", "read a novel",
    "baked some bread", "swept the floor", "watched the rain", "fixed a lamp", "sang a song",
    "bought some apples", "planted a tree", "drew a map", "took a nap", "made some tea",
    "lost a glove", "rode a horse", "cut the grass", "cooked a soup", "walked the dog",
)  # fmt: skip


@dataclass(frozen=True)
class Prompt:
    """`sentences[needle]` decides how `question` goes on; the others are about something else."""

    kind: str
    seed: int
    number: int
    sentences: tuple[str, ...]
    needle: int
    question: str
    answer: str

    @property
    def row(self) -> dict[str, Any]:
        """As `open_target` reads it: the needle is the rationale."""
        text = " ".join(self.sentences)
        start = len(" ".join([*self.sentences[: self.needle], ""]))
        end = start + len(self.sentences[self.needle])
        name = f"{self.kind} {self.seed}.{self.number}"
        return {"id": name, "text": text, "question": self.question, "rationale": [[start, end]]}


def prompt(kind: str, seed: int, number: int) -> Prompt:
    """Drawn by hashes, so that each is the same however many are asked for."""
    form = NEEDLE_KINDS[kind]

    def drawn(what: str, items: Sequence[Any]) -> list[Any]:
        order = {item: stable_hash("needles", seed, kind, number, what, item) for item in items}
        return sorted(items, key=lambda item: order[item])

    subject, answer = drawn("subject", form.subjects)[0], drawn("answer", form.answers)[0]
    names, deeds = drawn("name", _NAMES), drawn("deed", _DEEDS)
    fillers = [f"{name} {deed}." for name, deed in zip(names, deeds, strict=False)]
    needle = drawn("place", range(SENTENCES))[0]
    sentences = fillers[: SENTENCES - 1]
    sentences.insert(needle, form.sentence(subject, answer))
    return Prompt(kind, seed, number, tuple(sentences), needle, form.asked(subject), answer)


@dataclass(frozen=True)
class Checked:
    """What removal says of a prompt: the answer that the model gives, its probability, and by
    sentence the same without it, with whether the answer is another one then."""

    answer: str
    probability: float
    without: tuple[float, ...]
    changed: tuple[bool, ...]

    def reasons(self, prompt: Prompt) -> tuple[str, ...]:
        """Why the prompt does not count; nothing where it does."""
        others = [place for place in range(len(self.without)) if place != prompt.needle]
        fall = 1 - self.without[prompt.needle] / self.probability
        steady = self.lowest(prompt) > (1 - FALL) * self.probability
        found = {
            f"the model answers {self.answer!r}": self.answer == prompt.answer,
            f"without the needle the probability falls by {fall:.0%}": fall >= FALL,
            "without the needle the answer is the same": self.changed[prompt.needle],
            "another sentence matters as well": steady,
            "without another sentence the answer is another": not any(
                self.changed[place] for place in others
            ),
        }
        return tuple(reason for reason, right in found.items() if not right)

    def lowest(self, prompt: Prompt) -> float:
        """The lowest probability without a sentence that is not the needle."""
        return min(p for place, p in enumerate(self.without) if place != prompt.needle)


@dataclass(frozen=True)
class NeedlePlan:
    """`model` is the folder of a causal language model; `prompts` are drawn of each kind and
    seed. Explanations left out are the usual ones, `USUAL`."""

    model: Path
    kinds: tuple[str, ...] = tuple(NEEDLE_KINDS)
    units: tuple[str, ...] = (SENTENCE, WORD)
    seeds: tuple[int, ...] = (0,)
    prompts: int = 5
    explanations: tuple[str, ...] = ()
    dtype: str = "float32"

    def __post_init__(self) -> None:
        named = {"kind": (self.kinds, NEEDLE_KINDS), "unit": (self.units, UNITS)}
        for what, (given, known) in named.items():
            for name in given:
                if name not in known:
                    raise unknown_name(what, name, list(known))
        if not all((self.kinds, self.units, self.seeds)) or self.prompts < 1:
            raise HeedfulError("give at least one kind, unit, seed and prompt each.")
        if not self.model.is_dir():
            raise HeedfulError(
                f"there is no folder {self.model}: name that of a causal language model (--model)."
            )

    def drawn(self) -> list[Prompt]:
        """In the order they are run: a first prompt of each kind, then a second."""
        return [
            prompt(kind, seed, number)
            for seed in self.seeds
            for number in range(self.prompts)
            for kind in self.kinds
        ]

    def explained(self, unit: str) -> tuple[str, ...]:
        """The explanations by this unit."""
        if self.explanations:
            return self.explanations
        short = unit == SENTENCE
        return tuple(name for name in USUAL if short or name.partition(":")[0] not in EACH_UNIT)


def read_needles(path: Path) -> pd.DataFrame:
    """Rows as `run_needles` gave them, from a CSV file."""
    rows = pd.read_csv(path, dtype=dict.fromkeys(TEXT_COLUMNS, "str"))
    missing = [name for name in COLUMNS if name not in rows]
    if missing:
        raise HeedfulError(f"{path} has no column {missing[0]!r}: make it again.")
    return rows.fillna(dict.fromkeys(TEXT_COLUMNS, ""))


# The table of the rows, as Markdown.


def needles_markdown(rows: pd.DataFrame) -> str:
    """How many prompts count, why others do not, and explanations × units, the best first."""
    lines = list[str]()
    for model, part in rows.groupby("model", sort=False):
        prompts, counted = part.drop_duplicates(PROMPT), part[part["verified"]]
        right = int(prompts["verified"].sum())
        lines += [
            f"**{model}**: {right} of {len(prompts)} prompts count. In brackets: 95% intervals "
            "(bootstrap over prompts).",
            "",
        ]
        if len(counted):
            lines += [_table(counted), ""]
        if right < len(prompts):
            why = prompts.loc[~prompts["verified"], "reason"].str.split("; ").str[0]
            told = why.str.replace(r" '.*'| by .*", " …", regex=True).value_counts()
            reasons = ", ".join(f"{reason} ({count})" for reason, count in told.items())
            lines += [f"Not counted: {reasons}.", ""]
    return "\n".join(lines)


def _table(counted: pd.DataFrame) -> str:
    units = list(dict.fromkeys(counted["unit"]))
    order = counted.groupby("explanation")["first"].mean().sort_values(ascending=False)
    heads = [f"{name}, by {unit}" for unit in units for name in ("first", "rank")]
    lines = []
    for name in order.index:
        own = counted[counted["explanation"] == name]
        cells = [_cells(own[own["unit"] == unit]) for unit in units]
        lines.append([f"`{name}`", *(cell for pair in cells for cell in pair)])
    return markdown_table(["explanation", *heads], lines)


def _cells(part: pd.DataFrame) -> tuple[str, str]:
    if part.empty:
        return "–", "–"
    values = part[["first", "rank"]].to_numpy(dtype=np.float64)
    low, high = bootstrap_means(values, 0)
    means = values.mean(0)
    first, rank = (
        f"{means[i]:.{digits}f} [{low[i]:.{digits}f}, {high[i]:.{digits}f}]"
        for i, digits in enumerate((2, 1))
    )
    return first, rank
