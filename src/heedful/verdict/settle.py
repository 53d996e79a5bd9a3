"""Decisions over all properties together: Holm over properties and both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heedful.verdict.decide import Decision, holm, needed, rejected
from heedful.verdict.sequential import level_at
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.weigh import Weighed

APART = ("plausibility",)
"""Another question for another reader: to measure it must not change what is decided on
faithfulness, so it shares no alpha with it."""


def settle(statements: Sequence[Statement], chosen: Settings) -> tuple[Statement, ...]:
    """Each measured property asks two questions, whether it lies above and whether below its
    smallest effect, and all of them share one alpha. What cannot be decided for another
    reason still counts among the questions: the data must not choose how many there are."""
    families: tuple[list[Statement], list[Statement]] = ([], [])
    for each in statements:
        families[each.property in APART].append(each)
    settled = {each.property: each for part in families for each in _family(part, chosen)}
    return _with_precondition([settled[each.property] for each in statements])


def _with_precondition(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Where attention is not needed, the rest says so."""
    names = [each.property for each in statements if each.decision is Decision.NOT_SUPPORTED]
    if "necessity" not in names:
        return tuple(statements)
    note = "attention is not needed here, so this says nothing on what it explains."
    return tuple(
        replace(each, notes=(*each.notes, note)) if each.property in _RESTS_ON_IT else each
        for each in statements
    )


_RESTS_ON_IT = ("agreement", "sensitivity", "ranking", "exclusivity")


def _family(statements: Sequence[Statement], chosen: Settings) -> list[Statement]:
    asking = [each for each in statements if each.decision in _ASKING]
    p_values = [p for each in asking for p in _p_values(each)]
    fallen = rejected(
        p_values, chosen.alpha, lambda share: level_at(chosen.look, chosen.looks, share)
    )
    adjusted = holm(p_values)
    share = chosen.alpha / max(1, len(p_values))
    settled = {
        each.property: _settled(each, fallen[2 * i : 2 * i + 2], adjusted[2 * i : 2 * i + 2], share)
        for i, each in enumerate(asking)
    }
    return [settled.get(each.property, each) for each in statements]


_ASKING = (Decision.INCONCLUSIVE, Decision.UNUSABLE)


def _p_values(each: Statement) -> tuple[float, float]:
    return (1.0, 1.0) if each.blocked else (each.p_above, each.p_below)


def _settled(
    each: Statement, fallen: Sequence[bool], adjusted: Sequence[float], share: float
) -> Statement:
    if each.blocked:
        return replace(each, notes=(each.blocked, *each.notes))
    above, below = adjusted
    each = replace(each, adjusted_above=above, adjusted_below=below)
    if fallen[0] != fallen[1]:
        decision = Decision.SUPPORTED if fallen[0] else Decision.NOT_SUPPORTED
        return replace(each, decision=decision)
    count = _count(each, share)
    notes = (*each.notes, how_many(count, each))
    if each.low > each.threshold or each.high < each.threshold:
        notes = (*notes, "decided alone, but not together with the other properties (Holm).")
    return replace(each, needed=count, notes=notes)


def _count(each: Statement, share: float) -> int | None:
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
    count = needed(weighed, each.threshold, share)
    return None if count is None else max(count, each.clusters + 1)


def how_many(count: int | None, each: Statement) -> str:
    """What would decide, in words."""
    if count is not None:
        return f"about {_round(count)} examples would decide."
    if each.seed_error > 0:
        return "more seeds would be needed to decide: more examples alone would not do."
    return "no number of examples would decide: the estimate sits on the threshold."


def _round(count: int) -> int:
    """Two digits are all that is known of it; rounded up."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step
