"""Sweeps: the same rows whatever the engine, and a lost worker costs its own job only."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import psutil
import pytest
import torch

from heedful.errors import HeedfulError
from heedful.runner import (
    TRIES,
    Engine,
    Event,
    Job,
    JobQueue,
    Machine,
    Shard,
    WorkerPool,
    claimed,
    environment,
    first_free,
    free_memory,
    list_studies,
    makespan,
    run_jobs,
    run_study,
    shard,
    worker_pool,
)
from heedful.specs import ProbeSpec
from heedful.store import Store
from sweeping import HERE, MODELS, Watcher, needs_ray, planned, results, small_plan, swept


@pytest.fixture(scope="module")
def sequential(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sequential")
    run_study(small_plan(), Store(place), HERE)
    return place


def test_two_processes_give_the_same_bytes(sequential: Path, tmp_path: Path) -> None:
    watch, store = Watcher(), Store(tmp_path)
    jobs = planned(small_plan(), store)
    assert run_jobs(jobs, store, HERE, Engine("local", WorkerPool(2)), watch) == []
    assert results(tmp_path) == results(sequential)
    assert len(results(tmp_path)) == 12 * 2
    assert sorted(watch.names("finished")) == sorted(job.name for job in jobs if not job.done)
    assert len({event.worker for event in watch.events}) == 2
    ours = list_studies([small_plan()], [], store, HERE)
    assert [run.key for run in ours] == [run.key for run in Store(sequential).runs("study")]
    again = planned(small_plan(), store)
    assert all(job.done for job in again)
    watch.events.clear()
    assert run_jobs(again, store, HERE, Engine("local", WorkerPool(2)), watch) == []
    assert watch.events == []


@needs_ray
def test_two_ray_workers_give_the_same_bytes_and_one_may_die(
    sequential: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else sees this Ray: it listens on loopback only, and serves no page."""
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else workers wait for everybody else
    watch, store, open_to = Watcher(), Store(tmp_path), list[tuple[str, str]]()

    def kill_the_first(event: Event) -> None:
        """Its worker, which by then has been given another job."""
        watch(event)
        if event.what == "finished" and len(watch.names("finished")) == 1:
            open_to.extend(_listening())
            os.kill(int(event.worker.rpartition(":")[2]), signal.SIGKILL)

    jobs = planned(small_plan(), store)
    assert run_jobs(jobs, store, HERE, Engine("ray", WorkerPool(2)), kill_the_first) == []
    assert sorted(watch.names("finished")) == sorted(job.name for job in jobs if not job.done)
    assert results(tmp_path) == results(sequential)
    assert {host.removeprefix("::ffff:") for host, _ in open_to} == {"127.0.0.1"}
    programs = " ".join(name for _, name in open_to)
    assert "gcs_server" in programs and "raylet" in programs and "dashboard.py" not in programs
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def _listening() -> list[tuple[str, str]]:
    """Hosts and programs of every socket that this process and its children listen on."""
    every = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return [
        (socket.laddr.ip, " ".join(process.cmdline()))
        for process in every
        if process.status() != psutil.STATUS_ZOMBIE
        for socket in process.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN
    ]


def test_shards_together_are_the_whole(sequential: Path, tmp_path: Path) -> None:
    plan = small_plan()
    parts = [Shard(number, 2).cut(plan) for number in (1, 2)]
    assert 0 < len(parts[0].cells) < len(plan.cells)
    assert sorted(cell.name for part in parts for cell in part.cells) == sorted(
        cell.name for cell in plan.cells
    )
    for part in parts:
        assert swept(part, tmp_path, "here") == []
    assert results(tmp_path) == results(sequential)
    assert all(job.done for job in planned(plan, tmp_path))


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_impossible_shards_are_refused(text: str) -> None:
    with pytest.raises(HeedfulError, match="write i/n"):
        shard(text)


def test_a_killed_worker_costs_its_own_job(tmp_path: Path) -> None:
    """Killed in the middle of a training, after its first checkpoint."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert swept(small_plan(MODELS[:2], epochs=15, seeds=[0]), whole, "here") == []
    store, watch = Store(killed), Watcher()
    jobs = planned(small_plan(MODELS[:2], epochs=15, seeds=[0]), store)
    victim = next(job for job in jobs if job.kind == "model" and "lstm" in job.title)

    def kill() -> None:
        checkpoint = killed / "scratch" / victim.name / "checkpoint.safetensors"
        while not checkpoint.exists():
            time.sleep(0.005)
        started = next(e for e in watch.events if e.job == victim and e.what == "started")
        os.kill(int(started.worker.rpartition(":")[2]), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    assert run_jobs(jobs, store, HERE, Engine("local", WorkerPool(2)), watch) == []
    killer.join()
    assert watch.names("retried") == [victim.name]
    assert "signal 9" in next(event.reason for event in watch.events if event.what == "retried")
    started = watch.names("started")
    assert {name: started.count(name) for name in started} == {
        job.name: 2 if job is victim else 1 for job in jobs if not job.done
    }
    assert results(killed) == results(whole)


def test_a_failing_job_does_not_stop_the_others(tmp_path: Path) -> None:
    plan = small_plan(MODELS[:2], seeds=[0])
    bad = replace(plan.cells[0], train=replace(plan.cells[0].train, learning_rate=1e6))
    plan = replace(plan, cells=[bad, plan.cells[1]])
    failures = swept(plan, tmp_path, "here")
    assert [(failure.job.kind, failure.skipped) for failure in failures] == [
        ("model", False),
        ("probes", True),
    ]
    assert "learning rate is 1000000.0" in failures[0].reason
    assert failures[1].reason == "it needs planted average-additive seed 0, which is not there"
    (run,) = list_studies([plan], failures, Store(tmp_path), HERE)
    assert set(run.table("cells")["model"]) == {"lstm-additive"}
    assert set(run.table("skipped")["reason"]) == {failures[1].reason}


def test_what_a_probe_compares_is_trained_before_it(tmp_path: Path) -> None:
    """Teachers first; what two cells need is there once."""
    probes = (ProbeSpec("permutation"), ProbeSpec("frontier"), ProbeSpec("seeds"))
    jobs = planned(small_plan(MODELS[:1], probes, seeds=[0]), tmp_path)
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names)
    models = {job.name: job for job in jobs if job.kind == "model"}
    assert len(models) > 2
    taught = [job for job in models.values() if job.work and job.work.recipe.teacher]
    assert taught
    for job in jobs:
        assert all(names.index(need) < names.index(job.name) for need in job.needs)
    (last,) = [job for job in jobs if job.kind == "probes"]
    assert set(last.needs) == set(models)


def job(name: str, *needs: str, cost: float = 1.0) -> Job:
    return Job("model", name, name, needs=needs, cost=cost)


def test_a_job_that_always_dies_is_given_up() -> None:
    events: list[Event] = []
    queue = JobQueue([job("a"), job("b", "a"), job("c", "b"), job("d")], events.append)
    for _ in range(TRIES):
        first = queue.take()
        assert first is not None and first.name == "a"
        queue.died(first, "w", "its worker was killed (signal 9)")
    assert queue.failures[0].reason == "its worker was killed (signal 9), 3 times"
    assert [failure.job.name for failure in queue.failures] == ["a", "b", "c"]
    last = queue.take()
    assert last is not None and last.name == "d"
    assert queue.take() is None and not queue.over
    queue.finished(last, "w", 1.0)
    assert queue.over
    assert [event.what for event in events] == [
        *("retried", "retried", "failed", "skipped", "skipped", "finished")
    ]


def test_a_new_worker_takes_the_card_of_the_one_that_died() -> None:
    assert [first_free(set(range(n))) for n in range(3)] == [0, 1, 2]
    assert first_free({1, 2, 3}) == 0 and first_free({0, 1, 3}) == 2


def test_the_makespan_of_two_workers() -> None:
    jobs = [job("a", cost=3), job("b", cost=2), job("c", "b", cost=2), job("d", "a", cost=1)]
    assert makespan(jobs, 1) == 8
    assert makespan(jobs, 2) == 4
    assert makespan([replace(each, done=True) for each in jobs], 2) == 0


def group(folder: Path, **numbers: int | str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, number in numbers.items():
        (folder / name.replace("__", ".")).write_text(f"{number}\n")


def test_memory_is_what_is_left_of_a_limit(tmp_path: Path) -> None:
    """Used memory counts, but not files that the kernel only remembers; groups are nested."""
    groups, own = tmp_path / "cgroup", tmp_path / "own"
    own.write_text("0::/job/step\n")
    assert free_memory(groups, own) > 1 << 20 and free_memory(groups, tmp_path / "no") > 1 << 20
    group(groups / "job", memory__max=1_000_000, memory__current=700_000)
    group(groups / "job/step", memory__max="max", memory__current=600_000)
    assert free_memory(groups, own) == 300_000
    group(groups / "job", memory__stat="anon 5\ninactive_file 200000")
    assert free_memory(groups, own) == 500_000
    group(groups / "job/step", memory__max=650_000)
    assert free_memory(groups, own) == 50_000
    group(groups / "job/step", memory__current=700_000)
    assert free_memory(groups, own) == 0
    own.write_text("5:cpu,memory:/elsewhere\n0::/\n")
    group(groups / "memory", memory__limit_in_bytes=900_000, memory__usage_in_bytes=300_000)
    group(groups / "memory", memory__stat="total_inactive_file 100000\ninactive_file 7")
    assert free_memory(groups, own) == 700_000


def test_cards_that_were_given_are_dealt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(device="cuda")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    dealt = [environment(number, machine) for number in range(3)]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in dealt] == ["0", "1", "0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,GPU-7")
    dealt = [environment(number, machine) for number in range(3)]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in dealt] == ["4", "GPU-7", "4"]
    assert environment(1, Machine())["CUDA_VISIBLE_DEVICES"] == "4,GPU-7"


def test_workers_fit_cores_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = import_module("heedful.runner.machine")  # the package has a function of that name
    monkeypatch.setattr(machines, "cores", lambda: 8)
    monkeypatch.setattr(machines, "worker_memory", lambda: 2_000_000_000)
    monkeypatch.setattr(machines, "free_memory", lambda: 100_000_000_000)
    assert (worker_pool().workers, worker_pool().threads, worker_pool().reason) == (8, 1, "8 cores")
    monkeypatch.setattr(machines, "free_memory", lambda: 7_000_000_000)
    assert (worker_pool().workers, worker_pool().threads) == (3, 2)
    assert worker_pool().reason == "7.0 GB free, about 2.0 GB each"
    monkeypatch.setattr(machines, "free_memory", lambda: 1_000_000_000)
    assert (worker_pool().workers, worker_pool().threads) == (1, 8)
    assert (worker_pool(4).workers, worker_pool(4).threads, worker_pool(4, 1).threads) == (4, 2, 1)
    for wrong in (0, -1, 5000):
        with pytest.raises(HeedfulError, match="--workers"):
            worker_pool(wrong)
    with pytest.raises(HeedfulError, match="--gpu-fraction"):
        worker_pool(gpu_fraction=0)


def test_a_claim_makes_the_second_wait(tmp_path: Path) -> None:
    store, order = Store(tmp_path), list[str]()
    entered = threading.Event()

    def second() -> None:
        entered.wait()
        with claimed(store, "model-1"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with claimed(store, "model-1"):
        entered.set()
        time.sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert list((tmp_path / "scratch").iterdir()) == []


def test_who_does_not_wait_for_a_claim_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with claimed(store, "model-1") as mine, claimed(store, "model-1", wait=False) as also:
        assert mine and not also
        with claimed(store, "model-2", wait=False) as other:
            assert other
    with claimed(store, "model-1", wait=False) as again:
        assert again
    assert list((tmp_path / "scratch").iterdir()) == []


def test_when_the_time_is_up_the_queue_is_over_and_nothing_is_handed_out() -> None:
    queue = JobQueue([job("a"), job("b")], until=time.monotonic() + 60)
    assert queue.take() is not None and not queue.over and 0 < (queue.seconds_left or 0) <= 60
    late = JobQueue([job("a")], until=time.monotonic() - 1)
    assert late.over and late.take() is None and late.seconds_left == 0
    assert JobQueue([job("a")]).seconds_left is None


def test_work_that_a_time_limit_stopped_is_done_by_the_next_start(tmp_path: Path) -> None:
    plan = small_plan(MODELS[:1], epochs=1, seeds=[0])
    stopped = time.monotonic() - 1
    for until, done in ((stopped, False), (None, True)):
        work = planned(plan, tmp_path)
        engine = Engine("local", WorkerPool(1))
        assert run_jobs(work, Store(tmp_path), HERE, engine, until=until) == []
        assert all(each.done for each in planned(plan, tmp_path)) == done
