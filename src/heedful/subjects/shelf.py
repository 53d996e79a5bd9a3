"""A sequence that does not live in memory: its items are bytes in a temporary file.

An audit of a hundred thousand texts reads each of them a few times and needs few at once.
"""

from __future__ import annotations

import struct
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from heedful.errors import HeedfulError
from heedful.store import why

T = TypeVar("T")
IN_MEMORY = 4 << 20  # bytes; what is more goes to the disk
_SIZE = struct.Struct("<I")


@dataclass(frozen=True)
class Codec(Generic[T]):
    """`decode(encode(item))` equals the item."""

    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


class Shelf(Sequence[T]):
    """Items in their order, decoded anew whenever they are asked for: an item costs eight
    bytes of memory. Any thread may read. The file has no name and ends with the last shelf
    that reads it."""

    def __init__(self, pile: _Pile, places: NDArray[np.int64], codec: Codec[T]) -> None:
        self._pile, self._places, self._codec = pile, places, codec

    @staticmethod
    def of(items: Iterable[T], codec: Codec[T]) -> Shelf[T]:
        filling = Filling(codec)
        for item in items:
            filling.add(item)
        return filling.done()

    def take(self, indices: Sequence[int] | NDArray[np.int64]) -> Shelf[T]:
        """Some of the items, in that order; nothing is copied."""
        chosen = np.asarray(indices, dtype=np.int64)
        return Shelf(self._pile, self._places[chosen], self._codec)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Shelf[T]: ...

    def __getitem__(self, index: int | slice) -> T | Shelf[T]:
        if isinstance(index, slice):
            return Shelf(self._pile, self._places[index], self._codec)
        return self._codec.decode(self._pile.read(int(self._places[index])))

    def __iter__(self) -> Iterator[T]:
        for place in self._places:
            yield self._codec.decode(self._pile.read(int(place)))


class Filling(Generic[T]):
    """A shelf that is being filled, item by item, and read when it is done."""

    def __init__(self, codec: Codec[T]) -> None:
        self._pile, self._places, self._codec = _Pile(), array("q"), codec

    def add(self, item: T) -> None:
        self._places.append(self._pile.write(self._codec.encode(item)))

    def done(self) -> Shelf[T]:
        self._pile.finish()
        return Shelf(self._pile, np.array(self._places, dtype=np.int64), self._codec)


class _Pile:
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
