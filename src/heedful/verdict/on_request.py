"""What measures on request add to a verdict: sentences and numbers that never decide.

Edits: does each explanation mark the words that people changed to flip the label (kaushik2020)?
Each is compared with the better of two baselines, on the same texts.

Interactions: how much of what words do, single words miss, and which explanations name the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.verdict.inference import closed, difference, first, mean_interval, sample
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, number
from heedful.verdict.table import Table, best_floor, cell

FLIPS, STAYS = "flips", "stays"
AUPRC, AUROC, FLIPPED = "edit_auprc", "edit_auroc", "edit_flips"
EDITS = {AUPRC: (FLIPS, STAYS), "edit_precision": (FLIPS, STAYS), AUROC: ("",)}
"""Measures of edits, and for which revisions they are told apart."""
BASELINES = {"random": "a random order", "prior": "inverse frequency"}


@dataclass(frozen=True)
class EditScore:
    """One explanation by one measure, on the `texts` with such revisions: its mean, and how far it
    is above the `baseline` that is better there, with one-sided bounds."""

    measure: str
    revisions: str
    explanation: str
    value: float
    baseline: str
    above: float = NAN
    low: float = NAN
    high: float = NAN
    texts: int = 0


@dataclass(frozen=True)
class Edits:
    """`texts` have a revision, of which `flipped` change the prediction, on average over texts.
    Scores are by measure, the best first."""

    sentence: str = ""
    texts: int = 0
    flipped: float = NAN
    scores: tuple[EditScore, ...] = ()


def edits_of(table: Table, chosen: Settings) -> Edits:
    """From the table of measurements; nothing where no text has a revision."""
    revised = table.get(table.main, FLIPPED)
    if revised.empty:
        return Edits()
    share = mean_interval(revised[""].dropna(), table.cluster_of, chosen.alpha)[0]
    scores = tuple(
        score
        for measure, sides in EDITS.items()
        for side in sides
        for score in sorted(_scores(table, chosen, measure, side), key=lambda one: -one.value)
    )
    return Edits(_sentence(scores, share, len(revised), chosen), len(revised), share, scores)


def _scores(table: Table, chosen: Settings, measure: str, side: str) -> Iterator[EditScore]:
    wide = table.get(table.main, measure, side).dropna(how="all")
    baseline = best_floor(wide, tuple(BASELINES))
    for name in wide.columns:
        values: pd.Series = wide[name].dropna()
        if not len(values):
            continue
        mean, bounds = float(values.mean()), (NAN, NAN, NAN)
        if name not in BASELINES and baseline:
            both = cell(measure, side, [(str(name), wide[name]), (baseline, wide[baseline])])
            bounds = closed(sample([[both]], table.cluster_of), difference, chosen.alpha)
        yield EditScore(measure, side, str(name), mean, baseline, *bounds, len(values))


def _sentence(scores: tuple[EditScore, ...], share: float, texts: int, chosen: Settings) -> str:
    said = f"{share:.0%} of the revisions flip the prediction ({texts} texts have some)."
    mine = {
        (one.measure, one.revisions): one for one in scores if one.explanation == chosen.on_trial
    }
    if (AUPRC, FLIPS) in mine:
        one = mine[AUPRC, FLIPS]
        said += (
            f" Of {one.texts} texts the {chosen.unit}s that such a revision changed are known: "
            f"{chosen.on_trial} marks them with an AUPRC of {number(one.value)}{_beside(one)}."
        )
    if (AUROC, "") in mine:
        one = mine[AUROC, ""]
        said += (
            f" A revision that flips changed more of its mass than one of the same text that does "
            f"not in {one.value:.0%}{_beside(one)}."
        )
    return said


def _beside(one: EditScore) -> str:
    """The distance from the baseline, where it is known."""
    if math.isnan(one.above):
        return ""
    bounds = f"{number(one.low)} to {number(one.high)}"
    return f" (difference from {BASELINES[one.baseline]}: {number(one.above)}, {bounds})"


# Interactions: how much of what words do, single words miss, and who names the pairs that interact.


SHARE, CAPTURED = "interaction_share", "interaction_captured"


@dataclass(frozen=True)
class PairScore:
    """How much of the interaction the pairs hold that one explanation puts first; 0 is a random
    order of pairs, 1 a single pair that holds everything and comes first."""

    explanation: str
    captured: float
    low: float
    high: float


@dataclass(frozen=True)
class Interactions:
    """The `share` of what words do that single words miss, with one-sided bounds, over `texts`; and
    the explanations by the pairs that they name, the best first. Means over perturbations."""

    sentence: str = ""
    texts: int = 0
    share: float = NAN
    low: float = NAN
    high: float = NAN
    scores: tuple[PairScore, ...] = ()


def interactions_of(table: Table, chosen: Settings) -> Interactions:
    """From the table of measurements; nothing where no pair was measured."""
    shares = _over_perturbations(table, SHARE)
    values = shares[""].dropna() if "" in shares else pd.Series(dtype="float64")
    if not len(values):
        return Interactions()
    bounds = mean_interval(values, table.cluster_of, chosen.alpha)
    wide = _over_perturbations(table, CAPTURED)
    scores = []
    for name in wide.columns:
        one = cell(CAPTURED, "", [(str(name), wide[name].dropna())])
        scores.append(
            PairScore(str(name), *closed(sample([[one]], table.cluster_of), first, chosen.alpha))
        )
    scores.sort(key=lambda each: (-each.captured, each.explanation))
    own = next((each for each in scores if each.explanation == chosen.on_trial), None)
    share, low, high = (f"{each:.0%}" for each in bounds)
    sentence = (
        f"single {chosen.unit}s miss {share} ({low} to {high}) of what {chosen.unit}s do, alone "
        f"and in pairs ({len(values)} examples)."
    )
    if own is not None:
        sentence += (
            f" Pairs of {chosen.unit}s that {own.explanation} puts first capture "
            f"{number(own.captured)} of that ({number(own.low)} to {number(own.high)}; 0 "
            f"is a random order)."
        )
    return Interactions(sentence, len(values), *bounds, tuple(scores))


def _over_perturbations(table: Table, measure: str) -> pd.DataFrame:
    """Means over perturbations of one measure: examples down, explanations across."""
    parts = [table.get(table.main, measure, each) for each in table.operators(measure)]
    if not parts:
        return pd.DataFrame()
    stacked = pd.concat(parts)
    return stacked.groupby(stacked.index).mean()
