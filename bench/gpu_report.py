"""Measurements on disk as soon as they are known: a run that is stopped leaves what it has."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError

SCHEMA_VERSION = 1
Rows = Iterator[dict[str, Any]]
FAILURES = (
    HeedfulError, subprocess.SubprocessError, RuntimeError, ValueError, TypeError, LookupError,
    AttributeError, NameError, OSError, ImportError, AssertionError,
)  # fmt: skip


class Report:
    """What is known so far, on disk."""

    def __init__(self, path: Path, module: str, limit: float, keep: bool) -> None:
        """What stands in the file already is kept where only some of it is made again."""
        self.path, self.limit, self.started = path, limit, time.monotonic()
        old = json.loads(path.read_text(encoding="utf8")) if keep and path.is_file() else {}
        new = {"schema_version": SCHEMA_VERSION, "command": f"python -m {module}"}
        self.facts: dict[str, Any] = {"seconds": {}, "left_out": {}, **old, **new}

    def collect(self, name: str, work: Callable[[], Rows], more: bool = False) -> None:
        """Row by row; what fails or comes too late is said, and the rest is done. With `more`
        the rows that are there already stay, and their seconds count."""
        begun = time.monotonic() - (self.facts["seconds"].get(name, 0) if more else 0)
        rows = self.facts[name] = list(self.facts.get(name) or ()) if more else []
        self.facts["left_out"].pop(name, None)
        try:
            for row in work():
                rows.append(row)
                self.write()
                print(f"{name}: {_brief(row)}", file=sys.stderr, flush=True)
                if time.monotonic() - self.started > self.limit:
                    self.facts["left_out"][name] = f"stopped after {self.limit:.0f} s"
                    break
        except FAILURES as error:  # the other sections are worth having
            self.facts["left_out"][name] = f"{type(error).__name__}: {error}"
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        self.facts["seconds"][name] = round(time.monotonic() - begun, 1)
        self.write()

    def write(self) -> None:
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(self.facts, indent=1), encoding="utf8")
        beside.replace(self.path)


def _brief(row: dict[str, Any]) -> str:
    plain = {k: v for k, v in row.items() if isinstance(v, str | int | float)}
    shown = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in plain.items())
    return ", ".join(list(shown)[:9])
