"""Should this attention be shown as an explanation? Yes, no, or not known yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heedful.verdict.decide import Decision
from heedful.verdict.lines import number
from heedful.verdict.settings import REQUIRED
from heedful.verdict.settle import rounded
from heedful.verdict.statement import Statement

NOT_USED, NOT_FAITHFUL, EITHER = "not used", "not faithful", "either"
FAITHFUL = tuple(name for name in REQUIRED if name != "use")
ANSWERS: Mapping[Decision, str] = {
    Decision.SUPPORTED: "yes",
    Decision.NOT_SUPPORTED: "no",
    Decision.INCONCLUSIVE: "cannot tell yet",
}


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
    failed = [name for name in FAITHFUL if _is(by_name, name, Decision.NOT_SUPPORTED)]
    if _is(by_name, "use", Decision.NOT_SUPPORTED):
        return Overall(Decision.NOT_SUPPORTED, NOT_USED)
    if failed:
        used = _is(by_name, "use", Decision.SUPPORTED)
        return Overall(Decision.NOT_SUPPORTED, NOT_FAITHFUL if used else EITHER)
    if all(passed(by_name, name) for name in REQUIRED):
        return Overall(Decision.SUPPORTED)
    return Overall(Decision.INCONCLUSIVE, needed=_needed(by_name))


def passed(by_name: Mapping[str, Statement], name: str) -> bool:
    """Supported; or agreement where nothing could agree."""
    silent = name == "agreement" and _is(by_name, name, Decision.UNUSABLE)
    return silent or _is(by_name, name, Decision.SUPPORTED)


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
    failed = [name for name in FAITHFUL if _is(by_name, name, Decision.NOT_SUPPORTED)]
    *others, last = [_failure(by_name[name]) for name in failed]
    text = f"no, do not show {site}: it {', '.join(others)}{', and ' if others else ''}{last}"
    if found.reason == EITHER:
        text += "; whether the model uses it is open"
    return f"{text}."


def _failure(each: Statement) -> str:
    """What attention does not do, with the number that shows it."""
    if each.property == "baseline":
        return f"tells no more than word frequency or position ({_against(each)})"
    if each.property == "agreement":
        return f"does not rank words as measures of importance do ({_against(each)})"
    return f"does not mark the words that matter ({_against(each)})"


def _against(each: Statement) -> str:
    return f"{each.property} {number(each.estimate)}, asked {number(each.threshold)}"


def _open(by_name: Mapping[str, Statement], found: Overall) -> str:
    if found.needed is not None:
        return f"about {rounded(found.needed)} examples would decide"
    said = {
        name: by_name[name].decision.lower() if name in by_name else "not measured"
        for name in REQUIRED
        if not passed(by_name, name)
    }
    return ", ".join(f"{name} {text}" for name, text in said.items())


def _needed(by_name: Mapping[str, Statement]) -> int | None:
    """Where some estimate is below its threshold, one such statement is enough for a no; else
    all that are open must be decided. None where one of those never will be."""
    missing = [name for name in REQUIRED if name not in by_name or not passed(by_name, name)]
    known = [by_name[name] for name in missing if name in by_name]
    below = [each.needed for each in known if each.estimate < each.threshold and not each.blocked]
    enough = [count for count in below if count is not None]
    if below:
        return min(enough, default=None)
    counts = [each.needed for each in known]
    if len(known) < len(missing) or None in counts:
        return None
    return max((count for count in counts if count is not None), default=None)


def _is(by_name: Mapping[str, Statement], name: str, decision: Decision) -> bool:
    return name in by_name and by_name[name].decision is decision
