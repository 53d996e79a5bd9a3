"""What has to be known of all records before one of them becomes a document: that ids are
unique, which texts are shared, in which order a sample is drawn. Digests stand for texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heedful.errors import HeedfulError
from heedful.randomness import stable_hash
from heedful.subjects.records import Record

_BYTES = 16


def first_of_text(records: Sequence[Record]) -> NDArray[np.int64]:
    """For each record the place of the first one with the same first text, itself maybe. Ids
    that occur twice are refused."""
    names, texts = bytearray(), bytearray()
    for record in records:
        names += _digest(record.id)
        texts += _digest(record.texts["a"].strip())
    _check_ids(records, names)
    _, places, back = np.unique(_numbers(texts), axis=0, return_index=True, return_inverse=True)
    first: NDArray[np.int64] = places[back.reshape(-1)]
    return first


def drawn(records: Sequence[Record], seed: int) -> NDArray[np.int64]:
    """The places of all records, as `pick` sorts their ids."""
    hashes = (stable_hash(seed, "documents", record.id) for record in records)
    keys = np.fromiter(hashes, dtype=np.int64, count=len(records))
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) > 0).all():
        return order
    names = [record.id for record in records]
    places = sorted(range(len(names)), key=lambda place: (keys[place], names[place]))
    return np.array(places, dtype=np.int64)


def _check_ids(records: Sequence[Record], names: bytearray) -> None:
    _, places, counts = np.unique(_numbers(names), axis=0, return_index=True, return_counts=True)
    twice = places[counts > 1]
    if len(twice):
        raise HeedfulError(
            f"{len(twice)} ids occur twice, the first is {records[int(twice.min())].id!r}: ids "
            f"must be unique, name another column or none."
        )


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf8", "surrogatepass"), digest_size=_BYTES).digest()


def _numbers(digests: bytearray) -> NDArray[np.uint64]:
    return np.frombuffer(digests, dtype=np.uint64).reshape(-1, _BYTES // 8)
