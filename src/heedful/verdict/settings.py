"""What is asked of the evidence: declared before looking, and hashed into the verdict."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from heedful.errors import HeedfulError, unknown_name

EFFECTS: Mapping[str, float] = {
    "necessity": 0.02,
    "agreement": 0.5,
    "sensitivity": 0.02,
    "ranking": 0.5,
    "plausibility": 0.05,
}
"""The smallest effects of interest, and why these.

necessity: two texts in a hundred answered worse. Less than that is within what another seed or
    another sample of test texts does to an accuracy.
agreement: half of the way from what a word-type prior or chance reaches to what the importance
    measures reach among themselves. Nearer to the prior than to another measure of importance
    is no explanation of this text.
sensitivity: two points of probability more than erasing at random does. A reader cannot see a
    smaller change of a probability.
ranking: half of the way from the better floor to the best explanation found by search. Below
    that, the order is nearer to guessing than to the truth.
plausibility: 0.05 of AUPRC above the better floor, about what separates neighbouring methods in
    published tables of rationales.
"""

MADE_BY: Mapping[str, str] = {
    "leave_one_out": "delete",
    "occlusion": "delete",
    "lime": "mask",
    "kernel_shap": "mask",
}
"""Explanations made by taking words away, and how where `:operator=…` does not say it."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides besides the measurements.

    `looks` is how often the evidence will be looked at and `look` which time this is; one look
    of one spends all of `alpha`. `operators` and `importance` left empty mean all there are.

    `smallest_gap` is how far the best order found by search must clearly be from the floor
    before erasure says anything here, in the measure's own unit (points of probability, a
    share of words): as with sensitivity, nobody sees less than two points. The search keeps
    the best of many orders, so some gap there always is.
    """

    alpha: float = 0.05
    effects: Mapping[str, float] = field(default_factory=dict)
    on_trial: str = "attention"
    operators: tuple[str, ...] = ()
    importance: tuple[str, ...] = ()
    floors: tuple[str, ...] = ("random", "prior")
    ceiling: str = "search"
    metrics: tuple[str, ...] = (
        "comprehensiveness",
        "sufficiency",
        "deletion_auc",
        "insertion_auc",
        "flip_share",
    )
    made_by: Mapping[str, str] = field(default_factory=lambda: dict(MADE_BY))
    smallest_gap: float = 0.02
    fewest: int = 10
    resamples: int = 2000
    seed: int = 0
    look: int = 1
    looks: int = 1

    def __post_init__(self) -> None:
        for name in self.effects:
            if name not in EFFECTS:
                raise unknown_name("property with a smallest effect", name, list(EFFECTS))
        if not 0 < self.alpha < 0.5:
            raise HeedfulError(f"alpha is {self.alpha}: give a number above 0 and below 0.5.")
        if not 1 <= self.look <= self.looks:
            raise HeedfulError(f"look {self.look} of {self.looks}: count looks from 1.")
        if not 0 <= self.smallest_gap < math.inf:
            raise HeedfulError(f"smallest_gap is {self.smallest_gap}: give 0 or more.")
        if self.fewest < 2 or self.resamples < 100:
            raise HeedfulError("give fewest of at least 2 and resamples of at least 100.")

    def effect(self, name: str) -> float:
        """The smallest effect of interest of a property."""
        return {**EFFECTS, **self.effects}[name]

    def maker(self, explanation: str) -> str:
        """The operator that made an explanation, which must not be the one that scores it."""
        name, _, given = explanation.partition(":")
        if name not in self.made_by:
            return ""
        told = [part.partition("=")[2] for part in given.split(",") if part[:9] == "operator="]
        return told[-1] if told else self.made_by[name]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with every smallest effect spelled out."""
        return json.loads(json.dumps({**asdict(self), "effects": {**EFFECTS, **self.effects}}))  # type: ignore[no-any-return]

    def digest(self) -> str:
        """16 hexadecimal digits: the same for the same settings, however they were spelled and
        whenever it was looked."""
        kept = {name: value for name, value in self.to_dict().items() if name[:4] != "look"}
        kept["importance"] = sorted(kept["importance"])
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]
