"""A section for a model card, in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from heedful.store import FileKind, begins
from heedful.verdict.recommendation import Ranked
from heedful.verdict.statement import Statement, number
from heedful.verdict.verdict import Verdict

TITLE = "Should attention be shown as an explanation?"
CARD = FileKind("a card of `heedful audit`", begins(f"## {TITLE}\n\n**", "Settings `"))


def card(verdict: Verdict, title: str = TITLE) -> str:
    """What was claimed, on what evidence, what to show instead, and what it does not mean."""
    return "\n".join(
        [
            f"## {escape(title)}",
            "",
            f"**{verdict.decision}**: {escape(verdict.headline)}",
            "",
            "| property | decision | estimate | bounds | threshold | fail | examples |",
            "|---|---|---|---|---|---|---|",
            *(_row(each) for each in verdict.statements),
            "",
            f"**Which words matter:** {escape(verdict.recommendation.sentence)}",
            "",
            *_ranked(verdict.recommendation.ranked),
            f"**Which class they speak for:** {escape(verdict.direction.sentence)}",
            "",
            *_ranked(verdict.direction.ranked),
            f"**Other attention:** {escape(verdict.sites.sentence)}",
            "",
            *_list("Warnings", verdict.warnings),
            *_list("What this does not mean", verdict.caveats),
            f"Settings `{verdict.digest}`; {_facts(verdict)}.",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text that Markdown (and the HTML within it) leaves as it is, on one line."""
    flat = re.sub(r"\s+", " ", text).strip()
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~!])", r"\\\1", flat)


def _row(each: Statement) -> str:
    cells = [
        escape(each.property),
        str(each.decision),
        number(each.estimate),
        f"{number(each.low)} to {number(each.high)}",
        number(each.threshold),
        "?" if math.isnan(each.share_failing) else f"{each.share_failing:.0%}",
        str(each.n),
    ]
    return f"| {' | '.join(cells)} |"


def _ranked(ranked: Sequence[Ranked]) -> list[str]:
    if not ranked:
        return []
    head = ["| explanation | score | as good as the best? | ms per example |", "|---|---|---|---|"]
    rows = [
        f"| {escape(each.explanation)} | {number(each.position)} | "
        f"{'cannot be told apart' if each.tied else 'no'} | {number(each.milliseconds)} |"
        for each in ranked
    ]
    return [*head, *rows, ""]


def _list(title: str, texts: Sequence[str]) -> list[str]:
    return [f"**{title}**", "", *(f"- {escape(text)}" for text in texts), ""] if texts else []


def _facts(verdict: Verdict) -> str:
    names = ("examples", "accuracy", "majority")
    known = [(name, verdict.facts[name]) for name in names if name in verdict.facts]
    return ", ".join(f"{name} {value:.4g}" for name, value in known)
