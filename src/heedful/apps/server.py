"""A server that binds its port first, limits its connections, and stops on a signal.

A client that connects and sends nothing never reaches the application, so the limits are here,
below it, and hold before anybody has shown a token.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from heedful.apps.guard import LOOPBACK, Rules, quoted
from heedful.errors import HeedfulError

MOST, AT_ONCE = 400, 128
"""Most connections, and most accepted at once; fewer where few files may be open."""
SECONDS = 15.0
"""For a client to send a whole request, or to take some of an answer."""

_log = logging.getLogger("heedful.apps")
_PATIENCE = 5  # seconds for what is under way when the server is told to end


def most_connections() -> int:
    return min(MOST, _files() // 3)


def taken_at_once() -> int:
    """Each holds a file until it is served or refused."""
    return min(AT_ONCE, _files() // 8)


def _files() -> int:
    """Files that this process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if files == resource.RLIM_INFINITY else max(32, files)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's with a deadline whenever it is the client's turn.

    When there are too many, the one that has kept us waiting longest is closed, so that idle
    connections cannot lock anybody out.
    """

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def answering(self) -> bool:
        """Whether it is our turn: the request is here, the answer is not out."""
        cycle = self.cycle
        return cycle is not None and not cycle.more_body and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        ours = [other for other in self.connections if isinstance(other, LimitedConnection)]
        alive = [other for other in ours if not other.transport.is_closing()]
        if len(alive) > most_connections():
            waiting = [other for other in alive if not other.answering]  # this one is among them
            min(waiting, key=lambda other: other.due).give_up()

    @property
    def due(self) -> float:
        """When the client's time is up."""
        return self._deadline.when() if self._deadline is not None else float("inf")

    def data_received(self, data: bytes) -> None:
        """A trickle of bytes does not extend the deadline."""
        super().data_received(data)
        if self.answering:
            self._wait_no_more()
        elif self._deadline is None:
            self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.answering:  # the next request may be here already
            self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.answering:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close at once: a client that reads nothing would hold unsent data forever."""
        self._wait_no_more()
        self.transport.abort()

    def _wait(self) -> None:
        self._wait_no_more()
        self._deadline = self.loop.call_later(SECONDS, self.give_up)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def errors_once() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """A handler for an event loop that logs each kind of system error once. asyncio would print a
    traceback for every connection that finds no file left, thousands in a second."""
    said: set[int | None] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, ValueError) and "_start_serving" in context["message"]:
            return  # a retry that was due after the server had stopped
        if not isinstance(error, OSError):
            loop.default_exception_handler(context)
        elif error.errno not in said:
            said.add(error.errno)
            _log.error("a connection was refused: %s.", error.strerror or error)

    return handle


def rules_for(host: str, token: str | None) -> Rules:
    """Clients from other machines need a token: the given one, or a random one."""
    if token is not None and not token.strip():
        raise HeedfulError("--token is empty: give one, or leave it out for a random one.")
    if host in LOOPBACK:
        return Rules(hosts=LOOPBACK, token=token)
    return Rules(hosts=None, token=token or secrets.token_urlsafe(18))


def bound(host: str, port: int) -> socket.socket:
    """A socket on the port, held from now on; port 0 is any free one."""
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
    """Serve until SIGINT or SIGTERM; requests under way are finished first."""
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
    """A request that was cancelled because the server stops is no error."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class _Server(uvicorn.Server):
    """uvicorn's own server raises the signal again when it stops, and ends with a traceback."""

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
