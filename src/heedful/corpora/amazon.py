"""Amazon reviews with one to five stars: bring the files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import SHARE, Piece
from heedful.corpora import rated
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher

CORPUS = rated.Rated(
    "amazon",
    "amazon_review_full_csv",
    ("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
    Publisher(
        "the Amazon review files (amazon_review_full_csv)", "https://course.fast.ai/datasets"
    ),
)


def read(data_dir: Path | None, sample: float = 1.0, seed: int = 0) -> RawCorpus:
    """`sample` of the rows: see `rated`."""
    return rated.read_rated(data_dir, CORPUS, sample, seed)


DEFAULTS = rated.DEFAULTS

PIECE = Piece(
    name="amazon",
    description="Amazon reviews, title and body, one to five stars",
    make=read,
    bounds={"sample": SHARE},
    find=partial(rated.find_rated, corpus=CORPUS),
    paper="serrano2019",
    needs=("data",),
    licence="research use",
    citation="Zhang et al. 2015, Character-level Convolutional Networks for Text Classification",
)
