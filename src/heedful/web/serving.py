"""A server that begins with a free port and ends when it is told to."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from heedful.errors import HeedfulError
from heedful.web.connections import LimitedConnection, errors_once, taken_at_once
from heedful.web.guard import LOOPBACK, Rules, quoted

_PATIENCE = 5  # seconds for what is under way when the server is told to end


def rules_for(host: str, token: str | None) -> Rules:
    """Who comes from elsewhere must know a token: the one given, else a random one."""
    if token is not None and not token.strip():
        raise HeedfulError("--token is empty: give one, or leave it out for a random one.")
    if host in LOOPBACK:
        return Rules(hosts=LOOPBACK, token=token)
    return Rules(hosts=None, token=token or secrets.token_urlsafe(18))


def bound(host: str, port: int) -> socket.socket:
    """The port, held from now on; 0 is any free one."""
    if not host.strip():
        raise HeedfulError("--host is empty: give a name or an address, or leave it out.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named TCP, or asyncio leaves Nagle's delay on: 40 ms for every answer
    here = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        here.bind((host, port))
        here.listen(1024)
    except (OSError, OverflowError, UnicodeError) as error:
        here.close()
        what = getattr(error, "strerror", None) or str(error)
        raise HeedfulError(
            f"{host}:{port} cannot be served ({what.lower()}): choose another --port or --host."
        ) from error
    return here


def address(here: socket.socket, rules: Rules = Rules()) -> str:
    """What to open in a browser."""
    host, port = here.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    token = f"?token={quoted(rules.token)}" if rules.token else ""
    return f"http://{name}:{port}/{token}"


def serve(app: ASGIApp, here: socket.socket) -> None:
    """Until SIGINT or SIGTERM, the usual ends of a server: what is under way is finished first."""
    config = uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        backlog=taken_at_once(),
        log_level="error",  # whoever sends nonsense would write our log
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    logging.getLogger("uvicorn.error").addFilter(_told)
    server = _Server(config)
    with server.capture_signals():  # before asyncio makes its loop: half of one cannot be closed
        server.run(sockets=[here])


def _told(record: logging.LogRecord) -> bool:
    """A request that was cancelled because the server ends is no error."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class _Server(uvicorn.Server):
    """uvicorn's own would raise the signal once more afterwards, and end with a traceback."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(errors_once())
        await super().startup(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)
