"""GloVe and fastText text files: a word and its numbers on each line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.errors import HeedfulError
from heedful.input_files import read_lines
from heedful.specs import LARGEST_DIMENSION

Found = tuple[dict[str, NDArray[np.float32]], int]


def read_text_vectors(path: Path, wanted: set[str]) -> Found:
    """The vectors of the wanted words and their dimension; a repeated word keeps its first."""
    found: dict[str, NDArray[np.float32]] = {}
    dimension = words = 0
    for number, line in enumerate(read_lines(path, "\n"), 1):
        parts = line.rstrip().split(" ")
        if number == 1 and _is_header(parts):
            dimension = _dimension(parts[1], path)
            continue
        dimension = dimension or _dimension(str(len(parts) - 1), path)
        if dimension < 1 or len(parts) <= dimension:
            raise _malformed(path, number, dimension)
        word = " ".join(parts[:-dimension])  # some GloVe words have spaces inside
        if not words:  # a file of something else is noticed whatever words are wanted
            _numbers(path, number, parts[-dimension:])
        words += 1
        if word in wanted and word not in found:
            found[word] = _numbers(path, number, parts[-dimension:])
    if not words:
        raise HeedfulError(f"{path} holds no word vectors: give a GloVe or fastText file.")
    return found, dimension


def _dimension(said: str, path: Path) -> int:
    """A number that memory is about to be taken for."""
    if len(said) > 9 or int(said) > LARGEST_DIMENSION:
        raise HeedfulError(
            f"{path} says that a vector has {said[:20]} numbers: give a file of at most "
            f"{LARGEST_DIMENSION:,} numbers a word."
        )
    return int(said)


def _is_header(parts: list[str]) -> bool:
    """fastText's first line: the number of words and the dimension."""
    return len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)


def _numbers(path: Path, number: int, fields: list[str]) -> NDArray[np.float32]:
    try:
        vector = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError as error:
        raise _malformed(path, number, len(fields)) from error
    if not np.isfinite(vector).all():
        raise _malformed(path, number, len(fields))
    return vector


def _malformed(path: Path, number: int, dimension: int) -> HeedfulError:
    return HeedfulError(
        f"line {number} of {path} is malformed: give a word and {max(1, dimension)} numbers."
    )
