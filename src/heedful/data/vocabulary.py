"""Words with their ids, counted on the training split, and their vectors, read or random."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from heedful.data.files import MissingData, Source
from heedful.errors import HeedfulError
from heedful.input_files import Unpacking, read_lines
from heedful.randomness import example_keys, keyed_normal
from heedful.specs import END, LARGEST_DIMENSION, PAD, START, UNKNOWN, PrepareSpec

Found = tuple[dict[str, NDArray[np.float32]], int]
"""The vectors of wanted words, and their dimension."""
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")


@dataclass(frozen=True)
class Vocabulary:
    """`words[i]` has id i; `df[i]` is the number of training texts that hold it."""

    words: tuple[str, ...]
    df: tuple[int, ...]

    @cached_property
    def ids(self) -> dict[str, int]:
        """A token that looks like a special one is an unknown word, never padding."""
        return {word: i for i, word in enumerate(self.words) if i >= len(SPECIALS)}

    def encode(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Ids between a start and an end token."""
        get = self.ids.get
        middle = [get(word, UNKNOWN) for word in words]
        return np.array([START, *middle, END], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.words)


def build_vocabulary(texts: Iterable[Sequence[str]], min_df: int) -> Vocabulary:
    """The special tokens, then words in at least `min_df` texts by (df descending, word)."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text))
    kept = [(word, n) for word, n in counts.items() if n >= min_df and word not in SPECIALS]
    kept.sort(key=lambda item: (-item[1], item[0]))
    words = SPECIALS + tuple(word for word, _ in kept)
    df = (0,) * len(SPECIALS) + tuple(n for _, n in kept)
    return Vocabulary(words, df)


GLOVE = Source(
    "the GloVe vectors",
    "https://nlp.stanford.edu/projects/glove",
    {"": "glove/glove6b_100d_subset.npz"},
)

LIFTED, LIFTED_DIMENSION = "glove300", 300
"""GloVe's vectors in a space as wide as most papers', where words of no vector are drawn."""

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
    if name in ("glove", LIFTED):
        return GLOVE.find(data_dir)
    path = Path(name).expanduser()
    if not path.is_file():
        raise MissingData(
            f"there is no vectors file {path}: give a GloVe or fastText text file, `glove`, "
            f"`{LIFTED}` or `random`."
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
    if spec.vectors == LIFTED:
        found, dimension = lifted(found, dimension), LIFTED_DIMENSION
    keys = example_keys(spec.seed, vocabulary.words, "word vector")
    matrix = keyed_normal(keys, (dimension,)).numpy().astype(np.float32)
    known = np.zeros(len(vocabulary), dtype=bool)
    for i, word in enumerate(vocabulary.words):
        if word in found:
            matrix[i] = found[word]
            known[i] = True
    matrix[PAD] = 0
    return WordVectors(matrix, known)


def lifted(
    vectors: Mapping[str, NDArray[np.float32]], dimension: int
) -> dict[str, NDArray[np.float32]]:
    """The vectors under one orthonormal map into more dimensions: lengths and angles stay, and a
    model's trained embeddings have room. The map is the same on every machine, up to rounding."""
    rows = example_keys(0, tuple(map(str, range(LIFTED_DIMENSION))), "lift")
    basis, upper = np.linalg.qr(keyed_normal(rows, (dimension,)).numpy())
    basis = basis * np.sign(np.diag(upper))  # else its signs are the library's choice
    return {word: (vector @ basis.T).astype(np.float32) for word, vector in vectors.items()}


def read_npz(path: Path, wanted: set[str]) -> Found:
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


def read_text_vectors(path: Path, wanted: set[str]) -> Found:
    """The vectors of the wanted words and their dimension; a repeated word keeps its first."""
    found: dict[str, NDArray[np.float32]] = {}
    dimension = words = 0
    for number, line in enumerate(read_lines(path, "\n"), 1):
        parts = line.rstrip().split(" ")
        # fastText's first line: the number of words and the dimension
        if number == 1 and len(parts) == 2 and all(p.isascii() and p.isdigit() for p in parts):
            dimension = _dimension(parts[1], path)
            continue
        dimension = dimension or _dimension(str(len(parts) - 1), path)
        if dimension < 1 or len(parts) <= dimension:
            raise _malformed_line(path, number, dimension)
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


def _numbers(path: Path, number: int, fields: list[str]) -> NDArray[np.float32]:
    try:
        vector = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError as error:
        raise _malformed_line(path, number, len(fields)) from error
    if not np.isfinite(vector).all():
        raise _malformed_line(path, number, len(fields))
    return vector


def _malformed_line(path: Path, number: int, dimension: int) -> HeedfulError:
    return HeedfulError(
        f"line {number} of {path} is malformed: give a word and {max(1, dimension)} numbers."
    )
