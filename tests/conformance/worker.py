"""A process that has imported everything and forks once per command.

A fresh interpreter needs seconds to import torch; a fork needs milliseconds. Each command runs with
limits on time and memory, so that a hang, a crash or a bomb ends that command alone.

    python -m conformance.worker MODEL DATA    reads a request per line, answers with a line each
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MEMORY = 3 << 30
"""Bytes a command may add to what the imports take."""
_LARGEST_FILE = 1 << 29
_POLL = 0.005


@dataclass(frozen=True)
class Request:
    """A command line, where it runs and for how long. A server is interrupted (Ctrl-C) as soon as
    it says where it listens."""

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 30.0
    serves: bool = False


@dataclass(frozen=True)
class Ending:
    """How a command ended. `code` is negative for a signal; `seconds` are of the CPU, and `peak` is
    the largest resident size in bytes, less that of the process it was forked from."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int
    timed_out: bool


class Worker:
    """The process, seen from a test."""

    def __init__(self, model: Path, data: Path) -> None:
        tests = Path(__file__).parents[1]
        paths = [str(tests), str(tests.parent / "src")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        environment |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
        for name in ("HEEDFUL_DATA", "HEEDFUL_STORE"):
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance.worker", str(model), str(data)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, request: Request) -> Ending:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(request)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the worker itself died"
        return Ending(**json.loads(answer))

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


def _serve(model: str, data: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    _warm_up(model, data)
    for line in sys.stdin:
        ending = _ending(Request(**json.loads(line)))
        answers.write(json.dumps(asdict(ending)) + "\n")
        answers.flush()


def _warm_up(model: str, data: str) -> None:
    """Everything that commands import; nothing that starts threads, which a fork would lose."""
    import altair  # noqa: F401
    import yaml  # noqa: F401

    from heedful.cli import main

    quick = ("--quick", "--explanations", "attention", "--only", "interventions")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _silence():
        for typed in (["explain", model, "good film"], ["audit", model, data, *quick]):
            assert main(typed) == 0, typed


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def _ending(request: Request) -> Ending:
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        out.touch(), err.touch()
        child = os.fork()
        if child == 0:
            _become(request, out, err)
        status, usage, timed_out = _wait(child, request, (out, err))
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return Ending(
            os.waitstatus_to_exitcode(status),
            *(path.read_text(encoding="utf8", errors="surrogateescape") for path in (out, err)),
            seconds=usage.ru_utime + usage.ru_stime,
            peak=max(0, usage.ru_maxrss - base) << 10,
            timed_out=timed_out,
        )


def _become(request: Request, out: Path, err: Path) -> None:
    """The forked process: never returns."""
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
        _limit(request.seconds)
        for path, descriptor in ((Path(os.devnull), 0), (out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_RDWR), descriptor)
        os.environ.update(request.environment)
        os.chdir(request.folder)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        from heedful.cli import main

        code = main(list(request.arguments))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - the test shows it
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _limit(seconds: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    data = MEMORY + (used.ru_maxrss << 10)
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    whole = round(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 5))


def _wait(child: int, request: Request, said: Sequence[Path]) -> tuple[int, Any, bool]:
    """Waits four times as long as the CPU may be used: the machine may be busy."""
    end, asked = time.monotonic() + 4 * request.seconds, False
    while True:
        gone, status, usage = os.wait4(child, os.WNOHANG)
        if gone:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # whatever it started
            return status, usage, False
        if request.serves and not asked and any(b"http" in path.read_bytes() for path in said):
            asked = True
            os.kill(child, signal.SIGINT)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            _, status, usage = os.wait4(child, 0)
            return status, usage, True
        time.sleep(_POLL)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
