"""Nobody works for a sweep that is gone: killed in its first second, too."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from heedful.runner import own_processes
from sweeping import needs_ray

MARK = "HEEDFUL_TEST_MARK"
LONG = """\
precision: float32
studies:
  - {study: jain2019, corpora: [planted], encoders: [lstm], attention: [additive], seeds: 2,
     epochs: 4000, probes: [reachability], params: {n_train: 300, n_dev: 20, n_test: 12}}
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def gone(processes: list[psutil.Process], seconds: float) -> bool:
    return not psutil.wait_procs(processes, seconds)[1]


def test_a_worker_of_a_parent_that_is_gone_leaves_before_it_works() -> None:
    """The line to it is open, so only the parent's number can tell it."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        number = theirs.fileno()
        command = [sys.executable, "-m", "heedful.runner.processes", "worker", str(number)]
        worker = subprocess.Popen([*command, str(dead.pid)], pass_fds=[number], env=ENVIRONMENT)
        try:
            assert worker.wait(30) == 1
        finally:
            worker.kill()
            worker.wait()


STARTS = """
import subprocess, sys, time
from heedful.runner.processes import own_processes
with own_processes():
    grandchild = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; " \\
        "time.sleep(600)'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", grandchild])
    print("started", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_what_our_own_ray_started_is_gone_with_us(number: signal.Signals) -> None:
    """Also what its processes have started and left, as Ray's do; and nothing else."""
    other = psutil.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    mark = f"{os.getpid()}-{number}"
    process = subprocess.Popen(
        [sys.executable, "-c", STARTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**ENVIRONMENT, MARK: mark},
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == b"started\n"
        left = list(marked(mark))
        assert len(left) == 3  # itself, the reaper and the grandchild
        process.send_signal(number)
        process.wait(30)
        assert gone(left, 30) and other.is_running()
    finally:
        other.kill()
        other.wait()
        end(process, mark)


def test_what_is_started_later_is_nobodys() -> None:
    with own_processes():
        assert "HEEDFUL_OWN_RAY" in os.environ
    assert "HEEDFUL_OWN_RAY" not in os.environ


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize(
    ("engine", "first"),
    [("local", "runner.processes"), pytest.param("ray", "raylet", marks=needs_ray)],
)
def test_a_sweep_that_is_stopped_early_leaves_nobody(
    tmp_path: Path, engine: str, first: str, number: signal.Signals
) -> None:
    """As soon as there is a process of the engine's: it has not even imported what it needs."""
    (tmp_path / "grid.yaml").write_text(LONG, encoding="utf8")
    mark = f"{os.getpid()}-{engine}-{number}"
    given = ["sweep", "grid.yaml", "--store", "store", "--engine", engine, "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "heedful", *given, "--threads", "1", "--device", "cpu"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**ENVIRONMENT, MARK: mark},
    )
    try:
        until = time.monotonic() + 120
        while not any(first in word for each in marked(mark) for word in command_of(each)):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1] if number == signal.SIGINT else ""
        process.wait(60)
        assert gone(list(marked(mark)), 20)
        assert "Traceback" not in said
        assert process.returncode == (130 if number == signal.SIGINT else -number)
    finally:
        end(process, mark)


def marked(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK) == mark:
                yield process


def command_of(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return list(process.cmdline())
    return []


def end(process: subprocess.Popen[str] | subprocess.Popen[bytes], mark: str) -> None:
    for each in marked(mark):
        with suppress(psutil.Error):
            each.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
