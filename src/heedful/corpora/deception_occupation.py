"""The deception corpus with its other task, under a name of its own: studies name corpora."""

from __future__ import annotations

from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora import deception
from heedful.corpora.example import RawCorpus


def read(
    data_dir: Path | None = None,
    n_train: int = 1500,
    n_dev: int = 300,
    n_test: int = 500,
    agreement: float = 0.9,
    clue: float = 0.75,
    seed: int = 0,
) -> RawCorpus:
    """See `deception.read`."""
    return deception.read(
        data_dir, n_train, n_dev, n_test, "occupation", agreement=agreement, clue=clue, seed=seed
    )


DEFAULTS = deception.DEFAULTS

PIECE = Piece(
    name="deception_occupation",
    description="Generated biographies; gender words, not to be seen on, go with the trade",
    make=read,
    paper="pruthi2020",
    licence="part of Heedful",
)
