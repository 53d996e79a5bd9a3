"""IMDB reviews with ratings from 1 to 10: bring the files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from heedful.catalogue import SHARE, Piece
from heedful.corpora import rated
from heedful.corpora.example import RawCorpus
from heedful.corpora.files import Publisher

CORPUS = rated.Rated(
    "imdb10",
    "imdb10",
    tuple(str(rating) for rating in range(1, 11)),
    Publisher("the IMDB reviews of Diao et al. 2014, as CSV", "https://github.com/nihalb/JMARS"),
)


def read(data_dir: Path | None, sample: float = 1.0, seed: int = 0) -> RawCorpus:
    """`sample` of the rows: see `rated`."""
    return rated.read_rated(data_dir, CORPUS, sample, seed)


DEFAULTS = rated.DEFAULTS

PIECE = Piece(
    name="imdb10",
    description="Whole movie reviews, rated 1 to 10",
    make=read,
    bounds={"sample": SHARE},
    find=partial(rated.find_rated, corpus=CORPUS),
    paper="serrano2019",
    needs=("data",),
    licence="research use; no formal licence known",
    citation="Diao et al. 2014, Jointly Modeling Aspects, Ratings and Sentiments",
)
