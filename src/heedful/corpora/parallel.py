"""Any texts and their translations: two line-aligned files, or a table with two columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from heedful.catalogue import Piece
from heedful.corpora.example import Example, RawCorpus
from heedful.corpora.files import MissingData, digests, read_rows
from heedful.errors import HeedfulError
from heedful.input_files import read_lines
from heedful.specs import PrepareSpec

Pairs = list[tuple[str, str]]


def read(
    data_dir: Path | None = None,
    path: str | None = None,
    target: str | None = None,
    dev: str | None = None,
    dev_target: str | None = None,
    test: str | None = None,
    test_target: str | None = None,
    source_column: str = "source",
    target_column: str = "target",
) -> RawCorpus:
    """`path` holds the sources and `target`, line by line, their translations; without a
    `target`, `path` is a table with both columns. The same goes for dev and test; where they
    are not given, they are cut by a hash of the line's number."""
    if path is None:
        raise HeedfulError("the corpus `parallel` needs the parameter `path`: the file to read.")
    given = {"": (path, target), "dev": (dev, dev_target), "test": (test, test_target)}
    files = {split: _files(split or "path", *pair) for split, pair in given.items() if any(pair)}
    examples: list[Example] = []
    for split, pair in files.items():
        pairs = _pairs(pair, source_column, target_column)
        where = "train" if split == "" and "test" in files else split
        examples += as_examples(pairs, "parallel", where)
    used = {name: f for split, pair in files.items() for name, f in _named(split or "train", pair)}
    return RawCorpus((), examples, digests(used), task="generation")


def as_examples(pairs: Pairs, name: str, split: str) -> list[Example]:
    """Texts on side a, their translations on side b."""
    return [
        Example(f"{name}-{split or 'line'}-{number:07d}", split, {"a": one, "b": other}, 0)
        for number, (one, other) in enumerate(pairs, 1)
    ]


def from_lines(
    source: Path, target: Path, drop_empty: bool = False
) -> tuple[Pairs, dict[str, int]]:
    """Pairs line by line, and how many were dropped for an empty side; where none may be,
    the line is named. White space at both ends of a line is not text. Lines end at a line feed
    only: other separators of Unicode stand inside texts."""
    sides = [[line.strip() for line in read_lines(file, "\n")] for file in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise HeedfulError(
            f"{source} has {len(sides[0])} lines and {target} has {len(sides[1])}: line "
            f"{min(map(len, sides)) + 1} has no counterpart, give files of equal length."
        )
    pairs = list(zip(*sides, strict=True))
    if drop_empty:
        kept = [pair for pair in pairs if all(pair)]
        return kept, {"an empty side": len(pairs) - len(kept)}
    for number, (one, other) in enumerate(pairs, 1):
        check_pair(one, other, f"line {number} of {source.name} and {target.name}")
    return pairs, {}


def check_pair(source: object, target: object, where: str) -> None:
    """A source or a target that is empty says nothing of translation."""
    for name, text in (("source", source), ("target", target)):
        if not isinstance(text, str) or not text.strip():
            raise HeedfulError(f"{where} has an empty {name}: take the pair out.")


def flipped(direction: str, known: str) -> bool:
    """Whether a corpus stored as `known` (such as en-de) is to be read the other way round."""
    back = "-".join(reversed(known.split("-")))
    if direction not in (known, back):
        raise HeedfulError(f"the direction is {direction!r}: choose {known} or {back}.")
    return direction == back


def _named(split: str, files: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """A name for each file, in which its folder does not count. Two of the same name (de/all.txt
    and en/all.txt) are told apart, or one of them could change without anybody noticing."""
    alike = len({file.name for file in files}) < len(files)
    for role, file in zip(("source", "target"), files, strict=False):
        yield f"{split}/{role}/{file.name}" if alike else f"{split}/{file.name}", file


def _pairs(files: tuple[Path, ...], source: str, target: str) -> Pairs:
    return from_lines(*files)[0] if len(files) == 2 else _from_table(files[0], source, target)


def _from_table(path: Path, source: str, target: str) -> Pairs:
    if source == target:
        raise HeedfulError(f"source and target are both read from {source!r}: name two columns.")
    rows = read_rows(path, (source, target))
    for number, row in enumerate(rows, 1):
        check_pair(row[source], row[target], f"row {number} of {path.name}")
    return [(row[source], row[target]) for row in rows]


def _files(role: str, source: str | None, target: str | None) -> tuple[Path, ...]:
    if source is None:
        raise HeedfulError(f"{role}_target is given without {role}: name the file of its sources.")
    files = tuple(Path(name).expanduser() for name in (source, target) if name is not None)
    for file in files:
        if not file.is_file():
            raise MissingData(f"there is no file {file}.")
    return files


DEFAULTS = PrepareSpec(tokenizer="bpe", pieces=8000, dimension=256, max_length=100)

PIECE = Piece(
    name="parallel",
    description="Your own texts and their translations: two files or two columns",
    make=read,
    kind="generation",
)
