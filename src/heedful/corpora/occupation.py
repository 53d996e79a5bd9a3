"""Biographies of physicians and surgeons (pruthi2020): gender goes with the occupation."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import pruthi_files
from heedful.corpora.example import RawCorpus

TASK = "occupation_classification"
LABELS = {"0": "physician", "1": "surgeon"}


def read(data_dir: Path | None) -> RawCorpus:
    """Pronouns and titles are impermissible, as the files mark them."""
    return pruthi_files.read_task(data_dir, TASK, LABELS, pruthi_files.by_string)


DEFAULTS = pruthi_files.DEFAULTS

PIECE = Piece(
    name="occupation",
    description="Biographies of physicians and surgeons; words of gender are impermissible",
    make=read,
    find=partial(pruthi_files.find_task, task=TASK),
    paper="pruthi2020",
    needs=("data",),
    licence=pruthi_files.LICENCE,
    citation=pruthi_files.CITATION,
)
