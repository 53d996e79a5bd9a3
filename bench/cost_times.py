"""The constants: what an update and a probe take and leave, at small sizes and at two larger."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from bench.cost_model import (
    BYTES,
    LINEAR,
    UPDATE,
    UPDATE_WRITING,
    WORK,
    Asked,
    Fit,
    Needs,
    Point,
    checked,
    evidence,
    fit,
    probed_alike,
    standing_in,
    trained_alike,
)
from heedful.data import default_spec
from heedful.experiments import PROBES, Evidence, Findings
from heedful.metrics import summarise
from heedful.models import build
from heedful.runner import Choice, Machine, Recipe, compared, grid, run_study
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Store, canonical
from heedful.studies import STUDIES
from heedful.training import TERMS, Objective, train

TINY: dict[str, Any] = {"n_train": 16, "n_dev": 8, "n_test": 8}
TINY_PROBES = ["correlation", "permutation"]


def runs(device: str) -> Iterator[dict[str, Any]]:
    """Seconds and files of a run, from two seeds of which the second finds everything loaded."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store")
        _cell(store, 0, device)
        before, started = _files(store), time.perf_counter()
        _cell(store, 1, device)
        spent, made = time.perf_counter() - started, _files(store)
    count = 1 + len(TINY_PROBES) + 1  # a model, its probes, the list
    small = [size for path, size in made.items() if path not in before and path.name == "run.json"]
    yield {
        "seconds": spent / count,
        "files": (len(made) - len(before)) / count,
        "bytes": sum(small) / len(small),
    }


def _cell(store: Store, seed: int, device: str) -> None:
    choice = Choice(["average"], train=(("epochs", 1),), probes=TINY_PROBES)
    plan = grid(STUDIES["jain2019"].make(), [default_spec("planted", **TINY)], choice, [seed])
    run_study(plan, store, Machine(device, 1))


def _files(store: Store) -> dict[Path, int]:
    return {path: path.stat().st_size for path in store.root.rglob("*") if path.is_file()}


CHECKED = ("bilstm-additive", "cnn-additive", "average-additive", "pair-bilstm-additive-query")
"""Held against larger sizes; the others would take as long again."""


@dataclass(frozen=True)
class Sizes:
    """Where constants come from, and the two larger sizes where they are checked: of training
    (length, batch, vocabulary), of probes (texts, length)."""

    updates: Sequence[tuple[int, int, int]]
    larger_updates: Sequence[tuple[int, int, int]]
    texts: Sequence[tuple[int, int]]
    larger_texts: Sequence[tuple[int, int]]
    batches: int = 4
    repeats: int = 1
    most: int | None = None


CPU = Sizes(
    ((8, 16, 1000), (16, 32, 1000), (32, 16, 1000), (16, 16, 8000), (32, 32, 4000)),
    ((96, 32, 8000), (160, 32, 14_000)),
    ((24, 8), (96, 8), (24, 32), (72, 32), (12, 96)),
    ((160, 48), (64, 160)),
    repeats=2,  # other work on the machine is the rule there
)
CARD = Sizes(
    ((16, 32, 2000), (32, 32, 8000), (64, 32, 2000), (32, 128, 2000), (64, 128, 8000)),
    ((128, 64, 14_000), (190, 256, 32_000)),
    ((128, 12), (512, 12), (128, 48), (384, 48), (64, 160)),
    ((1024, 64), (256, 300)),
    batches=6,
)
QUICK = Sizes(
    ((4, 4, 60), (8, 4, 60)), ((8, 8, 90), (12, 8, 90)), ((4, 4), (6, 6)), ((8, 8),), 2, most=2
)
BOOTSTRAPPED = "score"
"""Nearly all of it is resampling: two sizes say enough, and take long."""


def trainings(found: Needs, sizes: Sizes, device: str) -> Iterator[dict[str, Any]]:
    """Seconds of an update, by model."""
    first: dict[ModelSpec, str] = {}
    for corpus, each in found.models:
        first.setdefault(trained_alike(each.model), corpus)
    for model, corpus in islice(first.items(), sizes.most):
        writes = model.family in ("seq2seq", "transformer")

        def at(size: tuple[int, int, int], model: ModelSpec = model, corpus: str = corpus) -> Any:
            return _update(model, corpus, size, device, sizes.batches)

        small = [at(size) for size in sizes.updates]
        known = fit(small, UPDATE_WRITING if writes else UPDATE)
        larger = map(at, sizes.larger_updates if model_name(model) in CHECKED else ())
        yield {
            "model": model_name(model),
            "spec": canonical(model),
            "constants": dict(known.constants),
            "checks": [checked(known, point, seconds) for point, seconds in larger],
        }


def probings(
    found: Needs, sizes: Sizes, device: str, known: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Seconds and bytes of a probe, by model and probe: first those that most runs need, and
    none of those that are known."""
    asking: dict[str, list[Asked]] = {}
    for _, each in found.probes.values():
        asking.setdefault(probe_key(each.model, each.probe), []).append(each)
    first = sorted(asking.items(), key=lambda item: -len(item[1]))
    unknown = [(key, some[0]) for key, some in first if key not in known]
    for key, asked in unknown[: sizes.most]:
        model = probed_alike(asked.model)

        def at(size: tuple[int, int], asked: Asked = asked, model: ModelSpec = model) -> Any:
            times = 1 if asked.probe.name == BOOTSTRAPPED else sizes.repeats
            some = [_probing(model, asked, size, device) for _ in range(times)]
            return min(some, key=lambda each: each[1])

        features: Sequence[str] = LINEAR if asked.probe.name == BOOTSTRAPPED else WORK
        if features is WORK:
            at(sizes.texts[0])  # what is imported and compiled at the first call
        small = [at(size) for size in sizes.texts[: None if features is WORK else 2]]
        seconds = fit([(point, spent) for point, spent, _ in small], features)
        left = fit([(point, size) for point, _, size in small], BYTES)
        few = model_name(model) in CHECKED
        larger = [at(size) for size in (sizes.larger_texts if few else ())]
        yield {
            "model": model_name(model),
            "probe": asked.probe.name,
            "key": key,
            "constants": dict(seconds.constants),
            "bytes": dict(left.constants),
            "checks": [checked(seconds, point, spent) for point, spent, _ in larger],
            "byte_checks": [checked(left, point, size) for point, _, size in larger],
        }


def model_name(model: ModelSpec) -> str:
    """With its width, where that is not the usual one."""
    return model.name + (f" ({model.hidden})" if model.hidden else "")


def probe_key(model: ModelSpec, probe: ProbeSpec) -> str:
    """A score is nearly all bootstrap, whatever the model: one for each family."""
    alike = model.family if probe.name == "score" else probed_alike(model)
    return canonical({"model": alike, "probe": probe})


def _update(
    model: ModelSpec, corpus: str, size: tuple[int, int, int], device: str, batches: int
) -> tuple[Point, float]:
    length, batch, vocabulary = size
    data = standing_in(corpus, 4, length, vocabulary, train=batch * batches)
    spec = TrainSpec(epochs=3, batch_size=batch, class_weights=False)
    objective = Objective(model.goal, model.terms, _teacher(model, data, device))
    learner = build(model, data.vectors, data.classes, 0)
    history = train(learner, data, spec, 0, device, objective=objective).history
    shape = data.shape
    point = Point(0, length, shape.second, batch, vocabulary, shape.dimension)
    return point, max(float(history["seconds"].iloc[1:].min()), 5e-4) / batches


def _teacher(model: ModelSpec, data: Any, device: str) -> Any:
    """Where it learns from another model, one of its own kind."""
    asks = model.goal == "teacher" or any("teacher" in TERMS[t.name].needs for t in model.terms)
    plain = replace(model, goal="labels", terms=())
    return build(plain, data.vectors, data.classes, 1).to(device).eval() if asks else None


def _probing(
    model: ModelSpec, asked: Asked, size: tuple[int, int], device: str
) -> tuple[Point, float, int]:
    texts, length = size
    data = standing_in(asked.corpus, texts, length, 1000, train=64)
    seen = evidence(data, model, device)
    started = time.perf_counter()
    findings = _asked(seen, model, asked.probe)
    spent = time.perf_counter() - started
    point = Point(texts, length, data.shape.second, 0, 1000, data.shape.dimension)
    return point, spent, _stored(findings)


def _asked(seen: Evidence, model: ModelSpec, probe: ProbeSpec) -> Findings:
    """As the runner does it; models of other roles are taken to be like the first."""
    base = seen.models["base"]
    others = dict.fromkeys(compared(Recipe(model, TrainSpec(), 0), probe, seen), base)
    findings = PROBES[probe.name].make(
        replace(seen, models={**others, "base": base}), **probe.params
    )
    summary = summarise(findings.rows, 0) if findings.summary is None else findings.summary
    return Findings(findings.rows, findings.maps, summary, findings.notes)


def _stored(findings: Findings) -> int:
    """Bytes of its tables, as the store writes them."""
    tables = (findings.rows, findings.summary, findings.maps)
    return sum(_parquet(table) for table in tables if table is not None)


def _parquet(table: Any) -> int:
    stream = io.BytesIO()
    table.to_parquet(stream, index=False)
    return stream.tell()


def fits(rows: Sequence[Mapping[str, Any]], key: str, name: str = "constants") -> dict[str, Fit]:
    return {str(row[key]): Fit(row[name]) for row in rows}
