"""Ray clusters that are running already: used, joined, left and lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.cli import main
from heedful.errors import HeedfulError
from heedful.runner import Job, JobQueue, Machine, WorkerPool, attempt_as
from heedful.runner import ray as engine
from ray_nodes import Nodes, cluster
from sweeping import Watcher, needs_ray, results

GRID = """\
precision: float32
studies:
  - study: jain2019
    corpora: [planted]
    encoders: [{encoders}]
    attention: [additive]
    seeds: {seeds}
    epochs: {epochs}
    probes: [reachability]
    params: {{n_train: {texts}, n_dev: 20, n_test: 12}}
"""
STUDY = ["--corpora=planted", "--encoders=average", "--attention=additive", "--seeds=1"]
STUDY += ["--epochs=1", "--probes=reachability", "--param=n_train=60", "--param=n_dev=20"]
STUDY += ["--param=n_test=12"]
QUICK = GRID.format(encoders="average", seeds=1, epochs=1, texts=60)
LONG = GRID.format(encoders="lstm", seeds=3, epochs=40, texts=300)


class Sweep:
    """`heedful sweep` on a cluster as a process, and the lines it writes."""

    def __init__(self, grid: Path, store: Path, nodes: Nodes) -> None:
        self._store, self._log = store, store.with_suffix(".log")
        given = ["sweep", str(grid), "--store", str(store), "--threads", "1", "--device", "cpu"]
        ray = ["--engine", "ray", "--address", nodes.address, "--json"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "heedful.cli.main", *given, *ray],
                stdout=subprocess.PIPE,
                stderr=log,
                env=nodes.environment,
                text=True,
            )

    @property
    def lines(self) -> list[str]:
        return self._log.read_text(encoding="utf8", errors="replace").splitlines()

    def wait_for(self, there: Callable[[], bool], seconds: float = 240) -> None:
        end = time.monotonic() + seconds
        while not there():
            assert self.process.poll() is None and time.monotonic() < end, self.lines
            time.sleep(0.05)

    def training(self) -> bool:
        """In the middle: an epoch is done, and others are not."""
        return any(self._store.glob("scratch/model-*/checkpoint.safetensors"))

    def end(self, seconds: float = 120) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, out


def local(folder: Path, text: str) -> tuple[Path, dict[str, str]]:
    """The grid's file, and what it gives by processes on this machine."""
    grid, store = folder / "grid.yaml", folder / "local"
    grid.write_text(text, encoding="utf8")
    given = ["sweep", str(grid), "--store", str(store), "--threads", "1", "--device", "cpu"]
    command = [sys.executable, "-m", "heedful.cli.main", *given, "--workers", "2"]
    subprocess.run(command, check=True, capture_output=True)
    return grid, results(store)


@pytest.mark.slow
@needs_ray
def test_a_running_cluster_gives_the_same_bytes(tmp_path: Path) -> None:
    grid, here = tmp_path / "grid.yaml", tmp_path / "here"
    grid.write_text(QUICK, encoding="utf8")
    plain = ["--store", str(here), "--threads", "1", "--device", "cpu"]
    assert main(["study", "jain2019", *STUDY, *plain]) == 0
    expected = results(here)
    with cluster(tmp_path, head_cores=1) as nodes:
        sweep = Sweep(grid, tmp_path / "store", nodes)
        code, out = sweep.end()
    assert (code, json.loads(out)["failures"]) == (0, []), sweep.lines
    assert results(tmp_path / "store") == expected and len(expected) == 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@needs_ray
def test_nodes_that_die_and_nodes_that_join(tmp_path: Path) -> None:
    """Of two nodes one dies in the middle of a training; a third joins then, and the second dies
    too: the rest can only be done by the one that was late."""
    grid, expected = local(tmp_path, LONG)
    with cluster(tmp_path) as nodes:
        nodes.join("first")
        nodes.join("second")
        sweep = Sweep(grid, tmp_path / "store", nodes)
        sweep.wait_for(sweep.training)
        nodes.kill("first")
        nodes.join("late")
        nodes.kill("second")
        code, out = sweep.end(400)
    assert (code, json.loads(out)["failures"]) == (0, []), sweep.lines
    lost = [line for line in sweep.lines if "] retried: " in line]
    assert lost and all("its node was lost" in line for line in lost), sweep.lines
    assert results(tmp_path / "store") == expected


@pytest.mark.slow
@pytest.mark.timeout(900)
@needs_ray
def test_a_lost_head_is_one_sentence_and_a_second_start_goes_on(tmp_path: Path) -> None:
    grid, expected = local(tmp_path, LONG)
    with cluster(tmp_path) as nodes:
        nodes.join("first")
        sweep = Sweep(grid, tmp_path / "store", nodes)
        sweep.wait_for(sweep.training)
        nodes.kill("head")
        started = time.monotonic()
        code, out = sweep.end()
        assert time.monotonic() - started < 50  # after 60 s Ray would have ended it
    assert (code, out) == (2, "")
    said = [line for line in sweep.lines if "error: " in line]
    assert len(said) == 1 and "does not answer any more: what was done is kept" in said[0]
    assert "Traceback" not in "\n".join(sweep.lines)
    assert set(results(tmp_path / "store").items()) <= set(expected.items())
    again = tmp_path / "again"
    again.mkdir()
    with cluster(again, head_cores=2) as nodes:
        code, out = Sweep(grid, tmp_path / "store", nodes).end(400)
    assert (code, json.loads(out)["failures"]) == (0, [])
    assert results(tmp_path / "store") == expected


@pytest.mark.slow
@pytest.mark.timeout(900)
@needs_ray
def test_a_wrong_token_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster(tmp_path) as nodes:
        for name, value in nodes.environment.items():
            if name.startswith("RAY_"):
                monkeypatch.setenv(name, value)
        engine.check(nodes.address)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        with pytest.raises(HeedfulError, match="asks for another token: set RAY_AUTH_TOKEN_PATH"):
            engine.check(nodes.address)


def test_a_task_asks_for_its_part_of_a_card() -> None:
    pool = WorkerPool(4, gpu_fraction=0.5)
    assert engine.share(pool, Machine("cuda", 3)) == {
        "num_cpus": 3,
        "num_gpus": 0.5,
        "max_retries": 0,
    }
    assert "num_gpus" not in engine.share(pool, Machine("cpu", 3))


def job() -> Job:
    return Job("model", "model-1", "planted cnn seed 0")


def test_a_node_with_another_heedful_is_refused(tmp_path: Path) -> None:
    outcome = attempt_as("0.0.1", job(), tmp_path, Machine())
    assert outcome.fix and "and the sweep is of 0.0.1: install the same" in outcome.error
    assert list(tmp_path.iterdir()) == []


class Raised:
    """Stands for Ray, whose task has ended with `error`."""

    class exceptions:  # noqa: N801
        class RayError(Exception): ...

        class RayTaskError(RayError): ...

        class NodeDiedError(RayError): ...

        class Unheard(RayError): ...

    def get(self, error: Exception) -> None:
        raise error


@pytest.mark.parametrize(
    ("error", "what", "said"),
    [
        (Raised.exceptions.NodeDiedError("long"), "retried", "its node was lost"),
        (Raised.exceptions.Unheard("long"), "retried", "its worker was lost (Unheard)"),
        (
            Raised.exceptions.RayTaskError(
                "long\nModuleNotFoundError: No module named 'heedful'\n"
            ),
            "failed",
            "(ModuleNotFoundError: No module named 'heedful'): install the same version on every",
        ),
    ],
)
def test_what_became_of_a_task_is_said(error: Exception, what: str, said: str) -> None:
    watch = Watcher()
    queue = JobQueue([job()], watch)
    taken = queue.take()
    assert taken is not None
    engine._settle(Raised(), queue, taken, error)
    assert [event.what for event in watch.events] == [what]
    assert said in watch.events[0].reason


def test_a_head_is_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be restarted; only one that stays silent is gone."""
    now, alive = [0.0], [True]

    class Context:
        gcs_address = "127.0.0.1:6379"

    class Ray:
        get_runtime_context = Context

    monkeypatch.setattr(engine.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(engine, "connects", lambda address: alive[0])
    head = engine.Head(Ray())
    for now[0], alive[0] in [(5, True), (10, False), (24, False), (26, True), (40, False)]:
        head.check()
    now[0] = 47
    with pytest.raises(HeedfulError, match="127.0.0.1:6379 does not answer any more"):
        head.check()


def test_a_ray_that_would_be_open_is_not_started() -> None:
    class Ray:
        class util:  # noqa: N801
            @staticmethod
            def get_node_ip_address() -> str:
                return "10.0.0.7"

    with pytest.raises(HeedfulError, match="RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 before"):
        engine._loopback(Ray())
