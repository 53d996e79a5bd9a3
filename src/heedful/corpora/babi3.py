"""bAbI's task 3: three supporting facts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import babi_files
from heedful.corpora.example import RawCorpus


def read(data_dir: Path | None) -> RawCorpus:
    return babi_files.read_task(data_dir, 3)


DEFAULTS = babi_files.DEFAULTS

PIECE = Piece(
    name="babi3",
    description="Stories and a question, three supporting facts: Where was a thing before?",
    make=read,
    find=partial(babi_files.find_task, task=3),
    version=2,
    paper="jain2019",
    needs=("data",),
    kind="pair",
    licence=babi_files.LICENCE,
    citation=babi_files.CITATION,
)
