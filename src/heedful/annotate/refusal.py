"""What a server says no to, with the status it says it with."""

from __future__ import annotations

from typing import Any

from heedful.errors import HeedfulError


class Refusal(HeedfulError):
    """One sentence, an HTTP status, and what else the asker should know."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status = status
        self.more = more
