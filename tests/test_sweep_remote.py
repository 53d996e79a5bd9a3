"""Sweeps into a store at a URL: workers open the same one, and another machine finds it all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faulty_files import on_machine
from heedful.interventions import restored
from heedful.runner import Engine, Grid, WorkerPool, list_studies, run_jobs, run_study
from heedful.store import Store
from sweeping import HERE, MODELS, PROBES, planned, results, small_plan


def fresh() -> Grid:
    """A plan remembers the store its corpora are in."""
    return small_plan(MODELS[:1], PROBES[:1], seeds=(0,))


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small grid, swept by a worker process into a folder that is reached by a URL."""
    place = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HEEDFUL_CACHE", str(place / "cache"))  # which the worker inherits
        store = on_machine(place / "cache", f"file://{place}/far")
        jobs = planned(fresh(), store)
        assert run_jobs(jobs, store, HERE, Engine("local", WorkerPool(1))) == []
        list_studies([fresh()], [], store, HERE)
    return place / "far"


def test_a_worker_brings_the_rows_that_one_process_brings(far: Path, tmp_path: Path) -> None:
    run_study(fresh(), Store(tmp_path / "plain"), HERE)
    kinds = sorted(path.name.partition("-")[0] for path in (far / "runs").iterdir())
    assert kinds == ["corpus", "model", "probe", "study"]
    store = on_machine(tmp_path / "cache", f"file://{far}")
    assert [run.key for run in store.runs()] == Store(tmp_path / "plain").keys()
    assert results(store.root) == results(tmp_path / "plain") != {}


def test_another_machine_has_nothing_to_do(far: Path, tmp_path: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (far / "runs").iterdir()}
    store = on_machine(tmp_path / "cache", f"file://{far}")
    assert all(job.done for job in planned(fresh(), store))
    run_study(fresh(), store, HERE)
    after = {path.name: path.stat().st_mtime_ns for path in (far / "runs").iterdir()}
    assert before == after


def test_a_model_brings_its_corpus_along(far: Path, tmp_path: Path) -> None:
    store = on_machine(tmp_path / "cache", f"file://{far}")
    (key,) = store.keys("model")
    run = store.open(key)
    assert os.listdir(store.root / "runs") == [key]
    restored(run)
    assert len(os.listdir(store.root / "runs")) == 2
