"""Attention of adversaries, against that of models which differ in nothing but their seed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from heedful.report import Estimate, Picture, Row, between, estimate
from heedful.report.figures.dots import Panel
from paper_tables.findings.evidence import (
    ROWS,
    Evidence,
    Finding,
    Place,
    Told,
    backed,
    basis,
    directed,
    measured,
    said,
    sentence,
)

PAPER = "wiegreffe2019"
SEEDS = ("jsd_seeds", "jsd_seeds_max", "delta_seeds")
EXACT = "jsd_exact"
OF_LABELS = "labels"
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
    sentences = tuple(line for each in found for line in _said(each))
    panels = tuple(panel for each in found for panel in _panels(each))
    says = "Distance of attention and change of the answers: other seeds and adversaries"
    backing = (
        backed(ROWS, paper=PAPER, probe="seeds", measure=SEEDS),
        backed(ROWS, paper=PAPER, probe="frontier"),
        backed(ROWS, paper=PAPER, probe="adversarial", measure=EXACT),
    )
    return Told(sentences, Picture(says, ("",), panels), backing)


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


def _said(found: Found) -> Iterator[str]:
    yield sentence(
        f"{found.title}: trained again with other seeds, the model attends {said(found.seeds, 3)} "
        f"away (in each text the median of these seeds; the furthest of them "
        f"{said(found.furthest, 3)}), and its answers change by {said(found.change, 3)} in "
        f"probability ({basis(found.seeds)})"
    )
    best = found.best
    if best is None:
        yield sentence("every adversary clearly changed the answers more than another seed does")
        return
    words = (
        "that is further than the furthest of the seeds",
        "that is nearer than the furthest of the seeds",
        "it cannot be told whether that is further than the furthest of the seeds",
    )
    yield sentence(
        f"of the adversaries that do not clearly change the answers more than that, the furthest "
        f"attends "
        f"{said(best.jsd, 3)} away at a change of {said(best.tvd, 3)}: "
        f"{directed(between(best.jsd, found.furthest), *words)}"
    )
    if found.exact is not None:
        yield sentence(
            f"weights chosen for one text at a time, which no training produced and which move "
            f"an answer by one percentage point at most, reach {said(found.exact, 3)} "
            f"({basis(found.exact)})"
        )


def _panels(found: Found) -> Iterator[Panel]:
    distances = [("other seeds, median", found.seeds), ("other seeds, furthest", found.furthest)]
    distances += [(each.label, each.jsd) for each in found.adversaries]
    if found.exact is not None:
        distances.append(("one text at a time", found.exact))
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
        "An adversary is a model trained to attend elsewhere and to give the same answers. Its "
        "distance means little by itself, for two honest trainings that differ only in their "
        "random start (their seed) attend differently too. Which distance is larger?"
    ),
    limits=(
        "What these trainings did not find may still be there, so an adversary's distance is a "
        "lower bound. It may change answers as much as a seed does, which weights for one text "
        "may not: so it can be further away than those. Whether its attention is a wrong reason "
        "or another good one cannot be told where nobody marked the reasons. Trainings of one "
        "small model on one corpus were attacked. A small run trains fewer seeds and adversaries "
        "than the paper did."
    ),
    commands=(
        "heedful study wiegreffe2019 --corpora sst --preset small "
        "--probes score,seeds,frontier --seeds 3",
        "heedful study wiegreffe2019 --corpora sst --probes score,adversarial --seeds 5",
    ),
    tell=tell,
)
