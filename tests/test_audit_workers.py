"""Audits, checks and repairs by several workers: the same bytes as in one process."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from audited import MOVED, PLANTED, audit, planted_run, texts, wave_settings
from heedful.auditing import Audit, RepairWork, audit_subject, repair
from heedful.errors import HeedfulError
from heedful.runner import EngineRequest, Machine, run_jobs
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Run, Store
from heedful.targets import open_target
from sweeping import needs_ray
from tiny_tokenizers import saved

auditing = import_module("heedful.auditing.audit")
workers = import_module("heedful.auditing.workers")
ONE_THREAD = Machine(threads=1)
TWO = {"engine": "local", "workers": 2, "threads": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return planted_run(Store(tmp_path_factory.mktemp("trained")))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Several batches of few examples."""
    monkeypatch.setattr(auditing, "waves", partial(wave_settings.waves, wave=3))
    yield


def tables(result: Audit) -> dict[str, pd.DataFrame]:
    return {name: result.tables[name].whole for name in ("rows", "maps", "documents", "shown")}


def same(one: Audit, other: Audit) -> bool:
    first, second = tables(one), tables(other)
    return all(first[name].equals(second[name]) for name in first)


@pytest.fixture
def alone(run: Run, small_batches: None) -> Audit:
    return audit(run, spec=MOVED, threads=1)


def given_to(run: Run, store: Path, **options: Any) -> Audit:
    return audit(run, spec=MOVED, store=store, **{**TWO, **options})


def test_two_workers_measure_what_one_process_does(run: Run, alone: Audit, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    found = given_to(run, tmp_path, progress=lambda *said: told.append(said))
    assert same(alone, found) and found.verdict.facts["key"] == alone.verdict.facts["key"]
    assert [done for label, done, _ in told if label == "audit"][-1] == 12
    assert len(Store(tmp_path).keys("audit")) == 1
    assert not list(tmp_path.glob("scratch/audit*"))


def test_a_worker_measures_its_batch_alone(
    run: Run, alone: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, one job after another: what workers do, without waiting for them."""
    seen: list[tuple[int, ...]] = []

    def here(jobs: Any, store: Store, machine: Any, engine: Any, watch: Any) -> Any:
        for job in jobs:
            if not job.done:
                seen.append(job.work.places)
                pickle.loads(pickle.dumps(job.work))(store.place, ONE_THREAD)
        return []

    monkeypatch.setattr(workers, "run_jobs", here)
    assert same(alone, given_to(run, tmp_path))
    assert sorted(place for places in seen for place in places) == list(range(12))
    assert len(seen) > 2


def test_a_hugging_face_model_stays_open_from_batch_to_batch(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(jobs: Any, store: Store, machine: Any, engine: Any, watch: Any) -> Any:
        for job in jobs:
            pickle.loads(pickle.dumps(job.work))(store.place, ONE_THREAD)
        return []

    model, data = str(saved(tmp_path / "model")), tmp_path / "texts.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in texts(6)), encoding="utf8")
    alone = audit(model, data, spec=MOVED, store=tmp_path / "alone", threads=1)
    monkeypatch.setattr(workers, "run_jobs", here)
    assert same(alone, audit(model, data, spec=MOVED, store=tmp_path / "store", **TWO))


def test_a_stopped_audit_goes_on_with_workers(
    run: Run, alone: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is not there yet is given out; a damaged batch is measured again."""
    jobs: list[Any] = []

    def some(given: Any, store: Store, machine: Any, engine: Any, watch: Any) -> Any:
        jobs[:] = given
        for job in given[:2]:
            job.work(store.place, ONE_THREAD)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "run_jobs", some)
    with pytest.raises(KeyboardInterrupt):
        given_to(run, tmp_path)
    monkeypatch.setattr(
        workers, "run_jobs", lambda given, *rest: jobs.clear() or jobs.extend(given) or []
    )
    assert same(alone, given_to(run, tmp_path))  # the rest was measured here
    assert [job.done for job in jobs] == [True, True, *[False] * (len(jobs) - 2)]


def test_an_audit_by_workers_leaves_threads_as_they_were(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "run_jobs", lambda *jobs: [])
    before = torch.get_num_threads()
    torch.set_num_threads(before + 2)
    try:
        given_to(run, tmp_path, threads=None)
        assert torch.get_num_threads() == before + 2
    finally:
        torch.set_num_threads(before)


def test_as_many_workers_as_the_opened_model_leaves_room_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this process needs is known once the model is open."""
    open_here, room, told = auditing.open_target, import_module("heedful.runner.machine"), []

    def opened(*given: Any, **options: Any) -> Any:
        told.append("opened")
        return open_here(*given, **options)

    monkeypatch.setattr(auditing, "open_target", opened)
    monkeypatch.setattr(room, "worker_memory", lambda: told.append("asked") or 1 << 40)
    monkeypatch.setattr(workers, "run_jobs", lambda *jobs: told.append(jobs[3].pool.workers) or [])
    given_to(run, tmp_path, workers=None)
    assert told[told.index("opened") :] == ["opened", "asked", 1]


def test_another_model_than_this_process_has_is_refused(run: Run, tmp_path: Path) -> None:
    with open_target(run) as target:
        made = workers.workers_of(
            auditing.Running(**TWO), run, None, (MOVED, auditing.Plan(tmp_path)), {}
        )
        places = np.arange(2)
        work = workers.BatchWork(made.reopening, "audit-0", tmp_path, tuple(places.tolist()))
        assert len(target) == 12
        with pytest.raises(HeedfulError, match="another model or other texts"):
            work(tmp_path, ONE_THREAD)
        lost = workers.BatchWork(made.reopening, "audit-0", tmp_path / "none", (0,))
        with pytest.raises(HeedfulError, match="this worker cannot see the folder"):
            lost(tmp_path, ONE_THREAD)


def test_a_corpus_is_no_folder_of_the_same_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file stays the same from any folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("planted", "file"):
        (tmp_path / name).mkdir()

    def told(data: str | Path) -> str | None:
        asked = (MOVED, auditing.Plan(tmp_path))
        made = workers.workers_of(auditing.Running(**TWO), run, data, asked, {})
        return pickle.loads(made.reopening).data

    assert told("planted") == "planted"
    assert [told("file"), told(Path("planted"))] == [
        str(tmp_path / "file"), str(tmp_path / "planted")
    ]  # fmt: skip


def test_workers_are_told_of_places_as_any_folder_has_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is in the store that is read, and batches may be kept in another one."""
    monkeypatch.chdir(tmp_path)
    options = {"store": run.path.parent.parent, "data_dir": Path("data")}
    asked = (MOVED, auditing.Plan(tmp_path / "kept"))
    made = workers.workers_of(auditing.Running(**TWO), run.key, None, asked, options)
    reopening = pickle.loads(made.reopening)
    assert reopening.model == str(run.path.resolve())
    assert reopening.options == {"data_dir": tmp_path / "data"}


def test_batches_that_fail_are_told_of(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(jobs: Any, store: Store, machine: Any, engine: Any, watch: Any) -> Any:
        for job in jobs:
            object.__setattr__(job.work, "folder", tmp_path / "none")
        here = type(engine)("here", engine.pool)
        return run_jobs(jobs, store, machine, here, watch)

    monkeypatch.setattr(workers, "run_jobs", fails)
    with pytest.raises(HeedfulError, match="batches were not measured .*what was measured is kept"):
        given_to(run, tmp_path)


def test_an_audit_that_another_process_finished_is_found(
    run: Run, alone: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(jobs: Any, store: Store, machine: Any, engine: Any, watch: Any) -> Any:
        audit(run, spec=MOVED, store=store, threads=1)
        return run_jobs(jobs, store, machine, type(engine)("here", engine.pool), watch)

    monkeypatch.setattr(workers, "run_jobs", late)
    assert same(alone, given_to(run, tmp_path))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"store": None}, "name one"),
        ({"data": [{"text": "a good film", "label": 1}]}, "table in memory"),
        ({"words": lambda text: ((0, len(text)),)}, "function for words in memory"),
        ({"budget": "1min"}, "either --engine or --budget"),
        ({"engine": None}, "--workers needs an engine"),
        ({"engine": "cloud"}, "unknown engine 'cloud'"),
        ({"store": "memory://runs", "engine": "ray", "address": "127.0.0.1:1"}, "is a URL"),
    ],
)
def test_what_workers_cannot_be_given_is_refused(
    run: Run, tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(HeedfulError, match=told):
        given_to(run, tmp_path, **options) if "store" not in options else audit(
            run, spec=MOVED, **{**TWO, **options}
        )


def test_a_model_in_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeedfulError, match="model in memory"):
        audit((None, None), "planted", spec=MOVED, store=tmp_path, **TWO)


@pytest.mark.slow
def test_a_killed_worker_costs_its_batch(run: Run, alone: Audit, tmp_path: Path) -> None:
    """Killed as soon as the first batch is there."""
    children = f"/proc/{os.getpid()}/task/{os.getpid()}/children"

    def kill() -> None:
        while not list(tmp_path.glob("scratch/audit-*/*")):
            time.sleep(0.01)
        victim = int(Path(children).read_text().split()[-1])
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    assert same(alone, given_to(run, tmp_path))
    killer.join()


@pytest.mark.slow
@needs_ray
def test_ray_measures_what_one_process_does(run: Run, alone: Audit, tmp_path: Path) -> None:
    assert same(alone, given_to(run, tmp_path, engine="ray"))


@pytest.mark.slow
def test_a_repair_by_workers_is_the_same(tmp_path: Path) -> None:
    def work(**engine: Any) -> RepairWork:
        asked = EngineRequest(**engine) if engine else EngineRequest()
        base = ModelSpec("average", "additive", hidden=8)
        return RepairWork(
            PLANTED, base, ("tying",), (0, 1), TrainSpec(epochs=1), MOVED, texts=12, engine=asked
        )

    one = repair(work(), Store(tmp_path / "one"), ONE_THREAD)
    two = repair(work(**TWO), Store(tmp_path / "two"), ONE_THREAD)
    assert json.dumps(one.facts, default=str) == json.dumps(two.facts, default=str)
    assert one.table.equals(two.table)


def test_audit_subject_needs_no_workers(run: Run, alone: Audit) -> None:
    with open_target(run) as target:
        assert same(alone, audit_subject(target, MOVED))
