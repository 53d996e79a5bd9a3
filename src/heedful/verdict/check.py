"""A verdict as a gate: thresholds, or no worse than a baseline, as JUnit for a build server."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from heedful.errors import HeedfulError
from heedful.store import FileKind, begins
from heedful.verdict.statement import Decision, Statement
from heedful.verdict.verdict import Verdict

_DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n'
SUITE = "heedful"
JUNIT = FileKind(
    "a JUnit file of `heedful check`",
    begins(f'{_DECLARED}<testsuite name="{SUITE}"', "</testsuite>"),
)


@dataclass(frozen=True)
class Outcome:
    """One thing that was checked; `failure` is "" where it passed."""

    name: str
    failure: str = ""


def check(
    verdict: Verdict, thresholds: Mapping[str, float] | None = None, baseline: Verdict | None = None
) -> list[Outcome]:
    """Everything that was checked. A threshold is a property's smallest allowed estimate, and
    its upper bound must reach it: below it beyond doubt is a failure, doubt is not. Against a
    baseline, no property may have turned NOT SUPPORTED or fall below it by more than chance."""
    outcomes = [_overall(verdict, baseline)]
    for name, threshold in (thresholds or {}).items():
        outcomes.append(_threshold(verdict[name], threshold))
    if baseline is not None:
        if verdict.digest != baseline.digest:
            raise HeedfulError(
                "the baseline was made with other settings: make it again with these settings."
            )
        outcomes += [_against(verdict[old.property], old) for old in baseline.statements]
    return outcomes


def failures(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [each for each in outcomes if each.failure]


def junit(outcomes: Sequence[Outcome], suite: str = SUITE) -> str:
    """JUnit XML, one test case per outcome."""
    root = ElementTree.Element(
        "testsuite",
        name=_legal(suite),
        tests=str(len(outcomes)),
        failures=str(len(failures(outcomes))),
        errors="0",
        skipped="0",
    )
    for each in outcomes:
        name = _legal(each.name)
        case = ElementTree.SubElement(root, "testcase", classname=_legal(suite), name=name)
        if each.failure:
            text = _legal(each.failure)
            ElementTree.SubElement(case, "failure", message=text).text = text
    ElementTree.indent(root)
    return _DECLARED + ElementTree.tostring(root, "unicode") + "\n"


def _overall(verdict: Verdict, baseline: Verdict | None) -> Outcome:
    """Without a baseline a refuted claim fails; with one, only a claim that got worse."""
    bad = verdict.decision is Decision.NOT_SUPPORTED
    if baseline is not None and baseline.decision is Decision.NOT_SUPPORTED:
        bad = False
    return Outcome("overall", verdict.headline if bad else "")


def _threshold(each: Statement, threshold: float) -> Outcome:
    name = f"{each.property} at least {threshold:g}"
    if not math.isfinite(each.estimate):
        return Outcome(name, f"{each.property} has no estimate: {each.blocked or each.decision}")
    if each.high < threshold:
        text = f"{each.estimate:.3f}, at most {each.high:.3f}"
        return Outcome(name, f"{each.property} is {text}, below {threshold:g}.")
    return Outcome(name)


def _against(new: Statement, old: Statement) -> Outcome:
    name = f"{old.property} no worse than it was"
    if new.decision is Decision.NOT_SUPPORTED and old.decision is not Decision.NOT_SUPPORTED:
        return Outcome(name, f"{old.property} was {old.decision} and is now NOT SUPPORTED.")
    if math.isfinite(old.estimate) and math.isnan(new.estimate):
        return Outcome(name, f"{old.property} was measured and is now {new.decision}.")
    if old.decision is not Decision.REPORTED and new.high < old.low:
        text = f"from {old.estimate:.3f} to {new.estimate:.3f}"
        return Outcome(name, f"{old.property} fell {text}, more than chance explains.")
    return Outcome(name)


def _legal(text: str) -> str:
    """Without the characters XML cannot hold at all; the rest is escaped by the writer."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
