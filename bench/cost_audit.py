"""What an audit takes and leaves by text: seconds, bytes on disk, memory, files.

The audit is looked at from outside, by its clock and its folders, so that these numbers hold
for whatever it does inside.
"""

from __future__ import annotations

import gc
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import made_up_models
from bench.cost_model import AUDIT, BYTES, LINEAR, Point, checked, fit
from heedful.auditing import Audit, AuditSpec, Plan, audit_subject
from heedful.store import Store
from heedful.targets import AuditTarget, open_target

Size = tuple[int, int]
SMALL_ENCODER = made_up_models.ModelSize("BERT 2×64", 2, 64, 4, 256, 2000, steps=0)
CHEAP = AuditSpec(("attention",), only=())
"""For what grows with the texts: very many of them, and next to nothing asked of each."""


@dataclass(frozen=True)
class Sizes:
    """(texts, length) where constants come from and where they are checked; texts for memory."""

    small: Sequence[Size]
    larger: Sequence[Size]
    many: Sequence[int]
    more: Sequence[int]


MANY, MORE = (11776, 16896), (22016, 27136)
"""Some blocks of texts and a half: what is tidied up block by block is then in the count."""
CPU = Sizes(((16, 8), (16, 14), (24, 11)), ((32, 18), (32, 24)), MANY, MORE)
CARD = Sizes(((32, 8), (32, 16), (64, 12)), ((64, 24), (96, 32)), MANY, MORE)
QUICKLY = ("attention", "occlusion", "integrated_gradients")
QUICK = Sizes(((2, 6), (3, 8)), ((4, 8),), (4, 8), (12,))


def audits(sizes: Sizes, device: str, quick: bool) -> Iterator[dict[str, Any]]:
    """Seconds and bytes of default audits: those of a model of pretrained size on a card, of a
    small one elsewhere."""
    size = made_up_models.ENCODER if device == "cuda" and not quick else SMALL_ENCODER
    module, tokenizer, _ = made_up_models.encoder(size, device)
    spec = AuditSpec(QUICKLY, ceiling=4, search_steps=2) if quick else AuditSpec()

    def at(size: Size) -> tuple[Point, float, int, Audit]:
        with _opened((module, tokenizer), size) as subject:
            started = time.perf_counter()
            found = audit_subject(subject, spec)
            spent = time.perf_counter() - started
            length = round(float(np.mean([len(row) for row in subject.rows])))
            return Point(len(subject), length), spent, _saved(found), found

    at(sizes.small[0])
    small = [at(size) for size in sizes.small]
    seconds = fit([(point, spent) for point, spent, _, _ in small], AUDIT)
    left = fit([(point, size) for point, _, size, _ in small], BYTES)
    larger = [at(size) for size in sizes.larger]
    yield {
        "model": size.name,
        "constants": dict(seconds.constants),
        "bytes": dict(left.constants),
        "checks": [checked(seconds, point, spent) for point, spent, _, _ in larger],
        "byte_checks": [checked(left, point, size) for point, _, size, _ in larger],
        "spread": spread((larger or small)[-1][3]),
    }


def grown(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """What grows with the texts, on the host: opened documents, an audit beside them, its
    unfinished files."""
    module, tokenizer, _ = made_up_models.encoder(made_up_models.TINY_ENCODER, "cpu")

    def at(texts: int) -> dict[str, float]:
        return _measured((module, tokenizer), texts)

    at(min(64, sizes.many[0]))  # what is imported at the first call
    small, larger = [at(n) for n in sizes.many], [at(n) for n in sizes.more]
    for name in small[0]:
        points = zip(map(Point, sizes.many), (each[name] for each in small), strict=True)
        known = fit(list(points), LINEAR)
        yield {
            "what": name,
            "once": known.constants["once"],
            "each": known.constants["text"],
            "checks": [
                checked(known, Point(texts), each[name])
                for texts, each in zip(sizes.more, larger, strict=True)
            ],
        }


def spread(found: Audit) -> dict[str, float]:
    """Standard deviations over texts of what the verdict rests on: they say how many are
    enough."""
    rows = found.rows
    rows = rows[(rows["model"] == "base") & (rows["explanation"] == "attention")]
    wanted = ("tau:occlusion", "comprehensiveness", "tvd_permuted")
    rows = rows[rows["measure"].isin(wanted)]
    named = rows["measure"].astype(str) + " " + rows["operator"].astype(str)
    return {str(name).strip(): float(sd) for name, sd in rows["value"].groupby(named).std().items()}


def _measured(given: tuple[Any, Any], texts: int) -> dict[str, float]:
    records = made_up_models.reviews(texts)
    started = time.perf_counter()
    with _held() as held, open_target(given, records, id_column="id") as subject:
        opened, opening = held(), time.perf_counter() - started
        with tempfile.TemporaryDirectory() as folder:
            beside = _audited(subject, Store(Path(folder) / "store"), texts)
    return {"opened bytes": opened[0], "opening seconds": opening, **beside}


def _audited(subject: AuditTarget, store: Store, texts: int) -> dict[str, float]:
    """Files are counted when the last batch has been written."""
    files: list[int] = []

    def count(label: str, done: int, total: int) -> None:
        if done == total:
            files.append(sum(1 for path in store.root.rglob("*") if path.is_file()))

    with _held() as held:
        started = time.perf_counter()
        audit_subject(subject, CHEAP, plan=Plan(store, progress=count))
        spent = time.perf_counter() - started
        return {
            "audit peak bytes": held()[1],
            "audit seconds (cheap)": spent,
            "unfinished files": float(files[-1]),
        }


@contextmanager
def _held() -> Iterator[Callable[[], tuple[float, float]]]:
    """Bytes held now and at most, beyond what was held at the start; Python's and numpy's."""
    gc.collect()
    begun = not tracemalloc.is_tracing()
    if begun:
        tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()

    def held() -> tuple[float, float]:
        now, peak = tracemalloc.get_traced_memory()
        return float(now - before), float(peak - before)

    try:
        yield held
    finally:
        if begun:
            tracemalloc.stop()


@contextmanager
def _opened(given: tuple[Any, Any], size: Size) -> Iterator[AuditTarget]:
    texts, length = size
    with open_target(given, made_up_models.reviews(texts, length), id_column="id") as subject:
        yield subject


def _saved(found: Audit) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = found.save(Path(folder) / "audit")
        return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
