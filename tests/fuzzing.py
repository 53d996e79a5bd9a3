"""What readers are fuzzed with: bytes of any kind, and good files with something done to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FEW, MANY = 20, 300

texts = st.text(st.characters(codec=None), max_size=20)
"""Any characters, halves of them too."""
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
"""Whatever JSON can hold, and what it should not."""


def fuzz(count: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], object]) -> None:
    """So many examples, always the same ones."""

    @settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(example: Any) -> None:
        check(example)

    run()


def mutated(good: bytes) -> st.SearchStrategy[bytes]:
    """The bytes with a few cut out, put in, changed or doubled."""
    at = st.integers(0, max(0, len(good)))
    edits = st.tuples(at, st.integers(0, 40), st.binary(max_size=6))
    return st.lists(edits, min_size=1, max_size=4).map(lambda found: _edited(good, found))


def _edited(good: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for start, gone, new in edits:
        good = good[:start] + new + good[start + gone :]
    return good


def replaced(good: Any) -> st.SearchStrategy[Any]:
    """A JSON value with one part of it something else, or gone."""
    new = values | st.just(GONE)
    ways = st.sampled_from(list(paths(good)))
    return st.builds(lambda path, value: put(good, path, value), ways, new)


def as_json(value: Any) -> bytes:
    """Numbers that are none stay, as Python writes them."""
    return json.dumps(value).encode("utf8")


GONE = object()
"""Stands for a part that was removed."""
_DEEPEST = 12


def paths(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a JSON value, itself among them."""
    yield here
    if len(here) > _DEEPEST:
        return
    inner = list(enumerate(value)) if isinstance(value, list) else []
    for key, item in value.items() if isinstance(value, dict) else inner:
        yield from paths(item, (*here, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at the end of a path, or nothing (`GONE`)."""
    if not path:
        return None if new is GONE else new
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if not rest and new is GONE:
        del copy[key]
    else:
        copy[key] = put(value[key], tuple(rest), new)
    return copy
