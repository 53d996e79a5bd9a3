"""Word vectors for a vocabulary: from a file, and random ones for the words it lacks."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.corpora.sources import MissingData, Publisher, find_files
from heedful.corpora.vector_files import read_text_vectors
from heedful.corpora.vocabulary import SPECIALS, Vocabulary
from heedful.errors import HeedfulError
from heedful.input_files import Unpacking
from heedful.randomness import example_keys, keyed_normal
from heedful.specs import END, PAD, START, PrepareSpec

GLOVE = "glove/glove6b_100d_subset.npz"
PUBLISHER = Publisher("the GloVe vectors", "https://nlp.stanford.edu/projects/glove")

_UNREADABLE = (OSError, ValueError, KeyError, EOFError, TypeError, MemoryError, zlib.error)


@dataclass(frozen=True)
class WordVectors:
    """One row per word; `known` marks the words that a file had a vector for."""

    matrix: NDArray[np.float32]
    known: NDArray[np.bool_]

    def coverage(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """The share of words, and of training tokens (`counts` by word id), with a vector
        from the file; unknown words count as tokens without one."""
        real = np.arange(len(self.known)) >= len(SPECIALS)
        tokens = counts.copy()
        tokens[[PAD, START, END]] = 0
        return {
            "types": float(self.known[real].mean()) if real.any() else 0.0,
            "tokens": float(tokens[self.known].sum() / max(1, tokens.sum())),
        }


def vectors_file(name: str, data_dir: Path | None) -> dict[str, Path]:
    """The file the vectors come from, by a name that is the same on every machine."""
    if name == "random":
        return {}
    if name == "glove":
        return find_files(data_dir, [GLOVE], PUBLISHER)
    path = Path(name).expanduser()
    if not path.is_file():
        raise MissingData(
            f"there is no vectors file {path}: give a GloVe or fastText text file, `glove` "
            f"or `random`."
        )
    return {f"vectors/{path.name}": path}


def word_vectors(vocabulary: Vocabulary, spec: PrepareSpec, path: Path | None) -> WordVectors:
    """Missing words are drawn from N(0, 1), as jain2019's paper says, keyed by the word itself
    so that a vocabulary's order or size never changes them. Padding is zero."""
    wanted = set(vocabulary.words[len(SPECIALS) :])
    found: dict[str, NDArray[np.float32]] = {}
    dimension = spec.dimension
    if path is not None:
        read = read_npz if path.suffix == ".npz" else read_text_vectors
        found, dimension = read(path, wanted)
    keys = example_keys(spec.seed, vocabulary.words, "word vector")
    matrix = keyed_normal(keys, (dimension,)).numpy().astype(np.float32)
    known = np.zeros(len(vocabulary), dtype=bool)
    for i, word in enumerate(vocabulary.words):
        if word in found:
            matrix[i] = found[word]
            known[i] = True
    matrix[PAD] = 0
    return WordVectors(matrix, known)


def read_npz(path: Path, wanted: set[str]) -> tuple[dict[str, NDArray[np.float32]], int]:
    """`words` (UTF-8 bytes, one word a line) and `vectors` [n, dimension]."""
    unpacking = Unpacking(path)
    try:
        with zipfile.ZipFile(path) as packed:
            for part in packed.infolist():
                unpacking.add(part.file_size)
        with np.load(path, allow_pickle=False) as arrays:
            words = arrays["words"].tobytes().decode("utf8").split("\n")
            vectors = arrays["vectors"].astype(np.float32, casting="same_kind")
    except (zipfile.BadZipFile, *_UNREADABLE) as error:
        raise HeedfulError(
            f"{path} is no file of word vectors: it needs the arrays words and vectors."
        ) from error
    if not np.isfinite(vectors).all() or 0 in vectors.shape:
        raise HeedfulError(f"{path} holds vectors that are empty or no numbers.")
    if vectors.ndim != 2 or len(words) != len(vectors):
        raise HeedfulError(f"{path} holds {len(words)} words and vectors of {vectors.shape}.")
    found = {word: vectors[i] for i, word in enumerate(words) if word in wanted}
    return found, int(vectors.shape[1])
