"""Ways to spoil good things, drawn from a seeded generator: JSON values, bytes, names."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from fuzzing import GONE, paths, put

_DEEP = 1500


def nested(depth: int, kind: str) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


NUMBERS = (0, 1, -1, 2, 7, 10**6, 10**12, 2**63, -(2**63), 10**30, 0.5, 1e308, 1e-320, -0.0)
TEXTS = (
    "", " ", "x", "0", "true", "good", "../../x", "/etc/hostname", "a/b", ".", "..", "~", "-o",
    "NaN", "naïve 猫 😀", "\u202egood\u202c", "\x1b[31mred\x1b[0m", "a\nb", "a\tb", "a\0b",
    "x" * 5000, "<script>alert(1)</script>", "=1+1", "{text}", "%s%s%n", "None", "__class__",
    "\ufeff",
    "é" * 300,
)  # fmt: skip


def value(random: Random) -> Any:
    """Something that JSON can hold."""
    kind = random.randrange(10)
    if kind < 3:
        return random.choice(NUMBERS)
    if kind < 6:
        return random.choice(TEXTS)
    if kind == 6:
        return random.choice((None, True, False, float("nan"), float("inf"), -float("inf")))
    if kind == 7:
        return [value(random) for _ in range(random.randrange(4))]
    if kind == 8:
        return {random.choice(TEXTS): value(random) for _ in range(random.randrange(4))}
    return nested(random.choice((3, 60, _DEEP)), random.choice(("list", "dict")))


def spoilt(random: Random, good: Any, times: int = 1) -> Any:
    """The value with a few parts replaced, removed, renamed or added."""
    for _ in range(times):
        good = _spoilt_once(random, good)
    return good


def _spoilt_once(random: Random, good: Any) -> Any:
    path = random.choice(list(paths(good)))
    parent, here = _at(good, path[:-1]), _at(good, path)
    way = random.randrange(6)
    if way == 0 and path:
        return put(good, path, GONE)
    if way == 1 and isinstance(here, dict):
        return put(good, path, {**here, random.choice(TEXTS): value(random)})
    if way == 2 and path and isinstance(parent, (dict, list)):
        others = list(parent.values() if isinstance(parent, dict) else parent)
        return put(good, path, random.choice(others))
    return put(good, path, value(random))


def spoilt_bytes(random: Random, good: bytes) -> bytes:
    """Bytes with a few cut out, put in, changed, doubled, or cut short."""
    for _ in range(random.randint(1, 3)):
        start = random.randrange(len(good) + 1)
        end = min(len(good), start + random.choice((0, 1, 2, 8, 64)))
        way = random.randrange(4)
        if way == 0:
            good = good[:start]
        elif way == 1:
            good = good[:start] + random.randbytes(random.randint(1, 16)) + good[end:]
        elif way == 2:
            good = good[:end] + good[start:]
        else:
            good = good[:start] + good[end:]
    return good


def as_json(value: Any) -> bytes:
    """Python's writer is recursive where its reader is: deep values are written by hand."""
    try:
        return json.dumps(value).encode("utf8", "surrogatepass")
    except RecursionError:
        return b"[" * 100_000


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value
