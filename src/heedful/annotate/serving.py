"""The server as a process: one port of this machine, until somebody stops it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from heedful.annotate.database import opened
from heedful.annotate.study import Study
from heedful.errors import HeedfulError

PATIENCE = 5  # seconds for open requests to end


@dataclass(frozen=True)
class Address:
    host: str = "127.0.0.1"
    port: int = 8010

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def serve(study: Study, wanted: Address, ready: Callable[[Address], None]) -> None:
    """Returns when the server was stopped. `ready` is told the address once it is taken."""
    uvicorn = _uvicorn()
    from heedful.annotate.app import application

    # One connection stays: without it SQLite would tidy up its log after every single answer.
    with _taken(wanted) as listening, opened(study.path):
        address = Address(wanted.host, listening.getsockname()[1])
        config = uvicorn.Config(
            application(study),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        ready(address)
        uvicorn.Server(config).run(sockets=[listening])


def links(study: Study, address: Address) -> dict[str, str]:
    """Everybody's own link, and that of the results."""
    found = {
        each.name: f"{address.url}/?annotator={quote(each.token)}" for each in study.annotators()
    }
    return {**found, "results": f"{address.url}/results?key={quote(study.key)}"}


def _taken(wanted: Address) -> socket.socket:
    """Bound here and not by the server, which would print a log where a sentence is needed."""
    kind = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    listening = socket.socket(kind, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((wanted.host, wanted.port))
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise HeedfulError(
            f"port {wanted.port} of {wanted.host} cannot be used ({reason.lower()}): "
            f"choose another with --port."
        ) from error
    return listening


def _uvicorn() -> Any:
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ModuleNotFoundError as error:
        raise HeedfulError(
            f'the page needs the package {error.name}: pip install "heedful[web]".'
        ) from error
    return uvicorn
