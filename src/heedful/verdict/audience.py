"""Who reads the explanation, and for what (bastings2020): declared by whoever audits.

Saying it changes words and no decision. Whoever reads it, an explanation that is not faithful does
not say why the model decided; plausibility says whether readers find what they expect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.errors import unknown_name
from heedful.verdict.statement import Statement, number

READERS = {"developer": "developers", "user": "end users"}
GOALS = {
    "debugging": "to find errors of the model",
    "understanding": "to understand the model's predictions",
    "trust": "to decide how far to trust the model",
}
MEANS = {
    (
        "developer",
        "",
    ): "Faithfulness decides: what is not why the model decided misleads them.",
    ("user", ""): "Faithfulness decides for them as it does for developers.",
    ("", "debugging"): "An explanation that people find plausible can hide the very error.",
    ("", "understanding"): "What is not faithful would be understood, and would be about no model.",
    ("", "trust"): "What only looks right earns trust that the model has not.",
}
UNDECLARED = "who reads the explanation, and for what, is not declared (--reader, --goal)."


@dataclass(frozen=True)
class Audience:
    """A reader and a goal by name; "" is not declared."""

    reader: str = ""
    goal: str = ""

    def __post_init__(self) -> None:
        if self.reader and self.reader not in READERS:
            raise unknown_name("reader of explanations", self.reader, list(READERS))
        if self.goal and self.goal not in GOALS:
            raise unknown_name("goal of explanations", self.goal, list(GOALS))

    @staticmethod
    def of(facts: Mapping[str, Any]) -> Audience:
        """As it was declared; what another program wrote there is not."""
        reader, goal = str(facts.get("reader") or ""), str(facts.get("goal") or "")
        return Audience(reader if reader in READERS else "", goal if goal in GOALS else "")

    @property
    def facts(self) -> dict[str, str]:
        """What is declared."""
        declared = {"reader": self.reader, "goal": self.goal}
        return {name: value for name, value in declared.items() if value}

    @property
    def to(self) -> str:
        """After "show attention"."""
        return f" to {READERS[self.reader]}" if self.reader else ""

    def sentence(self, statements: Sequence[Statement]) -> str:
        """One line for everywhere a verdict is shown."""
        if not self.facts:
            return UNDECLARED
        whom = [f"for {READERS[self.reader]}"] if self.reader else []
        what = [GOALS[self.goal]] if self.goal else []
        means = (MEANS.get((self.reader, "")), MEANS.get(("", self.goal)), self._beside(statements))
        return " ".join([f"{', '.join([*whom, *what])}.", *filter(None, means)])

    def _beside(self, statements: Sequence[Statement]) -> str:
        """What is known of plausibility: it matters to people who see the explanation."""
        if self.reader != "user":
            return ""
        found = next((each for each in statements if each.property == "plausibility"), None)
        if found is None or math.isnan(found.estimate):
            return "Whether they find what they expect (plausibility) was not measured."
        bounds = f"{number(found.estimate)}, {number(found.low)} to {number(found.high)}"
        return f"Whether they find what they expect: plausibility {bounds}; it decides nothing."
