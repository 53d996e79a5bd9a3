"""The toy task `reverse` under a name of its own: studies name corpora."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import toytranslation
from heedful.corpora.example import RawCorpus


def read(
    data_dir: Path | None = None,
    n_train: int = 4000,
    n_dev: int = 300,
    n_test: int = 500,
    words: int = 100,
    min_length: int = 3,
    max_length: int = 12,
    seed: int = 0,
) -> RawCorpus:
    """See `toytranslation.read`."""
    return toytranslation.read(
        data_dir, n_train, n_dev, n_test, "reverse", words, min_length, max_length, seed
    )


DEFAULTS = toytranslation.DEFAULTS

PIECE = Piece(
    name="toy_reverse",
    description="Made-up words, the words from the last to the first",
    make=read,
    paper="pruthi2020",
    kind="generation",
    licence="part of Heedful",
)
