"""What is asked of the evidence: declared before looking, and hashed into the verdict. And what
looking at it more than once costs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from heedful.errors import HeedfulError, unknown_name
from heedful.units import WORD


@dataclass(frozen=True)
class Settings:
    """Everything that decides besides the measurements.

    `looks` is how often the evidence will be looked at and `look` which time this is; one look
    of one spends all of `alpha`. `looked` are the shares of the planned evidence at each look up
    to this one; left empty, looks are equally spaced. `operators` and `importance` left empty mean
    all there are.

    `uses` are the perturbations that made each explanation, none of which scores it; `signed` are
    the explanations that say which class a word speaks for. An audit fills them in.

    `smallest_gap` is how far the best order must clearly be from a random one before a measure
    of it says anything here, in the measure's own unit (points of probability, a share of words
    or of importance). The search keeps the best of many orders, so some gap there always is.
    `smallest_tau` is the same for agreement: importance measures that do not agree with each
    other cannot say whether attention agrees with them. `unit` is what is scored and removed, as
    an audit fills it in.
    """

    alpha: float = 0.05
    effects: Mapping[str, float] = field(default_factory=dict)
    on_trial: str = "attention"
    operators: tuple[str, ...] = ()
    importance: tuple[str, ...] = ()
    floors: tuple[str, ...] = ("random", "prior", "position")
    ceiling: str = "search"
    metrics: tuple[str, ...] = (
        "comprehensiveness",
        "sufficiency",
        "deletion_auc",
        "insertion_auc",
        "flip_share",
    )
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signed: tuple[str, ...] = ()
    smallest_gap: float = 0.02
    smallest_tau: float = 0.1
    unit: str = WORD
    fewest: int = 10
    resamples: int = 2000
    seed: int = 0
    look: int = 1
    looks: int = 1
    looked: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        unknown = sorted(self.effects.keys() - _declared()[0].keys()) if self.effects else []
        if unknown:
            raise unknown_name("property with a smallest effect", unknown[0], list(_declared()[0]))
        if not 0 < self.alpha < 0.5:
            raise HeedfulError(f"alpha is {self.alpha}: give a number above 0 and below 0.5.")
        if not 1 <= self.look <= self.looks:
            raise HeedfulError(f"look {self.look} of {self.looks}: count looks from 1.")
        if self.looked and len(self.looked) != self.look:
            raise HeedfulError(f"look {self.look} has {len(self.looked)} shares: give one a look.")
        for name in ("smallest_gap", "smallest_tau"):
            if not 0 <= getattr(self, name) < math.inf:
                raise HeedfulError(f"{name} is {getattr(self, name)}: give 0 or more.")
        if self.fewest < 2 or self.resamples < 100:
            raise HeedfulError("give fewest of at least 2 and resamples of at least 100.")

    def effect(self, name: str) -> float:
        """The smallest effect of interest of a property."""
        return {**_declared()[0], **self.effects}[name]

    def made_with(self, explanation: str) -> tuple[str, ...]:
        """The perturbations an explanation was made by, which must not be those that score it."""
        return tuple(self.uses.get(explanation, ()))

    @property
    def model_free(self) -> tuple[str, ...]:
        """What can be said of words without the model, beside a random order."""
        return tuple(name for name in self.floors if name != "random")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Settings:
        """Of the plain values that `to_dict` gave, those that are known here."""
        known = {each.name for each in fields(cls)}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
            if name in known
        }
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with every smallest effect spelled out."""
        effects = {**_declared()[0], **self.effects}
        plain: dict[str, Any] = json.loads(json.dumps({**asdict(self), "effects": effects}))
        return plain

    def digest(self) -> str:
        """16 hexadecimal digits: the same for the same settings, however they were spelled and
        whenever it was looked."""
        kept = {name: value for name, value in self.to_dict().items() if name[:4] != "look"}
        for name in ("uses", "signed"):  # facts about explanations, declared with them
            del kept[name]
        if kept["unit"] == WORD:  # digests from before there were others
            del kept["unit"]
        kept["importance"] = sorted(kept["importance"])
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def level_of(name: str, chosen: Settings) -> float:
    """The one-sided level at which a property's bounds are made in this look."""
    even = tuple(look / chosen.looks for look in range(1, chosen.look + 1))
    return level_at(chosen.looked or even, share_of(name, chosen))


def share_of(name: str, chosen: Settings) -> float:
    """A property's share of alpha: the required ones have one alpha together."""
    required = _declared()[1]
    return chosen.alpha / len(required) if name in required else chosen.alpha


def _declared() -> tuple[Mapping[str, float], tuple[str, ...]]:
    """The smallest effects that properties declare, and which of them are required. Imported late:
    properties are evaluated under settings."""
    from heedful.verdict.properties import EFFECTS, REQUIRED

    return EFFECTS, REQUIRED


# Looking more than once: when, and at what price in alpha. An audit may stop at the first look that
# settles the answer; bounds at all looks together hold with the same certainty as those of one.


FIRST_LOOK = 25
"""Examples, before which an audit that may take all of its time is not looked at."""
HALVINGS = 5
"""How often the number of examples is halved, at most, to find the first look."""


def look_sizes(examples: int) -> tuple[int, ...]:
    """After how many of the examples the evidence is looked at: half as many each time, going
    back from all of them."""
    sizes = sorted({math.ceil(examples / 2**halving) for halving in range(HALVINGS + 1)})
    return tuple(size for size in sizes if size >= FIRST_LOOK or size == examples)


def spent(share: float, alpha: float) -> float:
    """How much of alpha may be gone when this share of the evidence is in."""
    return alpha * math.log(1 + (math.e - 1) * share)


@lru_cache(maxsize=256)
def level_at(shares: tuple[float, ...], alpha: float) -> float:
    """The one-sided level at which the last of these looks may decide: `shares` of the planned
    evidence were there at each.

    Of a one-sided alpha, α·ln(1 + (e − 1)·t) may be spent by the time a share t of the planned
    evidence is in (Lan & DeMets 1983, the Pocock-like choice). Each look's own level follows by
    carrying the density of the standardised score forward over the looks that did not stop
    (Armitage, McPherson & Rowe 1969). So looks need not be planned: only what is spent is.
    """
    apart = all(early < late for early, late in pairwise(shares))
    if not (shares and apart and shares[0] > 0 and shares[-1] <= 1):
        raise HeedfulError(f"looks at shares {shares}: give growing shares above 0, at most 1.")
    return alpha if shares == (1.0,) else float(stats.norm.sf(_boundaries(shares, alpha)[-1]))


_STEPS = 1201
_LOWEST = -8.0
_CLOSEST = 0.999
"""Correlation of two looks, at most: less is assumed of nearer ones, which errs to the safe
side."""


def _boundaries(shares: Sequence[float], alpha: float) -> list[float]:
    """Upper boundaries of the standardised score at these looks."""
    found = [float(stats.norm.isf(spent(shares[0], alpha)))]
    grid = np.linspace(_LOWEST, found[0], _STEPS)
    density = stats.norm.pdf(grid)
    for before, now in pairwise(shares):
        # Z_now = ρ·Z_before + √(1 − ρ²)·N(0, 1)
        kept = min(math.sqrt(before / now), _CLOSEST)
        fresh = math.sqrt(1 - kept**2)
        goal = spent(now, alpha) - spent(before, alpha)
        edge = _edge(kept * grid, fresh, density, goal)
        found.append(edge)
        following = np.linspace(_LOWEST, edge, _STEPS)
        steps = stats.norm.pdf((following[:, None] - kept * grid) / fresh) / fresh
        density, grid = np.trapezoid(steps * density, grid, axis=1), following
    return found


def _edge(
    centres: Float[np.ndarray, " s"], fresh: float, density: Float[np.ndarray, " s"], goal: float
) -> float:
    """Where the next look must stop to spend exactly `goal`; `centres` are evenly spaced, with the
    density of the look before."""
    step = (centres[1] - centres[0]) / math.sqrt(1 - fresh**2)

    def excess(edge: float) -> float:
        tails = stats.norm.sf((edge - centres) / fresh)
        return float(np.trapezoid(tails * density, dx=step)) - goal

    return float(optimize.brentq(excess, _LOWEST, 12.0))
