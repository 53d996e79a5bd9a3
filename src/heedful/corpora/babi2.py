"""bAbI's task 2: two supporting facts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import babi_files
from heedful.corpora.example import RawCorpus


def read(data_dir: Path | None) -> RawCorpus:
    return babi_files.read_task(data_dir, 2)


DEFAULTS = babi_files.DEFAULTS

PIECE = Piece(
    name="babi2",
    description="Stories and a question, two supporting facts: Where is a thing?",
    make=read,
    find=partial(babi_files.find_task, task=2),
    version=2,
    paper="jain2019",
    needs=("data",),
    kind="pair",
    licence=babi_files.LICENCE,
    citation=babi_files.CITATION,
)
