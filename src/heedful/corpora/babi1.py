"""bAbI's task 1: one supporting fact."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import babi_files
from heedful.corpora.example import RawCorpus


def read(data_dir: Path | None) -> RawCorpus:
    return babi_files.read_task(data_dir, 1)


DEFAULTS = babi_files.DEFAULTS

PIECE = Piece(
    name="babi1",
    description="Stories and a question, one supporting fact: Where is a person?",
    make=read,
    find=partial(babi_files.find_task, task=1),
    version=2,
    paper="jain2019",
    needs=("data",),
    kind="pair",
    licence=babi_files.LICENCE,
    citation=babi_files.CITATION,
)
