"""Sentences of film reviews, each followed by one that has nothing to do with it (pruthi2020)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import pruthi_files
from heedful.corpora.example import RawCorpus

TASK = "sst_wiki"
LABELS = {"0": "negative", "1": "positive"}


def read(data_dir: Path | None) -> RawCorpus:
    """The label is the review's; all of its words are impermissible, as the files mark them."""
    return pruthi_files.read_task(data_dir, TASK, LABELS, pruthi_files.by_string)


DEFAULTS = pruthi_files.DEFAULTS

PIECE = Piece(
    name="sst_wiki",
    description="A review's sentence, impermissible, and one of Wikipedia after it",
    make=read,
    find=partial(pruthi_files.find_task, task=TASK),
    paper="pruthi2020",
    needs=("data",),
    licence=pruthi_files.LICENCE,
    citation=pruthi_files.CITATION,
)
