"""Attention of adversaries, against that of models which differ in nothing but their seed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, between, estimate
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    BASIS,
    ROWS,
    Evidence,
    Finding,
    Place,
    Table,
    Told,
    backed,
    basis,
    directed,
    measured,
    said,
    sentence,
    tallied,
)

PAPER = "wiegreffe2019"
SEEDS = ("jsd_seeds", "jsd_seeds_max", "delta_seeds")
EXACT = "jsd_exact"
OF_LABELS = "labels"
SENTENCES = (
    "Only adversaries that do not clearly change the answers more than another seed are compared.",
    "Other seeds are compared example by example: their median, and the furthest of them.",
    "Weights chosen for one example at a time come from no training.",
)
WEIGHTED = re.compile(rf"jsd:({OF_LABELS})?[0-9.e+-]+")


@dataclass(frozen=True)
class Trained:
    """An adversary by the weight that its training gave to attending elsewhere."""

    weight: str
    jsd: Estimate
    tvd: Estimate

    @property
    def label(self) -> str:
        goal = "labels, " if self.weight.startswith(OF_LABELS) else ""
        return f"adversary ({goal}λ = {self.weight.removeprefix(OF_LABELS)})"


@dataclass(frozen=True)
class Found:
    """One corpus and model: other seeds, adversaries, and the exact one where it is known."""

    title: str
    seeds: Estimate
    furthest: Estimate
    change: Estimate
    adversaries: tuple[Trained, ...]
    exact: Estimate | None

    @property
    def best(self) -> Trained | None:
        """The furthest of those that do not clearly change the answers more than a seed does."""
        quiet = [each for each in self.adversaries if between(each.tvd, self.change).sign <= 0]
        return max(quiet, key=lambda each: each.jsd.mean, default=None)


def tell(evidence: Evidence) -> Told | None:
    found = list(_found(evidence))
    if not found:
        return None
    tables = tuple(_table(each) for each in found)
    panels = tuple(panel for each in found for panel in _panels(each))
    says = "Distance of attention and change of the answers: other seeds and adversaries"
    backing = (
        backed(ROWS, paper=PAPER, probe="seeds", measure=SEEDS),
        backed(ROWS, paper=PAPER, probe="frontier"),
        backed(ROWS, paper=PAPER, probe="adversarial", measure=EXACT),
    )
    return Told(_answer(found), Picture(says, ("",), panels), tables, backing, SENTENCES)


def _found(evidence: Evidence) -> Iterator[Found]:
    probes = {
        name: dict(evidence.places(PAPER, name)) for name in ("seeds", "frontier", "adversarial")
    }
    for place, part in probes["seeds"].items():
        lines = [measured(part, name) for name in SEEDS]
        if place in probes["frontier"] and all(len(each) for each in lines):
            near, furthest, change = (estimate(each) for each in lines)
            trained = tuple(_trained(probes["frontier"][place]))
            exact = _exact(probes["adversarial"], place)
            yield Found(place.title, near, furthest, change, trained, exact)


def _trained(part: pd.DataFrame) -> Iterator[Trained]:
    names = [str(name) for name in dict.fromkeys(part["measure"]) if WEIGHTED.fullmatch(name)]
    for name in sorted(names, key=_order):
        weight = name.removeprefix("jsd:")
        lines = [measured(part, f"{kind}:{weight}") for kind in ("jsd", "tvd")]
        if all(len(each) for each in lines):
            yield Trained(weight, *(estimate(each) for each in lines))


def _order(name: str) -> tuple[bool, float]:
    weight = name.removeprefix("jsd:")
    return weight.startswith(OF_LABELS), float(weight.removeprefix(OF_LABELS))


def _exact(parts: dict[Place, pd.DataFrame], place: Place) -> Estimate | None:
    """Of the same corpus and model, over however many trainings there are."""
    own = [part for other, part in parts.items() if _alike(other, place)]
    lines = measured(own[0], EXACT) if own else pd.DataFrame()
    return estimate(lines) if len(lines) else None


def _alike(first: Place, second: Place) -> bool:
    return (first.corpus, first.model) == (second.corpus, second.model)


def _answer(found: list[Found]) -> str:
    """By the intervals, with the two distances where there is one model."""
    if len(found) > 1:
        signs = {each.title: _sign(each) for each in found if each.best is not None}
        lost = [each.title for each in found if each.best is None]
        words = ("further", "nearer", "it cannot be told")
        told = [tallied(signs, *words)] * bool(signs) + [
            f"not comparable for {one}" for one in lost
        ]
        return sentence("; ".join(told))
    one = found[0]
    if one.best is None:
        return sentence("every adversary clearly changed the answers more than another seed does")
    words = ("yes, it is further away", "no, it is nearer", "that cannot be told")
    return sentence(
        f"{directed(between(one.best.jsd, one.furthest), *words)}: the furthest adversary is "
        f"{said(one.best.jsd, 3)} away, the furthest seed {said(one.furthest, 3)}"
    )


def _sign(found: Found) -> int:
    return 0 if found.best is None else between(found.best.jsd, found.furthest).sign


def _table(found: Found) -> Table:
    rows = [
        ("other seeds, median", said(found.seeds, 3), said(found.change, 3), *basis(found.seeds)),
        ("other seeds, furthest", said(found.furthest, 3), "", *basis(found.furthest)),
    ]
    if found.best is not None:
        jsd, tvd = found.best.jsd, found.best.tvd
        rows.append(("furthest adversary", said(jsd, 3), said(tvd, 3), *basis(jsd)))
    if found.exact is not None:
        most = "one percentage point at most"
        rows.append(("one example at a time", said(found.exact, 3), most, *basis(found.exact)))
    head = (found.title, "distance of attention (JSD)", "change of the probability", *BASIS)
    return Table(head, tuple(rows))


def _panels(found: Found) -> Iterator[Panel]:
    distances = [("other seeds, median", found.seeds), ("other seeds, furthest", found.furthest)]
    distances += [(each.label, each.jsd) for each in found.adversaries]
    if found.exact is not None:
        distances.append(("one example at a time", found.exact))
    changes = [("other seeds, median", found.change)]
    changes += [(each.label, each.tvd) for each in found.adversaries]
    axes = {
        "distance of attention (JSD, nats)": distances,
        "change of the predicted probability": changes,
    }
    for axis, rows in axes.items():
        drawn = tuple(Row(label, (("", each),)) for label, each in rows)
        yield Panel(found.title, axis, drawn)


FINDING = Finding(
    name="adversary-and-seeds",
    title="Is a trained adversary further away than another seed?",
    question=(
        "An adversary is a model trained to attend elsewhere and to give the same answers: it has "
        "adversarial attention. Its distance means little by itself. Two honest trainings that "
        "differ only in their random start (their seed) attend differently too."
    ),
    limits=(
        "An adversary's distance is a lower bound, since these trainings may have missed a better "
        "one. It may change answers as much as a seed does, so it can be further away than weights "
        "chosen for one example. Nobody marked the reasons here, so adversarial attention may be a "
        "wrong reason or another good one. The attack was on one small model and one corpus. "
        "A small run trains fewer seeds and adversaries than the paper did."
    ),
    commands=(
        "heedful study wiegreffe2019 --corpora sst --preset small "
        "--probes score,seeds,frontier --seeds 3",
        "heedful study wiegreffe2019 --corpora sst --probes score,adversarial --seeds 5",
    ),
    tell=tell,
)
