"""Whose turn it is: one model call at a time, few waiting, none for ever."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from heedful.errors import HeedfulError

T = TypeVar("T")
_Call = tuple[Future[Any], Callable[[], Any], threading.Event]


class Busy(HeedfulError):
    """Too many are waiting already."""


class TooSlow(HeedfulError):
    """The answer did not come in time."""


class GivenUp(BaseException):
    """Nobody waits for this work any more; no `except` on its way takes it for an error."""


class Turns:
    """Work is done by one thread, in the order it came.

    Work that calls `check` now and then ends soon after whoever asked has given it up; other
    work is finished before the next turn begins. The thread is a daemon: a long call never keeps
    the process from ending.
    """

    def __init__(self, waiting: int = 8, seconds: float = 30.0) -> None:
        self.waiting, self.seconds = waiting, seconds
        self._calls: queue.SimpleQueue[_Call] = queue.SimpleQueue()
        self._given_up = threading.Event()  # of the call that is being worked on
        self._lock = threading.Lock()
        self._open = 0
        self._thread = threading.Thread(target=self._work, daemon=True, name="model")
        self._thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns, or its exception; `Busy` or `TooSlow` where there is no answer."""
        self._enter()
        future: Future[T] = Future()
        future.add_done_callback(self._leave)
        given_up = threading.Event()
        self._calls.put((future, work, given_up))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)
        except TimeoutError as error:
            raise TooSlow(
                f"the model did not answer within {self.seconds:g} seconds: give a shorter text "
                f"or fewer explanations."
            ) from error
        finally:
            given_up.set()

    def check(self) -> None:
        """For work to call: raises `GivenUp` where nobody waits for it."""
        if self._given_up.is_set() and threading.current_thread() is self._thread:
            raise GivenUp

    def _enter(self) -> None:
        with self._lock:
            if self._open > self.waiting:
                raise Busy(f"{self.waiting} calls are waiting already: try again in a moment.")
            self._open += 1

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._open -= 1

    def _work(self) -> None:
        while True:
            future, work, self._given_up = self._calls.get()
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001, handed to whoever asked
                future.set_exception(error)
