"""Reviews and answers as they are commonly handed on: CSV files without a header, a class
number from 1 on and then one or more texts (title, body, …)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import Publisher, digests, find_sheets, read_cells
from heedful.errors import HeedfulError
from heedful.randomness import stable_hash
from heedful.specs import PrepareSpec

# serrano2019 does not say which words it keeps or how dev is cut: these are the hierarchical
# attention networks' of Yang et al. 2016, whose corpora they are.
DEFAULTS = PrepareSpec(tokenizer="spacy", min_df=5, dev_fraction=0.1, vectors="glove")


@dataclass(frozen=True)
class Rated:
    """A corpus of this format: where its files are and what its classes 1, 2, … are called."""

    name: str
    folder: str
    labels: tuple[str, ...]
    publisher: Publisher

    @property
    def names(self) -> dict[str, str]:
        """The file of each split."""
        return {split: f"{self.folder}/{split}.csv" for split in ("train", "test")}


def read_rated(data_dir: Path | None, corpus: Rated, sample: float, seed: int) -> RawCorpus:
    """`sample` of the rows, chosen while reading by a hash of their place: the largest of these
    files have millions."""
    if not 0 < sample <= 1:
        raise HeedfulError(f"sample is {sample}: give a number above 0 and up to 1.")
    files = find_rated(data_dir, corpus)
    examples: list[Example] = []
    left_out = 0
    for split, name in corpus.names.items():
        for example in _examples(files[name], split, corpus):
            if stable_hash(seed, "sample", example.id) < sample * 2.0**63:
                examples.append(example)
            else:
                left_out += 1
    return RawCorpus(
        corpus.labels,
        examples,
        digests(files),
        subset=sample < 1,
        note=f"a random sample of the rows, {sample:g} of all" if sample < 1 else "",
        dropped={"not sampled": left_out} if sample < 1 else {},
    )


def find_rated(data_dir: Path | None, corpus: Rated) -> dict[str, Path]:
    return find_sheets(data_dir, list(corpus.names.values()), corpus.publisher)


def unescape(text: str) -> str:
    """These files write a line break as a backslash and an n, and a backslash before quotes.
    Nothing moves, so offsets stay right."""
    return text.replace("\\n", "\n ").replace('\\"', ' "')


def _examples(path: Path, split: str, corpus: Rated) -> Iterator[Example]:
    for number, (line, cells) in enumerate(read_cells(path)):
        label = _class(cells[0], len(corpus.labels))
        if label is None or len(cells) < 2:
            raise HeedfulError(
                f"line {line} of {path} is malformed: it needs a class from 1 to "
                f"{len(corpus.labels)} and a text."
            )
        parts = [unescape(cell) for cell in cells[1:] if cell.strip()]
        name = f"{corpus.name}-{split}-{number:07d}"
        yield Example(name, split, {"a": "\n".join(parts)}, label)


def _class(cell: str, classes: int) -> int | None:
    text = cell.strip()
    known = text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= classes
    return int(text) - 1 if known and len(text) < 9 else None
