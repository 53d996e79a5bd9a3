"""A user's files, read within limits: what is small on the disk must not fill the memory.

Whatever is wrong with a file ends in a sentence that says what and where.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.errors import HeedfulError

TEXT_CHARS = "HEEDFUL_MAX_TEXT_CHARS"
FILE_MB = "HEEDFUL_MAX_FILE_MB"
DEFAULTS = {TEXT_CHARS: 1_000_000, FILE_MB: 100}
"""Variables of the environment that raise the limits: the characters of one text, and the
megabytes of a file that is compressed or read at once."""
RATIO = 100  # a compressed file may always become so many times as large: text never does
LINE = 8  # a line may be as long as so many texts: it has other cells, and JSON's escapes
VALUE = 8  # bytes of memory that a value needs at least, however well it is compressed
LARGEST = 10**9


def limit(name: str) -> int:
    """One of `DEFAULTS`, or what the environment says instead."""
    said = os.environ.get(name, "").strip()
    if not said:
        return DEFAULTS[name]
    if not (said.isascii() and said.isdigit() and len(said) < 12 and 1 <= int(said) <= LARGEST):
        raise HeedfulError(f"{name} is {said[:40]!r}: give a whole number from 1 to {LARGEST:,}.")
    return int(said)


def too_long(where: str, most: int) -> HeedfulError:
    """Of a text longer than `most`, the limit."""
    return HeedfulError(
        f"{where} has a text of more than {most:,} characters: shorten it, or set {TEXT_CHARS} to "
        f"a larger number."
    )


def names_file(text: str) -> bool:
    """Whether a path was meant, where the name of a corpus could also stand."""
    return bool(text.strip() and (Path(text).suffix or Path(text).exists()))


def check_file(path: Path) -> None:
    """A pipe or a device may never end, and a file is read more than once."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise HeedfulError(f"there is no file {path}: check the path.") from error
    except OSError as error:
        raise HeedfulError(
            f"{path} cannot be opened ({error.strerror}): check the path and its links."
        ) from error
    if stat.S_ISDIR(mode):
        raise HeedfulError(f"{path} is a folder: give a file.")
    if not stat.S_ISREG(mode):
        raise HeedfulError(f"{path} is a pipe or a device: save what it gives, and give that file.")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what decoders raise into sentences."""
    try:
        yield
    except UnicodeError as error:
        raise HeedfulError(f"{path} is not UTF-8 text: save it in that encoding.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise HeedfulError(f"{path} is no whole gzip file: compress it again.") from error
    except MemoryError as error:
        raise HeedfulError(f"{path} does not fit into memory: give a smaller file.") from error
    except pa.ArrowException as error:
        raise HeedfulError(
            f"{path} cannot be read as Parquet ({first_line(error)}): write it again."
        ) from error
    except (OSError, ValueError, OverflowError, RecursionError, KeyError) as error:
        raise HeedfulError(f"{path} cannot be read ({first_line(error)}): fix it.") from error


def read_lines(path: Path, newline: str | None = "") -> Iterator[str]:
    """The lines of a text file, plain or gzipped, each with its end; none is endless."""
    check_file(path)
    most, number = LINE * limit(TEXT_CHARS), 0
    zipped = path.suffix.lower() == ".gz"
    with (
        readable(path),
        _Unpacked(path) if zipped else path.open("rb") as raw,
        io.TextIOWrapper(raw, "utf-8-sig", newline=newline) as stream,
    ):
        while line := stream.readline(most + 1):
            number += 1
            if len(line) > most:
                raise HeedfulError(
                    f"line {number} of {path} has more than {most:,} characters: break it into "
                    f"lines, or set {TEXT_CHARS} to more than {most // LINE:,}."
                )
            yield line


def read_whole(path: Path) -> str:
    """A text file that is needed at once. Raises what decoding raises."""
    check_file(path)
    most = limit(FILE_MB)
    if path.stat().st_size > most * 10**6:
        raise HeedfulError(
            f"{path} is larger than {most:,} MB: give a smaller file, or set {FILE_MB} to more."
        )
    return path.read_text(encoding="utf8")


class Unpacking:
    """Counts the bytes that a compressed file becomes."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self.most = max(limit(FILE_MB) * 10**6, RATIO * path.stat().st_size)

    def add(self, size: int) -> None:
        self.count += size
        if self.count > self.most:
            raise HeedfulError(
                f"{self.path} unpacks to more than {self.most // 10**6:,} MB, over {RATIO} times "
                f"its size: if you trust it, set {FILE_MB} to more."
            )


def check_parquet(path: Path, facts: Any) -> None:
    """By a Parquet file's own metadata, before anything is unpacked."""
    unpacking = Unpacking(path)
    for group in map(facts.row_group, range(facts.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            unpacking.add(max(column.total_uncompressed_size, VALUE * column.num_values))


def first_line(error: BaseException) -> str:
    """And of it the first sentence."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.partition(". ")[0].rstrip(".")[:200]


class _Unpacked(gzip.GzipFile):
    """Every piece is counted. Where the file's end says that it is too large, all are before
    the first is used."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._unpacking = Unpacking(path)
        with path.open("rb") as raw:
            raw.seek(max(0, path.stat().st_size - 4))
            claimed = int.from_bytes(raw.read(), "little")
        if claimed > self._unpacking.most:
            while self.read1(1 << 20):
                pass
            self.rewind()
            self._unpacking.count = 0

    def read1(self, size: int = -1) -> bytes:
        piece = super().read1(size)
        self._unpacking.add(len(piece))
        return piece
