"""A verdict in a few lines of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from heedful.verdict.decide import Decision
from heedful.verdict.recommend import Recommendation
from heedful.verdict.sites import Sites
from heedful.verdict.statement import Statement


def lines(
    headline: str,
    statements: Sequence[Statement],
    said: tuple[Recommendation, Recommendation, Sites],
    warnings: Sequence[str],
) -> list[str]:
    """The answer, the evidence, what to show for each question, and what to be careful about."""
    importance, direction, sites = said
    return [
        headline,
        "",
        *(statement_line(each) for each in statements),
        "",
        f"Which words matter: {importance.sentence}",
        f"Which class they speak for: {direction.sentence}",
        f"Other attention: {sites.sentence}",
        *(f"Careful: {text}" for text in warnings),
    ]


def statement_line(each: Statement) -> str:
    """Property, decision, number with bounds against the threshold, and how many examples."""
    start = f"{each.property:<13}{each.decision:<14}"
    if math.isnan(each.estimate):
        return f"{start}{each.blocked}".rstrip()
    text = f"{start}{number(each.estimate)} ({number(each.low)} to {number(each.high)})"
    if not math.isnan(each.threshold):
        text += f" against {number(each.threshold)}"
    return f"{text}, {each.n} examples{_why(each)}"


def number(value: float) -> str:
    """Two digits after the point, three for small numbers."""
    if not math.isfinite(value):
        return "?"
    if value == 0:
        return "0"
    return f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}"


def _why(each: Statement) -> str:
    if each.decision is Decision.UNUSABLE:
        return f"; {each.blocked}"
    if each.decision is not Decision.INCONCLUSIVE:
        return ""
    reason = each.blocked or next((note for note in each.notes if "decide" in note), "")
    return f"; {reason}" if reason else ""
