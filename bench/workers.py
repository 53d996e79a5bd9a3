"""An audit by several workers beside the same audit by one process: bytes, time, a killed worker.

    python -m bench.workers [--texts 20000] [--workers 2] [--engines local ray]

Trains a tiny model, and audits it by `heedful audit --all` with one thread in every process. Tables
must be equal byte for byte. With `--kill`, a worker of each engine is killed on the way: what was
finished by then must not be measured again. Run it on a quiet machine with as many cores as
workers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from bench.gpu import environment
from bench.measure import say

TABLES = ("rows", "maps", "documents", "shown")
GROUPS = "interventions,agreement,importance"
LONGEST = 3 * 3600
Watch = Callable[[subprocess.Popen[str]], None]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options.texts, options.workers)
        alone = bench.audited("one process", [])
        print("| by | seconds | ratio | tables | note |\n| --- | --- | --- | --- | --- |")
        print(f"| one process | {alone:.1f} | | | |", flush=True)
        lines = [line for engine in options.engines for line in bench.compared(engine, alone)]
        if options.kill:
            lines += [bench.killed(engine) for engine in options.engines]
    return 0 if all(lines) else 1


class Bench:
    """A model of a corpus with so many test texts, in a folder."""

    def __init__(self, folder: Path, texts: int, workers: int) -> None:
        self.folder, self.workers = folder, str(workers)
        cut = [f"--param={name}" for name in ("n_train=200", "n_dev=20", f"n_test={texts}")]
        train = ["train", "--corpus", "planted", "--epochs", "1", *cut]
        _heedful(folder, [*train, "--store", "models"])
        self.model = next((folder / "models" / "runs").glob("model-*"))

    def audited(self, name: str, how: Sequence[str], watch: Watch | None = None) -> float:
        """Seconds of the whole command; its tables are in the folder of this name."""
        own = ["--store", f"{name} store", "-o", name, "--threads", "1", "--all", *how]
        started = time.perf_counter()
        _heedful(self.folder, ["audit", str(self.model), "--quick", "--only", GROUPS, *own], watch)
        return time.perf_counter() - started

    def compared(self, engine: str, alone: float) -> Iterator[bool]:
        seconds = self.audited(engine, self._by(engine))
        yield self._line(engine, f"{seconds:.1f} | {alone / seconds:.2f}×", "")

    def killed(self, engine: str) -> bool:
        """One worker is killed when two batches are finished."""
        name = f"{engine}, a worker killed"
        parts = Parts(self.folder / f"{name} store" / "scratch")
        seconds = self.audited(name, self._by(engine), parts.watch)
        note = f"{parts.at_the_kill} batches finished before; {parts.again} of them measured again"
        return self._line(name, f"{seconds:.1f} | ", note) and parts.victim > 0 and not parts.again

    def _by(self, engine: str) -> list[str]:
        return ["--engine", engine, "--workers", self.workers]

    def _line(self, name: str, times: str, note: str) -> bool:
        unlike = [each for each in TABLES if self._table(name, each) != self._table(ALONE, each)]
        said = f"other {', '.join(unlike)}" if unlike else "equal"
        print(f"| {name} | {times} | {said} | {note} |", flush=True)
        return not unlike

    def _table(self, name: str, table: str) -> bytes:
        return (self.folder / name / f"{table}.parquet").read_bytes()


ALONE = "one process"


class Parts:
    """Watches the batches of an audit appear, and kills a worker among them."""

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.seen = scratch, dict[Path, int]()
        self.victim = self.at_the_kill = self.again = 0

    def watch(self, command: subprocess.Popen[str]) -> None:
        while command.poll() is None:
            for path in self.scratch.glob("audit-*/part-*.costs.parquet"):
                with suppress(OSError):
                    written = path.stat().st_mtime_ns
                    self.again += self.seen.setdefault(path, written) != written
                    self.seen[path] = written
            if not self.victim and len(self.seen) >= 2:
                self._kill(command.pid)
            time.sleep(0.05)

    def _kill(self, parent: int) -> None:
        """The busiest process below the command's own."""
        family = psutil.Process(parent).children(recursive=True)
        timed = [(sum(each.cpu_times()[:2]), each) for each in family if each.is_running()]
        if timed:
            _, busiest = max(timed, key=lambda pair: pair[0])
            self.victim, self.at_the_kill = busiest.pid, len(self.seen)
            say(f"killing worker {busiest.pid}")
            busiest.kill()


def _heedful(folder: Path, arguments: Sequence[str], watch: Watch | None = None) -> None:
    say(" ".join(["heedful", *arguments]))
    log = folder / "log.txt"
    with log.open("w") as stream:
        command = subprocess.Popen(
            [sys.executable, "-m", "heedful.cli.main", *arguments],
            cwd=folder,
            env={**_absolute(environment()), "OMP_NUM_THREADS": "1"},
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if watch is not None:
            watch(command)
        code = command.wait(LONGEST)
    if code:
        raise RuntimeError(f"`heedful {arguments[0]}` ended with {code}: {log.read_text()[-800:]}")


def _absolute(given: Mapping[str, str]) -> dict[str, str]:
    """The command runs in another folder."""
    paths = [str(Path(each).resolve()) for each in given["PYTHONPATH"].split(os.pathsep) if each]
    return {**given, "PYTHONPATH": os.pathsep.join(paths)}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    parser.add_argument("--texts", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engines", nargs="+", default=["local", "ray"], choices=["local", "ray"])
    parser.add_argument("--kill", action="store_true", help="also kill a worker on the way")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
