"""Does any other attention explain? Another layer, a single head, rollout or weighted attention.

The best of many looks good by chance: it is chosen on one half of the examples and its number is
that of the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

from heedful.verdict.contenders import IMPORTANCE, cells_of, half, other_site
from heedful.verdict.formulas import position
from heedful.verdict.properties.importance import MEASURE
from heedful.verdict.resample import sample
from heedful.verdict.settings import Settings
from heedful.verdict.table import Table
from heedful.verdict.weigh import closed

WEIGHTED = ("rollout", "value_norm", "gradient_attention", "effective_attention")
"""Explanations that are attention, made more of."""
MOST = 20


@dataclass(frozen=True)
class Site:
    """One attention on the half that was kept for reporting; `chosen_on` is its position on the
    other half, by which it was put in its place."""

    name: str
    position: float
    low: float
    high: float
    chosen_on: float


@dataclass(frozen=True)
class Sites:
    """`tried` of them, the best first as the first half has it; `explains` says whether the very
    best clears the bar on the second half, None where that is open."""

    sentence: str
    tried: int = 0
    explains: bool | None = None
    ranked: tuple[Site, ...] = ()


def sites(table: Table, chosen: Settings) -> Sites:
    known = (table.get(table.main, MEASURE, each) for each in table.operators(MEASURE))
    names = {str(name) for wide in known for name in wide.columns}
    names = {name for name in names if name == chosen.on_trial or _is_attention(name, chosen)}
    cells = cells_of(table, IMPORTANCE, names, chosen)
    others = [name for name in cells if name != chosen.on_trial]
    if not others:
        return Sites("no other layer, head or weighted attention was scored.")
    halves = [half(cells, table, side) for side in (0, 1)]
    cluster_of, alpha = table.cluster_of, chosen.alpha
    drawn = [{n: sample([mine[n]], cluster_of) for n in cells} for mine in halves]
    if min(each.clusters for mine in drawn for each in mine.values()) < chosen.fewest:
        return Sites(f"too few examples: each half of them needs {chosen.fewest}.", len(cells))
    first = {name: closed(each, position, alpha)[0] for name, each in drawn[0].items()}
    order = sorted(cells, key=lambda name: -first[name])
    ranked = tuple(
        Site(name, *closed(drawn[1][name], position, alpha), first[name]) for name in order[:MOST]
    )
    best, bar = ranked[0], chosen.effect("importance")
    explains = True if best.low > bar else False if best.high < bar else None
    return Sites(_sentence(best, len(cells), explains, chosen), len(cells), explains, ranked)


def _sentence(best: Site, tried: int, explains: bool | None, chosen: Settings) -> str:
    said = {True: "clears", False: "does not clear", None: "may clear"}[explains]
    score = f"{best.position:.2f} ({best.low:.2f} to {best.high:.2f})"
    name = best.name.replace("_", " ")
    if best.name == chosen.on_trial:
        return f"of {tried} kinds of attention the one on trial is best: {score}."
    bar = chosen.effect("importance")
    return f"of {tried} kinds of attention {name} is best: {score}; it {said} the bar of {bar:g}."


def _is_attention(name: str, chosen: Settings) -> bool:
    return other_site(name, chosen) or name.partition(":")[0] in WEIGHTED
