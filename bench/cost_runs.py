"""What a run costs however small it is: a cell of a few texts, trained and probed into a store."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heedful.corpora import default_spec
from heedful.runner import Choice, Machine, grid, run_study
from heedful.store import Store
from heedful.studies import STUDIES

TINY: dict[str, Any] = {"n_train": 16, "n_dev": 8, "n_test": 8}
PROBES = ["correlation", "permutation"]


def runs(device: str) -> Iterator[dict[str, Any]]:
    """Seconds and files of a run, from two seeds of which the second finds everything loaded."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        _cell(store, 0, device)
        before, started = _files(store), time.perf_counter()
        _cell(store, 1, device)
        spent, made = time.perf_counter() - started, _files(store)
    count = 1 + len(PROBES) + 1  # a model, its probes, the list
    small = [size for path, size in made.items() if path not in before and path.name == "run.json"]
    yield {
        "seconds": spent / count,
        "files": (len(made) - len(before)) / count,
        "bytes": sum(small) / len(small),
    }


def _cell(store: Store, seed: int, device: str) -> None:
    choice = Choice(["average"], train=(("epochs", 1),), probes=PROBES)
    plan = grid(STUDIES["jain2019"].make(), [default_spec("planted", **TINY)], choice, [seed])
    run_study(plan, store, Machine(device, 1))


def _files(store: Store) -> dict[Path, int]:
    return {path: path.stat().st_size for path in store.root.rglob("*") if path.is_file()}
