"""What happens to the output when attention is changed, and how far it may go unnoticed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.figures.distributions import Axis, histogram, shares
from heedful.report.figures.figure import CLASSES, KINDS, Panel
from heedful.report.formats import of_texts, percent, shown

EDITS = {
    "": "untouched",
    "uniform": "uniform",
    "permute": "permuted",
    "uniform everywhere": "uniform, every layer",
    "permute everywhere": "permuted, every layer",
    "uniform_trained": "trained with uniform attention",
}
ITEMS = {
    "js_top": "the heaviest item",
    "js_random": "another at random",
    "js_best": "the item that matters most",
}
FURTHEST = math.log(2)
BINS = 25


@dataclass(frozen=True)
class Drawn:
    """One histogram: which numbers, on which axis (its title and end), in which words."""

    title: str
    note: str
    values: pd.Series
    on: tuple[str, float]
    colour: str

    @property
    def axis(self) -> Axis:
        """From 0 to as far as it goes, with the mean marked."""
        title, high = self.on
        return Axis(title, 0.0, high, BINS, float(self.values.mean()))


def edits(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Accuracy and change of the output, edit by edit; an edit that did the same as another
    (one layer is every layer) is not shown twice."""
    before, found = evidence.values("correct"), []
    for operator in _operators(evidence):
        correct, moved = (evidence.values(name, "", operator) for name in ("correct", "tvd"))
        if operator.endswith(" everywhere") and _same(evidence, operator):
            continue
        found.append(
            {
                "name": EDITS.get(operator, operator),
                "accuracy": percent(correct.mean()),
                "drop": shown(before.mean() - correct.mean()) if operator else "–",
                "mean": shown(moved.mean()) if operator else "–",
                "median": shown(moved.median()) if operator else "–",
                "n": str(max(len(correct), len(moved))),
            }
        )
    return found


def items(evidence: AuditEvidence) -> list[dict[str, str]]:
    """One item erased from attention, the rest made to sum to one again."""
    series = {name: evidence.values(name, evidence.on_trial) for name in ITEMS}
    return [
        {"name": ITEMS[name], "mean": shown(each.mean()), "n": of_texts(len(each))}
        for name, each in series.items()
        if len(each)
    ]


def moved(evidence: AuditEvidence) -> list[Drawn]:
    """How much the output of each text moves."""
    axis = ("change of the output (TVD)", 1.0)
    trial = evidence.on_trial
    permuted = evidence.values("tvd_permuted", trial)
    many = "median over permutations" if len(permuted) else "one permutation each"
    permuted = permuted if len(permuted) else evidence.values("tvd", "", "permute")
    uniform = evidence.values("tvd", "", "uniform")
    drawn = [
        Drawn("Uniform attention", "", uniform, axis, CLASSES[0]),
        Drawn("Permuted attention", many, permuted, axis, CLASSES[1]),
    ]
    return [each for each in drawn if len(each.values)]


def exclusive(evidence: AuditEvidence) -> list[Drawn]:
    """How far another attention can be with the same output: exact, or what a search found."""
    exact = is_exact(evidence)
    note = "exact" if exact else "a lower bound, by search"
    colour = KINDS["exact" if exact else "search"]
    trial = evidence.on_trial
    far = ("share of the furthest possible", 1.0)
    jsd = ("Jensen–Shannon divergence (nats)", FURTHEST)
    ratio = evidence.values("jsd_same_output_ratio", trial)
    same = evidence.values("jsd_same_output", trial)
    found = Drawn("Same output", note, ratio, far, colour)
    if not len(ratio):
        found = Drawn("Same output", note, same, jsd, colour)
    matched = evidence.values("jsd_entropy_matched", trial)
    near = "a lower bound, by search"
    drawn = [found, Drawn("Same output, as spread out", near, matched, jsd, KINDS["matched"])]
    return [each for each in drawn if len(each.values)]


def is_exact(evidence: AuditEvidence) -> bool:
    """Where the decision is linear in attention it is solved, and reachability with it."""
    return len(evidence.values("reachable", evidence.on_trial)) > 0


def reachable(evidence: AuditEvidence) -> str:
    found = evidence.values("reachable", evidence.on_trial)
    if not len(found):
        return ""
    share, n = percent(found.mean()), of_texts(len(found))
    return f"Some attention over the same states would change the decision in {share} of {n}."


def panel(one: Drawn) -> Panel:
    """A histogram with its mean in words."""
    rows = pd.DataFrame({"value": one.values.to_numpy(), "colour": one.colour})
    top = float(shares(rows, one.axis)["share"].max())
    title = f"{one.title} ({one.note})" if one.note else one.title
    says = (
        f"{title}: {of_texts(len(rows))}, mean {shown(one.values.mean())}, "
        f"median {shown(one.values.median())}, "
        f"from {shown(one.values.min())} to {shown(one.values.max())}."
    )
    return Panel(title, histogram(rows, one.axis, top), says)


def _operators(evidence: AuditEvidence) -> list[str]:
    found = {operator for name in ("correct", "tvd") for _, operator in evidence.named(name)}
    return [name for name in EDITS if name in found] + sorted(found - set(EDITS))


def _same(evidence: AuditEvidence, operator: str) -> bool:
    alone = operator.removesuffix(" everywhere")
    return bool(
        evidence.values("tvd", "", operator).equals(evidence.values("tvd", "", alone))
        and evidence.values("correct", "", operator).equals(evidence.values("correct", "", alone))
    )


def caption(one: Drawn) -> dict[str, Any]:
    """What stands above and below a histogram."""
    middle = f"mean {shown(one.values.mean())} (dashed), median {shown(one.values.median())}"
    return {
        "title": one.title,
        "note": one.note,
        "middle": f"{middle}, {of_texts(len(one.values))}",
    }
