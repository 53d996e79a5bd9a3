"""Records, documents and rows as bytes and back: JSON for texts, plain arrays for tokens."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heedful.subjects.document import Document, Span
from heedful.subjects.records import Record
from heedful.subjects.row import Row
from heedful.subjects.shelf import Codec

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
