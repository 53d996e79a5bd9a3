"""How much one may ask, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from heedful.errors import HeedfulError


@dataclass(frozen=True)
class Limits:
    """Of a request: characters and words of a text, explanations at once, and the largest
    `number` that one of their parameters may be, such as LIME's samples. `waiting` calls may
    wait for the model, and an answer may take so many `seconds`, waiting included."""

    characters: int = 40_000
    words: int = 512
    explanations: int = 6
    number: int = 1000
    waiting: int = 8
    seconds: float = 30.0

    def check_text(self, text: str, name: str) -> None:
        if not text.strip():
            raise HeedfulError(f"the {name} is empty: write at least one word.")
        if len(text) > self.characters:
            raise HeedfulError(
                f"the {name} has {len(text)} characters: at most {self.characters} are read."
            )
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise HeedfulError(f"the {name} holds half of a character: write it again.")

    def check_words(self, words: int) -> None:
        if words > self.words:
            raise HeedfulError(f"the text has {words} words: at most {self.words} are read here.")

    def check_params(self, explanation: str, params: Mapping[str, Any]) -> None:
        """One call of a million runs would take every other's time."""
        for name, value in params.items():
            if name != "seed" and isinstance(value, int) and abs(value) > self.number:
                raise HeedfulError(
                    f"the parameter {name!r} of {explanation!r} is too large: at most "
                    f"{self.number} is served here."
                )

    def to_dict(self) -> dict[str, float]:
        return asdict(self)
