"""Yahoo Answers, ten topics: bring the files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import SHARE, Piece
from heedful.corpora import rated
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher

CORPUS = rated.Rated(
    "yahoo",
    "yahoo_answers_csv",
    (
        "Society & Culture",
        "Science & Mathematics",
        "Health",
        "Education & Reference",
        "Computers & Internet",
        "Sports",
        "Business & Finance",
        "Entertainment & Music",
        "Family & Relationships",
        "Politics & Government",
    ),
    Publisher("the Yahoo Answers files (yahoo_answers_csv)", "https://course.fast.ai/datasets"),
)


def read(data_dir: Path | None, sample: float = 1.0, seed: int = 0) -> RawCorpus:
    """`sample` of the rows: see `rated`."""
    return rated.read_rated(data_dir, CORPUS, sample, seed)


DEFAULTS = rated.DEFAULTS

PIECE = Piece(
    name="yahoo",
    description="Questions with their best answers, ten topics",
    make=read,
    bounds={"sample": SHARE},
    find=partial(rated.find_rated, corpus=CORPUS),
    paper="serrano2019",
    needs=("data",),
    licence="Yahoo Webscope terms; research use",
    citation="Zhang et al. 2015, Character-level Convolutional Networks for Text Classification",
)
