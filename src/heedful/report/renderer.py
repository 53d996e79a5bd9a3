"""The chart renderer, in a process of its own.

V8 ends its process where memory runs out, and must not take the results with it. One process
serves all charts; it ends with this one. It imports nothing of Heedful.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any

from heedful.errors import HeedfulError
from heedful.report.extra import need

PROGRAM = """
import json, os, sys
import vl_convert

answers = os.fdopen(os.dup(1), "w", encoding="utf8")
os.dup2(2, 1)  # what libraries print is no answer
for line in sys.stdin.buffer:
    name, given, options = json.loads(line)
    try:
        answer = [True, getattr(vl_convert, name)(given, **options)]
    except ValueError as error:
        answer = [False, str(error)]
    answers.write(json.dumps(answer) + "\\n")
    answers.flush()
"""


class Undrawn(HeedfulError):
    """The charts of a page cannot be drawn; whatever was measured is there."""

    def __init__(self, code: int) -> None:
        self.reason = (
            f"the chart renderer ended with {f'signal {-code}' if code < 0 else f'code {code}'}, "
            f"most often for want of memory"
        )
        super().__init__(
            f"the charts cannot be drawn because {self.reason}: free some memory and try again."
        )


class Renderer:
    def __init__(self) -> None:
        known = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": known},
        )
        self._lock = Lock()
        atexit.register(self._end)

    def _end(self) -> int:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()  # closes the pipes
        return self._process.wait()

    def ask(self, name: str, given: Any, **options: Any) -> str:
        """The answer of a function of vl_convert. Raises ValueError where it refuses."""
        question = json.dumps([name, given, options]).encode() + b"\n"
        with self._lock:
            right, text = self._answer(question)
        if not right:
            raise ValueError(text)
        return str(text)

    def _answer(self, question: bytes) -> tuple[bool, str]:
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None and answered is not None
        try:
            asked.write(question)
            asked.flush()
            line = answered.readline()
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            raise Undrawn(self._end())
        right, text = json.loads(line)
        return bool(right), str(text)


def converted(name: str, given: Any, **options: Any) -> str:
    """What vl_convert's function of this name makes."""
    need("vl_convert")
    started = _renderer(os.getpid())
    try:
        return started.ask(name, given, **options)
    except Undrawn:
        _renderer.cache_clear()  # the next chart finds a new one
        raise


@cache
def _renderer(process: int) -> Renderer:
    """One for each process: after a fork two would read from one pipe."""
    return Renderer()
