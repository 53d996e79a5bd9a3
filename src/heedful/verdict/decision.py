"""From bounds to decisions, and from decisions to the answer: should this attention be shown as an
explanation?

All bounds of the statements that decide hold together, so a decision is made only where every
point between them leads to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from heedful.verdict.inference import Comparison, examples_needed
from heedful.verdict.properties import PROPERTIES, REQUIRED
from heedful.verdict.settings import Settings, share_of
from heedful.verdict.statement import Decision, Statement, number

NOT_USED, NOT_FAITHFUL, EITHER = "not used", "not faithful", "either"
FAITHFUL = tuple(name for name in REQUIRED if name != "use")
ANSWERS: Mapping[Decision, str] = {
    Decision.SUPPORTED: "yes",
    Decision.NOT_SUPPORTED: "no",
    Decision.INCONCLUSIVE: "cannot tell yet",
}


def decide(statements: Sequence[Statement], chosen: Settings) -> tuple[Statement, ...]:
    """What was measured and is not blocked is above its threshold, below it, or open. A
    population is on one side of each threshold, so only one of the two answers can be wrong:
    alpha is shared by the statements, not by the answers."""
    return tuple(_decided(each, chosen) for each in statements)


def _decided(each: Statement, chosen: Settings) -> Statement:
    if each.decision is not Decision.INCONCLUSIVE:
        known = each.blocked in ("", *each.notes)
        return each if known else replace(each, notes=(each.blocked, *each.notes))
    if each.blocked:
        return _with_blocked(each, chosen)
    if each.low > each.threshold:
        return replace(each, decision=Decision.SUPPORTED)
    if each.high < each.threshold:
        return replace(each, decision=Decision.NOT_SUPPORTED)
    count = _count(each, chosen)
    return replace(each, needed=count, notes=(*each.notes, how_many(count, each)))


def _with_blocked(each: Statement, chosen: Settings) -> Statement:
    """Where more examples would lift the block, as many as decide the statement then."""
    if each.needed is None:
        return replace(each, notes=(each.blocked, *each.notes))
    count: int | None = each.needed
    if each.low <= each.threshold <= each.high:
        own = _count(each, chosen)
        count = None if own is None else max(each.needed, own)
    return replace(each, needed=count, notes=(each.blocked, *each.notes, how_many(count, each)))


def _count(each: Statement, chosen: Settings) -> int | None:
    found = Comparison(*(getattr(each, field.name) for field in fields(Comparison)))
    return examples_needed(found, each.threshold, share_of(each.property, chosen), each.n)


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


@dataclass(frozen=True)
class Overall:
    """`reason` is why the answer is no, "" for the others; `needed` is about how many examples
    would decide, None where it is decided or no number would."""

    decision: Decision
    reason: str = ""
    needed: int | None = None


def overall(statements: Sequence[Statement]) -> Overall:
    """The rule for a population: not used, if the output does not move with the weights; else
    not faithful, if the weights fail on importance, on agreement or against the model-free
    baseline; else yes. Where importance measures do not agree with each other, agreement is
    not asked.

    The answer is given only where all points within the bounds give it. If use is open and the
    weights are not faithful, both reasons are possible and the answer is no all the same.
    """
    by_name = {each.property: each for each in statements}
    if _is(by_name, "use", Decision.NOT_SUPPORTED):
        return Overall(Decision.NOT_SUPPORTED, NOT_USED)
    if _failed(by_name):
        used = _is(by_name, "use", Decision.SUPPORTED)
        return Overall(Decision.NOT_SUPPORTED, NOT_FAITHFUL if used else EITHER)
    if all(_passed(by_name, name) for name in REQUIRED):
        return Overall(Decision.SUPPORTED)
    return Overall(Decision.INCONCLUSIVE, needed=_needed(by_name))


def headline(found: Overall, statements: Sequence[Statement], site: str) -> str:
    """The answer as a sentence that says no more than the decision does."""
    by_name = {each.property: each for each in statements}
    if found.decision is Decision.SUPPORTED:
        return f"yes, show {site}: it marks the words that matter to these predictions."
    if found.decision is Decision.INCONCLUSIVE:
        return (
            f"cannot tell yet whether {site} explains these predictions: {_open(by_name, found)}."
        )
    if found.reason == NOT_USED:
        moved = f"without it the output moves by {number(by_name['use'].estimate)}"
        return f"no, do not show {site}: the model hardly uses it ({moved})."
    *others, last = [_failure(by_name[name]) for name in _failed(by_name)]
    text = f"no, do not show {site}: it {', '.join(others)}{', and ' if others else ''}{last}"
    if found.reason == EITHER:
        text += "; whether the model uses it is open"
    return f"{text}."


def _failure(each: Statement) -> str:
    """What attention does not do, with the number that shows it."""
    asked = f"{each.property} {number(each.estimate)}, asked {number(each.threshold)}"
    return f"{PROPERTIES[each.property].failure} ({asked})"


def _open(by_name: Mapping[str, Statement], found: Overall) -> str:
    if found.needed is not None:
        return f"about {rounded(found.needed)} examples would decide"
    said = {
        name: by_name[name].decision.lower() if name in by_name else "not measured"
        for name in REQUIRED
        if not _passed(by_name, name)
    }
    return ", ".join(f"{name} {text}" for name, text in said.items())


def _needed(by_name: Mapping[str, Statement]) -> int | None:
    """Where some estimate is below its threshold, one such statement is enough for a no; else
    all that are open must be decided. None where one of those never will be."""
    missing = [name for name in REQUIRED if not _passed(by_name, name)]
    known = [by_name[name] for name in missing if name in by_name]
    below = [each.needed for each in known if each.estimate < each.threshold and not each.blocked]
    if below:
        return min((count for count in below if count is not None), default=None)
    counts = [each.needed for each in known]
    if len(known) < len(missing) or None in counts:
        return None
    return max((count for count in counts if count is not None), default=None)


def _failed(by_name: Mapping[str, Statement]) -> list[str]:
    return [name for name in FAITHFUL if _is(by_name, name, Decision.NOT_SUPPORTED)]


def _passed(by_name: Mapping[str, Statement], name: str) -> bool:
    """Supported; or agreement where nothing could agree."""
    silent = name == "agreement" and _is(by_name, name, Decision.UNUSABLE)
    return silent or _is(by_name, name, Decision.SUPPORTED)


def _is(by_name: Mapping[str, Statement], name: str, decision: Decision) -> bool:
    return name in by_name and by_name[name].decision is decision
