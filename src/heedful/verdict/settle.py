"""From bounds to decisions. All bounds of the statements that decide hold together, so a decision
is made only where every point between them leads to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heedful.verdict.decide import Decision, examples_needed
from heedful.verdict.settings import REQUIRED, Settings
from heedful.verdict.statement import Statement
from heedful.verdict.weigh import Weighed


def settle(statements: Sequence[Statement], chosen: Settings) -> tuple[Statement, ...]:
    """What was measured and is not blocked is above its threshold, below it, or open. A
    population is on one side of each threshold, so only one of the two answers can be wrong:
    alpha is shared by the statements, not by the answers."""
    return tuple(_settled(each, chosen) for each in statements)


def _settled(each: Statement, chosen: Settings) -> Statement:
    if each.decision is not Decision.INCONCLUSIVE:
        known = each.blocked in ("", *each.notes)
        return each if known else replace(each, notes=(each.blocked, *each.notes))
    if each.blocked:
        count = each.needed
        if count is not None and each.low <= each.threshold <= each.high:
            own = _count(each, chosen)
            count = None if own is None else max(count, own)
        many = () if each.needed is None else (how_many(count, each),)
        return replace(each, needed=count, notes=(each.blocked, *each.notes, *many))
    if each.low > each.threshold:
        return replace(each, decision=Decision.SUPPORTED)
    if each.high < each.threshold:
        return replace(each, decision=Decision.NOT_SUPPORTED)
    count = _count(each, chosen)
    return replace(each, needed=count, notes=(*each.notes, how_many(count, each)))


def _count(each: Statement, chosen: Settings) -> int | None:
    weighed = Weighed(
        each.estimate,
        each.low,
        each.high,
        each.p_above,
        each.p_below,
        each.error,
        each.seed_error,
        each.clusters,
        each.checkpoints,
    )
    together = len(REQUIRED) if each.property in REQUIRED else 1
    return examples_needed(weighed, each.threshold, chosen.alpha / together, each.n)


def how_many(count: int | None, each: Statement) -> str:
    """What would decide, in words."""
    if count is not None:
        return f"about {rounded(count)} examples would decide."
    if each.seed_error > 0:
        return "more seeds would be needed to decide: more examples alone would not do."
    return "no number of examples would decide: the estimate sits on the threshold."


def rounded(count: int) -> int:
    """Two digits are all that is known of it; rounded up."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step
