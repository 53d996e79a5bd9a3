"""A sequence that does not live in memory: its items are bytes in a temporary file.

An audit of a hundred thousand texts reads each of them a few times and needs few at once.

Records, documents and rows are kept as bytes: JSON for texts, plain arrays for tokens.
"""

from __future__ import annotations

import json
import struct
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from heedful.errors import HeedfulError
from heedful.store import why
from heedful.targets.document import Document, Record, Row, Span

T = TypeVar("T")
IN_MEMORY = 4 << 20  # bytes; what is more goes to the disk
_SIZE = struct.Struct("<I")


@dataclass(frozen=True)
class Codec(Generic[T]):
    """`decode(encode(item))` equals the item."""

    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


class DiskList(Sequence[T]):
    """Items in their order, decoded anew whenever they are asked for: an item costs eight
    bytes of memory. Any thread may read. The file has no name and ends with the last shelf
    that reads it."""

    def __init__(self, pile: _Pieces, places: NDArray[np.int64], codec: Codec[T]) -> None:
        self._pile, self._places, self._codec = pile, places, codec

    @staticmethod
    def of(items: Iterable[T], codec: Codec[T]) -> DiskList[T]:
        filling = DiskListWriter(codec)
        for item in items:
            filling.add(item)
        return filling.done()

    def take(self, indices: Sequence[int] | NDArray[np.int64]) -> DiskList[T]:
        """Some of the items, in that order; nothing is copied."""
        chosen = np.asarray(indices, dtype=np.int64)
        return DiskList(self._pile, self._places[chosen], self._codec)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> DiskList[T]: ...

    def __getitem__(self, index: int | slice) -> T | DiskList[T]:
        if isinstance(index, slice):
            return DiskList(self._pile, self._places[index], self._codec)
        return self._codec.decode(self._pile.read(int(self._places[index])))

    def __iter__(self) -> Iterator[T]:
        for place in self._places:
            yield self._codec.decode(self._pile.read(int(place)))


class DiskListWriter(Generic[T]):
    """A shelf that is being filled, item by item, and read when it is done."""

    def __init__(self, codec: Codec[T]) -> None:
        self._pile, self._places, self._codec = _Pieces(), array("q"), codec

    def add(self, item: T) -> None:
        self._places.append(self._pile.write(self._codec.encode(item)))

    def done(self) -> DiskList[T]:
        self._pile.finish()
        return DiskList(self._pile, np.array(self._places, dtype=np.int64), self._codec)


class _Pieces:
    """Pieces of bytes, each after its size, in one file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._end, self._lock = 0, Lock()
        weakref.finalize(self, _close, self._file)

    def write(self, piece: bytes) -> int:
        """The place of the piece, by which it is read."""
        place = self._end
        try:
            self._end += self._file.write(_SIZE.pack(len(piece)) + piece)
        except OSError as error:
            raise _refused(error) from error
        return place

    def finish(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise _refused(error) from error

    def read(self, place: int) -> bytes:
        with self._lock:
            self._file.seek(place)
            (size,) = _SIZE.unpack(self._file.read(_SIZE.size))
            return self._file.read(size)


def _refused(error: OSError) -> HeedfulError:
    return HeedfulError(
        f"the texts cannot be kept in a temporary file: {why(error)}; make room in the folder "
        f"for such files, or set TMPDIR to another one."
    )


def _close(file: Any) -> None:
    """What cannot be written any more is not needed any more."""
    with suppress(OSError):
        file.close()


Spans = Mapping[str, tuple[Span, ...]]
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_HEAD = struct.Struct("<IIB")
_WIDE, _SEGMENTS, _SENTENCES, _BESIDE, _CANDIDATES = (1 << bit for bit in range(5))


def _json(facts: Any) -> bytes:
    """Half of a surrogate pair, which no reader lets through but a corpus may bring, too."""
    return _JSON.encode(facts).encode("utf8", "surrogatepass")


def _facts(piece: bytes) -> Any:
    return json.loads(piece.decode("utf8", "surrogatepass"))


def _encode_document(item: Document) -> bytes:
    marks = None if item.rationale is None else "".join("01"[bool(mark)] for mark in item.rationale)
    facts = (item.id, dict(item.texts), _flat(item.words), item.label, marks, item.cluster)
    return _json((*facts, item.candidates))


def _decode_document(piece: bytes) -> Document:
    name, texts, words, label, marks, cluster, candidates = _facts(piece)
    rationale = None if marks is None else tuple(mark == "1" for mark in marks)
    return Document(name, texts, _spans(words), label, rationale, cluster, _tuple(candidates))


def _encode_record(item: Record) -> bytes:
    words = None if item.words is None else _flat(item.words)
    rationales = None if item.rationales is None else _flat(item.rationales)
    facts = (item.id, dict(item.texts), item.labels, words, rationales, item.cluster)
    return _json((*facts, item.candidates))


def _decode_record(piece: bytes) -> Record:
    name, texts, labels, words, rationales, cluster, candidates = _facts(piece)
    return Record(
        name,
        texts,
        _tuple(labels),
        None if words is None else _spans(words),
        None if rationales is None else _spans(rationales),
        cluster,
        _tuple(candidates),
    )


def _flat(spans: Spans) -> dict[str, list[int]]:
    return {side: [int(end) for span in some for end in span] for side, some in spans.items()}


def _spans(flat: Mapping[str, list[int]]) -> dict[str, tuple[Span, ...]]:
    return {side: tuple(zip(ends[::2], ends[1::2], strict=True)) for side, ends in flat.items()}


def _tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _encode_row(row: Row) -> bytes:
    """Sizes, flags; the columns of numbers; the mask; candidates; the row beside."""
    given = {_SEGMENTS: row.segments, _SENTENCES: row.sentences}
    columns = {flag: column for flag, column in given.items() if column is not None}
    numbers, wide = _narrow([row.tokens, row.words, *columns.values()])
    flags = sum(columns) + _WIDE * wide + _BESIDE * (row.beside is not None)
    flags += _CANDIDATES * (row.candidates is not None)
    some = np.array(row.candidates or (), dtype="<i8")
    beside = b"" if row.beside is None else _encode_row(row.beside)
    head = _HEAD.pack(len(row), len(some), flags)
    return b"".join((head, numbers, row.mask.tobytes(), some.tobytes(), beside))


def _narrow(columns: Sequence[NDArray[np.int64]]) -> tuple[bytes, bool]:
    """Four bytes a number, or eight where they do not do; whether they do not."""
    numbers = np.stack(columns)
    small = numbers.astype("<i4")
    wide = bool((small != numbers).any())
    return (numbers.astype("<i8") if wide else small).tobytes(), wide


def _decode_row(piece: bytes) -> Row:
    length, size, flags = _HEAD.unpack_from(piece)
    names = [flag for flag in (_SEGMENTS, _SENTENCES) if flags & flag]
    kind = np.dtype("<i8" if flags & _WIDE else "<i4")
    shape, start = (2 + len(names), length), _HEAD.size
    count = shape[0] * length
    numbers = np.frombuffer(piece, kind, count, start).astype(np.int64).reshape(shape)
    masked = start + count * kind.itemsize
    mask = np.frombuffer(piece, np.bool_, length, masked).copy()
    some = np.frombuffer(piece, "<i8", size, masked + length).tolist()
    columns = dict(zip(names, numbers[2:], strict=True))
    rest = masked + length + 8 * size
    return Row(
        numbers[0],
        mask,
        numbers[1],
        columns.get(_SEGMENTS),
        columns.get(_SENTENCES),
        _decode_row(piece[rest:]) if flags & _BESIDE else None,
        tuple(some) if flags & _CANDIDATES else None,
    )


def _encode_name(name: str) -> bytes:
    return name.encode("utf8", "surrogatepass")


def _decode_name(piece: bytes) -> str:
    return piece.decode("utf8", "surrogatepass")


RECORDS = Codec(_encode_record, _decode_record)
DOCUMENTS = Codec(_encode_document, _decode_document)
ROWS = Codec(_encode_row, _decode_row)
NAMES = Codec(_encode_name, _decode_name)
