"""Where a page's data go: what makes parts of a page need not know the whole sheet."""

from __future__ import annotations

from typing import Any, Protocol


class Holder(Protocol):
    """Takes data for the page's scripts."""

    def put(self, name: str, value: Any) -> None: ...


class ScriptHolder(Holder, Protocol):
    """Also takes scripts, which a page may only run if it allows them by name."""

    def allow(self, script: str) -> None: ...
