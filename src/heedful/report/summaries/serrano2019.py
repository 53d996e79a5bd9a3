"""serrano2019 in five lines: score, single weights, flips, importance sets, their order."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from heedful.catalogue import Piece
from heedful.report.display import number
from heedful.report.evidence import Evidence
from heedful.report.rankings import RANKINGS, Removed, compared, removals
from heedful.report.summaries.jain2019 import score_line
from heedful.report.wording import (
    ENOUGH,
    Finding,
    counted,
    ends,
    findings,
    firm_or_why,
    left_out,
    reach,
    share,
    texts_of,
)

LEVEL = 0.05
"""A sign test's p-value below this, and one ranking is said to be sooner."""


def lines(evidence: Evidence) -> list[str]:
    together = evidence.together
    return [
        score_line(together),
        erasure_line(evidence),
        _flips(together),
        _removed(together),
        _sooner(evidence),
    ]


def erasure_line(evidence: Evidence) -> str:
    """How often a random item matters more than the heaviest, and at which weights."""
    found = findings(evidence.together, "erasure", "negative")
    firm, why = firm_or_why("Erasing the heaviest item or a random one", found)
    if why:
        return why
    return (
        "Erasing a random item changes the output more than erasing the heaviest one for "
        f"{ends(firm, share)} of texts ({counted(firm)}){_where(evidence)}." + left_out(found)
    )


def _where(evidence: Evidence) -> str:
    """By how much the heaviest item outweighs the random one, there and elsewhere."""
    rows = evidence.rows("erasure", ["negative", "weight_difference"])
    place = ["corpus", "label", "seed", "example", "site", "head", "query"]
    wide = rows.pivot(index=place, columns="measure", values="value").dropna()
    there, elsewhere = (wide[wide["negative"] == sign]["weight_difference"] for sign in (1, 0))
    if min(len(there), len(elsewhere)) < ENOUGH:
        return ""
    return (
        f"; there the heaviest has {number(there.median())} more weight (median of "
        f"{len(there):,} rows), elsewhere {number(elsewhere.median())} (of {len(elsewhere):,})"
    )


def _flips(together: pd.DataFrame) -> str:
    found = {
        name: findings(together, "flips", f"flip_{name}")
        for name in ("top_only", "random_only", "both", "neither")
    }
    why = firm_or_why("Whether one item flips the decision", found["top_only"])[1]
    if why:
        return why
    top, other, both, neither = ([one for one in cells if one.firm] for cells in found.values())
    return (
        f"Erasing only the heaviest item flips the decision for {ends(top, share)} of texts, only "
        f"a random one for {ends(other, share)}, each of the two for {reach(both, share)}, "
        f"neither for {reach(neither, share)} ({counted(top)})." + left_out(found["top_only"])
    )


def _removed(together: pd.DataFrame) -> str:
    """Per ranking the median share at the flip, never-flipping texts counted as still there."""
    found = {
        words: findings(together, "importance_sets", f"restricted_fraction_{name}")
        for name, words in RANKINGS.items()
    }
    every = [one for cells in found.values() for one in cells]
    why = firm_or_why("How many items go until the decision flips", every)[1]
    if why:
        return why
    never = {
        words: findings(together, "importance_sets", f"never_{name}")
        for name, words in RANKINGS.items()
    }
    firm = {words: [one for one in cells if one.firm] for words, cells in found.items()}
    parts = [
        f"{words} {_medians(cells)} (never for {reach(never[words], share)})"
        for words, cells in firm.items()
        if cells and never[words]
    ]
    return (
        "Share of items removed when half of the decisions have flipped, never-flipping texts "
        f"counted: {'; '.join(parts)} ({counted(every)})." + left_out(every)
    )


def _medians(cells: list[Finding]) -> str:
    known = sorted(one.median for one in cells if one.median == one.median)
    missing = f", not reached in {len(cells) - len(known)} of {len(cells)}"
    low, high = (number(value) for value in (known[0], known[-1])) if known else ("", "")
    text = low if low == high else f"{low} to {high}"
    return (text + missing if len(known) < len(cells) else text).removeprefix(", ")


def _sooner(evidence: Evidence) -> str:
    """Which ranking needs the fewest items, and whether gradients beat attention."""
    cells = [found for _, found in removals(evidence, "fraction", ("corpus", "label", "seed"))]
    pairs = [cell for cell in cells if {"attention", "gradient"} <= cell.keys()]
    if not pairs:
        return "Gradients against attention as rankings: not measured."
    said = Counter(_winner(cell) for cell in pairs)
    rows = sum(len(cell["attention"].never) for cell in pairs)
    verdicts = ", ".join(f"{words} in {said[words]}" for words in sorted(said))
    return (
        "Ranked by gradient or by attention, which flips the same texts with fewer items? "
        f"Of {len(pairs)} trained models: {verdicts} (exact sign tests at {LEVEL}, n {rows:,})"
        f"{_first(evidence.together)}."
    )


def _winner(cell: dict[str, Removed]) -> str:
    found = compared(cell["gradient"], cell["attention"])
    if found.first + found.second < ENOUGH or not found.p_value < LEVEL:
        return "inconclusive"
    return "gradient" if found.first > found.second else "attention"


def _first(together: pd.DataFrame) -> str:
    """The ranking with the smallest mean share, pair by pair."""
    table = together[
        (together["probe"] == "importance_sets")
        & together["measure"].str.startswith("restricted_fraction_")
        & together["mean"].notna()
        & (texts_of(together) >= ENOUGH)
    ]
    pairs = table.sort_values("mean", kind="stable").groupby(["corpus", "model"], sort=False)
    best = pairs.head(1).to_dict("records")
    if not best:
        return ""
    names = Counter(line["measure"].removeprefix("restricted_fraction_") for line in best)
    wins = ", ".join(f"{RANKINGS.get(name, name)} in {count}" for name, count in names.items())
    low, high = min(line["mean"] for line in best), max(line["mean"] for line in best)
    spread = number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"
    return f"; of all rankings the fewest items go by {wins} (mean share {spread})"


PIECE = Piece(
    name="serrano2019",
    description="score, single weights erased, flips, importance sets and their order",
    make=lines,
    paper="serrano2019",
)
