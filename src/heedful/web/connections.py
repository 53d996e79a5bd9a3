"""Connections before they are requests: how many there may be, and how long each may take.

Whoever opens a connection and sends nothing never reaches the application, so the limits are
here, below it, and hold before anybody has shown a token.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST, AT_ONCE = 400, 128
"""Connections there may be, and that are taken in one go; fewer where few files may be open."""
SECONDS = 15.0
"""For a client to send a whole request, or to take some of an answer."""

_log = logging.getLogger("heedful.web")


def most_connections() -> int:
    return min(MOST, _files() // 3)


def taken_at_once() -> int:
    """They hold files before they can be refused, and while they are."""
    return min(AT_ONCE, _files() // 8)


def _files() -> int:
    """That this process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if files == resource.RLIM_INFINITY else max(32, files)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's with a deadline whenever it is the client's turn.

    Where there are too many, the one that has kept us waiting longest makes room: connections
    that send nothing cannot lock anybody out.
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
        every = [each for each in self.connections if isinstance(each, LimitedConnection)]
        there = [each for each in every if not each.transport.is_closing()]
        if len(there) > most_connections():
            waiting = [each for each in there if not each.answering]  # this one is among them
            min(waiting, key=lambda each: each.due).give_up()

    @property
    def due(self) -> float:
        """When the client's time is up."""
        return self._deadline.when() if self._deadline is not None else float("inf")

    def data_received(self, data: bytes) -> None:
        """A byte now and then does not put the deadline off."""
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
        """At once: a client that takes nothing would hold what is still to be sent for ever."""
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
    """For an event loop: what the system refuses, each kind of it once. asyncio would print a
    traceback for every connection that finds no file left, thousands in a second."""
    said: set[int | None] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, ValueError) and "_start_serving" in context["message"]:
            return  # it was to be tried again in a second, and the server has ended by then
        if not isinstance(error, OSError):
            loop.default_exception_handler(context)
        elif error.errno not in said:
            said.add(error.errno)
            _log.error("a connection was refused: %s.", error.strerror or error)

    return handle
