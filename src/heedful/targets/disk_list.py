"""A list on disk: its items are bytes in a temporary file and are decoded when asked for.

An audit of a hundred thousand texts reads each of them a few times and needs few at once. Arrow's
memory-mapped files would need a schema for each type of item and decode whole columns, which
takes more code and more time an item than a file and the places of its items.
"""

from __future__ import annotations

import json
import struct
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from threading import Lock
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from heedful.data import Record
from heedful.errors import HeedfulError
from heedful.store import why
from heedful.targets.document import Document, Row

T = TypeVar("T")
IN_MEMORY = 4 << 20  # bytes; longer lists go to the disk
_SIZE = struct.Struct("<I")


@dataclass(frozen=True)
class Codec(Generic[T]):
    """How an item becomes bytes and back: `decode(encode(item))` equals the item."""

    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


class DiskList(Sequence[T]):
    """Items in order, decoded each time they are read: an item takes eight bytes of memory. Any
    thread may read. The file has no name and is closed with the last list that reads it."""

    def __init__(self, file: _File, places: NDArray[np.int64], codec: Codec[T]) -> None:
        self._file, self._places, self._codec = file, places, codec

    @staticmethod
    def of(items: Iterable[T], codec: Codec[T]) -> DiskList[T]:
        writer = DiskListWriter(codec)
        for item in items:
            writer.add(item)
        return writer.done()

    def take(self, indices: Sequence[int] | NDArray[np.int64]) -> DiskList[T]:
        """Some of the items, in that order; nothing is copied."""
        chosen = np.asarray(indices, dtype=np.int64)
        return DiskList(self._file, self._places[chosen], self._codec)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> DiskList[T]: ...

    def __getitem__(self, index: int | slice) -> T | DiskList[T]:
        if isinstance(index, slice):
            return DiskList(self._file, self._places[index], self._codec)
        return self._codec.decode(self._file.read(int(self._places[index])))

    def __iter__(self) -> Iterator[T]:
        for place in self._places:
            yield self._codec.decode(self._file.read(int(place)))


class DiskListWriter(Generic[T]):
    """Writes a list item by item; `done` is the list."""

    def __init__(self, codec: Codec[T]) -> None:
        self._file, self._places, self._codec = _File(), array("q"), codec

    def add(self, item: T) -> None:
        self._places.append(self._file.write(self._codec.encode(item)))

    def done(self) -> DiskList[T]:
        self._file.flush()
        return DiskList(self._file, np.array(self._places, dtype=np.int64), self._codec)


class _File:
    """Pieces of bytes, each after its size, in one file without a name."""

    def __init__(self) -> None:
        self.file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._end, self._lock = 0, Lock()
        weakref.finalize(self, _close, self.file)

    def write(self, piece: bytes) -> int:
        """The place of the piece, by which it is read."""
        place = self._end
        with _needing_room():
            self._end += self.file.write(_SIZE.pack(len(piece)) + piece)
        return place

    def flush(self) -> None:
        with _needing_room():
            self.file.flush()

    def read(self, place: int) -> bytes:
        with self._lock:
            self.file.seek(place)
            (size,) = _SIZE.unpack(self.file.read(_SIZE.size))
            return self.file.read(size)


@contextmanager
def _needing_room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HeedfulError(
            f"the texts cannot be kept in a temporary file: {why(error)}; make room in the folder "
            f"for such files, or set TMPDIR to another one."
        ) from error


def _close(file: Any) -> None:
    """Bytes that cannot be written any more are not needed any more."""
    with suppress(OSError):
        file.close()


def _plain(value: Any) -> Any:
    """Mappings and NumPy's numbers, for JSON."""
    return value.item() if isinstance(value, np.generic) else dict(value)


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)


def _encode_text(text: str) -> bytes:
    """Also half of a surrogate pair: no reader lets one through, but a corpus may bring one."""
    return text.encode("utf8", "surrogatepass")


def _decode_text(piece: bytes) -> str:
    return piece.decode("utf8", "surrogatepass")


def _json_codec(kind: type[T]) -> Codec[T]:
    """Of a dataclass of texts, numbers and tuples (of pairs), by side or not."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]

    def encode(item: T) -> bytes:
        return _encode_text(_JSON.encode([getattr(item, name) for name in names]))

    def decode(piece: bytes) -> T:
        return kind(*map(_tuples, json.loads(_decode_text(piece))))

    return Codec(encode, decode)


def _tuples(value: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    if isinstance(value, dict):
        return {name: _tuples(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    return tuple(map(tuple, value)) if value and isinstance(value[0], list) else tuple(value)


_BESIDE = "beside "


def _arrays(row: Row) -> dict[str, NDArray[Any]]:
    """The fields that are there, those of the row beside it under longer names."""
    columns = {field.name: getattr(row, field.name) for field in fields(Row)}
    beside = columns.pop("beside")
    arrays = {name: np.asarray(part) for name, part in columns.items() if part is not None}
    if beside is not None:
        arrays |= {_BESIDE + name: part for name, part in _arrays(beside).items()}
    return arrays


def _row(arrays: dict[str, Any]) -> Row:
    own = {name: part for name, part in arrays.items() if not name.startswith(_BESIDE)}
    beside = {name.removeprefix(_BESIDE): arrays[name] for name in arrays if name not in own}
    if "candidates" in own:
        own["candidates"] = tuple(own["candidates"].tolist())
    return Row(**own, beside=_row(beside) if beside else None)


RECORDS, DOCUMENTS = _json_codec(Record), _json_codec(Document)
ROWS = Codec[Row](lambda row: save(_arrays(row)), lambda piece: _row(load(piece)))
NAMES = Codec(_encode_text, _decode_text)
