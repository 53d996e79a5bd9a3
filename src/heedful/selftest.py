"""Check an installation, also from a plain checkout and without pytest.

    PYTHONPATH=src python3 -m heedful.selftest

Trains a tiny model on the embedded corpus with the core's packages alone, runs every
probe and compares fast paths with slow ones. Exit code 0 if all is well, 1 if not.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from heedful.data import Prepared, default_spec, prepare
from heedful.models import ATTENTIONS, ENCODERS, build
from heedful.runner import Choice, Machine, grid, machine, run_study
from heedful.specs import ModelSpec
from heedful.store import Run, Store
from heedful.studies.papers import JAIN2019 as STUDY
from heedful.types import Batch, Keep, Text


def main() -> int:
    place = machine("auto")
    print(f"torch {torch.__version__}, device {place.device}, {place.threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        corpus = prepare(default_spec("planted", params={"n_train": 300, "n_test": 60}), store)
        checks: dict[str, Callable[[], bool]] = {
            "leave-one-out equals deletion": lambda: _deletion(corpus, place),
            "token logits equal the decoder": lambda: _linear(corpus, place),
            "a study runs and its second start does nothing": lambda: _study(store, place),
        }
        failed = [name for name, check in checks.items() if not _report(name, check)]
    print("all is well" if not failed else f"{len(failed)} of {len(checks)} checks failed")
    return 1 if failed else 0


def _report(name: str, check: Callable[[], bool]) -> bool:
    started = time.perf_counter()
    good = check()
    print(f"{'ok    ' if good else 'FAILED'} {name} ({time.perf_counter() - started:.1f} s)")
    return good


def _deletion(corpus: Run, place: Machine) -> bool:
    prepared = Prepared(corpus)
    batch = prepared.split("test").batch(range(4)).to(place.device)
    worst = 0.0
    for encoder, attention, layers in itertools.product(ENCODERS, ATTENTIONS, (1, 2, 3)):
        spec = ModelSpec(encoder, attention, layers, hidden=16)
        model = build(spec, prepared.vectors, 2, 0).to(place.device).eval()
        with torch.no_grad():
            fast = model.leave_one_out_logits(batch).less
            for row, position in batch.texts["a"].mask.nonzero().tolist():
                slow = model(_without(batch, row, position)).logits[0]
                worst = max(worst, float((fast[row, position] - slow).abs().max()))
    print(f"       largest difference {worst:.1e}")
    return worst < 1e-5


def _without(batch: Batch, row: int, position: int) -> Batch:
    text = batch.texts["a"]
    keep = [i for i in range(int(text.lengths[row])) if i != position]
    one = slice(row, row + 1)
    less = Text(text.tokens[one, keep], text.lengths[one] - 1, text.mask[one, keep])
    return Batch((batch.ids[row],), {"a": less}, batch.labels[one])


def _linear(corpus: Run, place: Machine) -> bool:
    prepared = Prepared(corpus)
    batch = prepared.split("test").batch(range(16)).to(place.device)
    model = build(ModelSpec(), prepared.vectors, 2, 0).to(place.device).eval()
    with torch.no_grad():
        trace = model(batch, keep=Keep(token_logits=True))
    token_logits = trace.token_logits["attention"]
    mixed = torch.einsum("bhqk,bkc->bc", trace.weights["attention"], token_logits.values)
    return bool(torch.allclose(mixed + token_logits.bias, trace.logits, atol=1e-5))


def _study(store: Store, place: Machine) -> bool:
    corpus = default_spec("planted", params={"n_train": 300, "n_test": 60})
    plan = grid(STUDY, [corpus], Choice(["bilstm"], model=(("hidden", 32),)), [0])
    first = run_study(plan, store, place)
    before = {key: (store.root / "runs" / key).stat().st_mtime_ns for key in store.keys()}
    again = run_study(plan, store, place)
    after = {key: (store.root / "runs" / key).stat().st_mtime_ns for key in store.keys()}
    return first.key == again.key and before == after


if __name__ == "__main__":
    sys.exit(main())
