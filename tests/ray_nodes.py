"""Ray clusters for tests: nodes on loopback only, kept by a process that does as it is told.

In a process of its own since Ray reads its environment once, when it is imported.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any


@dataclass(frozen=True)
class Nodes:
    """`environment` holds a token of this cluster's own: nobody else on the machine may use it."""

    keeper: subprocess.Popen[str]
    environment: dict[str, str]
    address: str

    def join(self, name: str, cores: int = 1) -> None:
        """It has joined when this returns."""
        self._tell(f"join {name} {cores}")

    def kill(self, name: str) -> None:
        """As a power failure would: no process of the node is asked first."""
        self._tell(f"kill {name}")

    def _tell(self, line: str) -> None:
        assert self.keeper.stdin is not None
        self.keeper.stdin.write(line + "\n")
        self.keeper.stdin.flush()
        _answer(self.keeper)


@contextmanager
def cluster(folder: Path, head_cores: int = 0) -> Iterator[Nodes]:
    """A head that is up; afterwards whatever was started is gone."""
    environment = _environment()
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as short:  # for sockets
        command = [sys.executable, __file__, short, str(head_cores)]
        with (folder / "nodes.log").open("wb") as log:
            keeper = _keeper(command, environment, log)
        with keeper:
            try:
                yield Nodes(keeper, environment, _answer(keeper))
            finally:
                _end(keeper)


def _keeper(
    command: list[str], environment: dict[str, str], log: IO[bytes]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=environment,
        text=True,
        start_new_session=True,
    )


def _end(keeper: subprocess.Popen[str]) -> None:
    """First as told, then whatever is left of its own group: agents outlive a killed node."""
    with suppress(subprocess.TimeoutExpired):
        keeper.communicate(timeout=30)
    with suppress(ProcessLookupError):
        os.killpg(keeper.pid, signal.SIGKILL)


def _answer(keeper: subprocess.Popen[str]) -> str:
    """Ray may print lines of its own before."""
    assert keeper.stdout is not None
    for line in keeper.stdout:
        if line.startswith("now: "):
            return line.removeprefix("now: ").strip()
    raise AssertionError("the Ray nodes did not come up: see nodes.log")


def _environment() -> dict[str, str]:
    """Where Ray is told that there are no clusters, a node's address is loopback."""
    return os.environ | {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # 15 without, which on a busy machine is next to nothing
        "OMP_NUM_THREADS": "1",
    }


def keep(folder: str, head_cores: int) -> None:
    """Until the line is closed."""
    from ray.cluster_utils import Cluster

    every = Cluster(True, head_node_args=_share(head_cores) | {"temp_dir": folder})
    nodes: dict[str, Any] = {"head": every.head_node}
    print(f"now: {every.address}", flush=True)  # noqa: T201
    for line in sys.stdin:
        what, name, *cores = line.split()
        if what == "join":
            nodes[name] = every.add_node(**_share(int(cores[0])))
        else:
            every.remove_node(nodes.pop(name), allow_graceful=False)
        print(f"now: {name}", flush=True)  # noqa: T201
    every.shutdown()


def _share(cores: int) -> dict[str, Any]:
    small = {"object_store_memory": 80_000_000, "include_dashboard": False}
    return {"num_cpus": cores, "node_ip_address": "127.0.0.1"} | small


if __name__ == "__main__":
    keep(sys.argv[1], int(sys.argv[2]))
