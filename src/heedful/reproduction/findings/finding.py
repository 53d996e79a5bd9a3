"""What a finding is: a question, how it is told and drawn, and the rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heedful.report import Picture
from heedful.reproduction.findings.evidence import Evidence

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
class Told:
    """Sentences, a picture with words for those who do not see it, and what backs them."""

    sentences: tuple[str, ...]
    picture: Picture
    backing: tuple[Backing, ...]


@dataclass(frozen=True)
class Finding:
    """`tell` gives nothing where rows are missing; then `commands` are named, which make them.
    `limits` is what the section does not show."""

    name: str
    title: str
    question: str
    limits: str
    commands: tuple[str, ...]
    tell: Callable[[Evidence], Told | None]


def backed(file: str, **where: str | tuple[str, ...]) -> Backing:
    pairs = [(name, (given,) if isinstance(given, str) else given) for name, given in where.items()]
    return Backing(file, tuple(pairs))
