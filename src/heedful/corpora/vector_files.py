"""GloVe and fastText text files: a word and its numbers on each line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.errors import HeedfulError

Found = tuple[dict[str, NDArray[np.float32]], int]


def read_text_vectors(path: Path, wanted: set[str]) -> Found:
    """The vectors of the wanted words and their dimension; a repeated word keeps its first."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as raw, io.TextIOWrapper(raw, "utf8", newline="\n") as lines:
            return _read(path, lines, wanted)
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{path} is not UTF-8 text: save it in that encoding.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise HeedfulError(f"{path} cannot be read ({error}): give another file.") from error


def _read(path: Path, lines: Iterable[str], wanted: set[str]) -> Found:
    found: dict[str, NDArray[np.float32]] = {}
    dimension = 0
    for number, line in enumerate(lines, 1):
        parts = line.rstrip().split(" ")
        if number == 1 and _is_header(parts):
            dimension = int(parts[1])
            continue
        dimension = dimension or len(parts) - 1
        if dimension < 1 or len(parts) <= dimension:
            raise _malformed(path, number, dimension)
        word = " ".join(parts[:-dimension])  # some GloVe words have spaces inside
        if number == 1:  # a file of something else is noticed whatever words are wanted
            _numbers(path, number, parts[-dimension:])
        if word in wanted and word not in found:
            found[word] = _numbers(path, number, parts[-dimension:])
    if not dimension:
        raise HeedfulError(f"{path} holds no word vectors: give a GloVe or fastText file.")
    return found, dimension


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
