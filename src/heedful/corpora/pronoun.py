"""The gender of who a sentence is about (pruthi2020): pronouns tell it, and may not be seen to."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import pruthi_files
from heedful.corpora.example import GivenTokens, RawCorpus
from heedful.corpora.files import Row

TASK = "pronoun"
PRONOUNS = frozenset({"he", "she", "him", "her", "his", "hers", "himself", "herself"})
LABELS = {"F": "female", "M": "male"}


def read(data_dir: Path | None) -> RawCorpus:
    """Sentences of Wikipedia; the files mark nothing, the pronouns are the marks."""
    return pruthi_files.read_task(data_dir, TASK, LABELS, _by_word)


def _by_word(row: Row, tokens: GivenTokens, where: str) -> list[bool]:
    return [word.lower() in PRONOUNS for word, _, _ in tokens]


DEFAULTS = pruthi_files.DEFAULTS

PIECE = Piece(
    name="pronoun",
    description="Sentences about a woman or a man; the pronouns are impermissible",
    make=read,
    find=partial(pruthi_files.find_task, task=TASK),
    paper="pruthi2020",
    needs=("data",),
    licence=pruthi_files.LICENCE,
    citation=pruthi_files.CITATION,
)
