"""The papers' procedures, restated, beside Heedful's: every part of jain2019, and the battery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from bench.data import FULL, QUICK, Data, Plan, Size, generate, trained
from bench.jain2019_reference import (
    BATCH,
    Kept,
    adversary,
    by_example,
    each_left_out,
    forward,
    gradient,
    kendall,
    packed,
    permuted,
    spread,
)
from bench.measure import Cost, Measured, Row, Setting, joined, measure, say
from heedful.attributions import gradient_input, leave_one_out
from heedful.data import Split
from heedful.experiments import (
    Evidence,
    Findings,
    ForwardBatch,
    adversarial,
    correlation,
    permutation,
)
from heedful.models import OneSequence

PARTS = (
    "passes",
    "gradient",
    "leave_one_out",
    "permutation",
    "correlation",
    "adversarial (exact)",
    "adversarial (exact + entropy-matched)",
    "battery without the adversary",
    "battery (exact)",
    "battery (exact + entropy-matched)",
)


def work(name: str, model: OneSequence, data: Split, steps: int) -> Callable[[], object]:
    """What is to be timed. A part is given the passes, which all probes share; a battery makes
    its own."""

    def matched(evidence: Evidence) -> Findings:
        return adversarial(evidence, search_steps=steps)

    def exact(evidence: Evidence) -> Findings:
        return adversarial(evidence, entropy_candidates=0)

    probes: dict[str, tuple[Callable[[Evidence], Findings], ...]] = {
        "permutation": (permutation,),
        "correlation": (correlation,),
        "adversarial (exact)": (exact,),
        "adversarial (exact + entropy-matched)": (matched,),
        "battery without the adversary": (correlation, permutation),
        "battery (exact)": (correlation, permutation, exact),
        "battery (exact + entropy-matched)": (correlation, permutation, matched),
    }
    if name == "passes":
        return lambda: list(evidence_of(model, data).passes(name))
    if name.startswith("battery"):
        return lambda: _probe(evidence_of(model, data), probes[name])
    evidence = evidence_of(model, data)
    passes = list(evidence.passes(name))
    if name in probes:
        return lambda: _probe(evidence, probes[name])
    saliency = {"gradient": _gradient, "leave_one_out": _leave_one_out}[name]
    return lambda: by_example([each.batch for each in passes], [saliency(each) for each in passes])


def evidence_of(model: OneSequence, data: Split) -> Evidence:
    device = str(next(model.parameters()).device)
    return Evidence({"base": model}, data, seed=0, device=device)


def measured(findings: Findings, measure: str) -> dict[str, float]:
    """One measure of a probe, by example."""
    rows: pd.DataFrame = findings.rows
    rows = rows[rows["measure"] == measure]
    return dict(zip(rows["example"], rows["value"].astype(float), strict=True))


def _probe(
    evidence: Evidence, probes: tuple[Callable[[Evidence], Findings], ...]
) -> list[Findings]:
    return [probe(evidence) for probe in probes]


def _gradient(forward: ForwardBatch) -> Tensor:
    return gradient_input(
        forward.model, forward.batch, forward.predicted, through_attention=False, magnitude=True
    )


def _leave_one_out(forward: ForwardBatch) -> Tensor:
    return leave_one_out(forward.model, forward.batch)


# Do reference and Heedful find the same? A few words for the note of a row.


def agreement(trial: Trial, part: str) -> str:
    """How far apart the results of a part that has been measured are; empty where both are
    added up from parts that are compared on their own."""
    checks = {
        "gradient": _scores,
        "leave_one_out": _scores,
        "permutation": _medians,
        "correlation": _tau,
        "adversarial (exact)": _adversary,
    }
    return checks[part](trial, part) if part in checks else ""


def _scores(trial: Trial, part: str) -> str:
    ours, reference = trial.ours(part).value, trial.reference(part).value
    gaps = [float((ours[name] - reference[name]).abs().max()) for name in reference]
    return f"scores within {max(gaps):.1g}"


def _medians(trial: Trial, part: str) -> str:
    """Both sample, so single medians differ; their mean must not, beyond its error."""
    (findings,) = trial.ours(part).value
    ours, reference = measured(findings, "tvd_median"), trial.reference(part).value
    gaps = np.array([ours[name] - reference[name] for name in reference])
    error = gaps.std(ddof=1) / len(gaps) ** 0.5
    return f"mean median TVD apart by {gaps.mean():.1g} (standard error {error:.1g})"


def _tau(trial: Trial, part: str) -> str:
    (findings,) = trial.ours(part).value
    reference = trial.reference("kendall").value
    largest = 0.0
    for column, name in enumerate(("tau_gradient", "tau_loo")):
        ours = measured(findings, name)
        gaps = np.array([ours[key] - reference[key][column] for key in reference])
        largest = max(largest, float(np.nanmax(np.abs(gaps))))
    return f"every τ within {largest:.1g}"


def _adversary(trial: Trial, part: str) -> str:
    (findings,) = trial.ours(part).value
    ours, reference = measured(findings, "jsd_exact"), trial.reference("adversary").value
    found, searched = (float(np.mean([each[n] for n in reference])) for each in (ours, reference))
    least = min(ours[name] - reference[name] for name in reference)
    return (
        f"mean ε-max JSD {found:.3f}, searched {searched:.3f}; exact less searched at least "
        f"{least:.2g} in any text"
    )


# One model on texts of one length: every piece is measured when asked for, and only once.


WARM = 8  # texts of the untimed run before each measurement
ENOUGH = 15.0  # seconds, after which two runs must do
Work = Callable[[], Any]

BATTERY = ("forward", "gradient", "leave_one_out", "permutation", "kendall", "adversary")
REFERENCES = {
    "passes": ("forward",),
    "gradient": ("gradient",),
    "leave_one_out": ("leave_one_out",),
    "permutation": ("permutation",),
    "correlation": ("gradient", "leave_one_out", "kendall"),
    "adversarial (exact)": ("adversary",),
    "adversarial (exact + entropy-matched)": ("adversary",),
    "battery without the adversary": (
        *("forward", "gradient", "leave_one_out", "permutation", "kendall"),
    ),
    "battery (exact)": BATTERY,
    "battery (exact + entropy-matched)": BATTERY,
}
"""What the reference has to do for each part; all parts start from the passes, a battery makes
them."""


class Trial:
    def __init__(self, model: OneSequence, data: Split, plan: Plan, size: Size) -> None:
        self.model, self.data, self.plan, self.size = model, data, plan, size
        self.papers = packed(model)
        self._done: dict[tuple[str, str], Measured] = {}

    def row(self, part: str, size: str) -> Row:
        """Reference beside ours."""
        pieces = {name: self.reference(name) for name in REFERENCES[part]}
        scale = max(piece.scale for piece in pieces.values())
        return Row(
            "papers",
            part,
            size,
            f"papers, batches of {BATCH}",
            Cost(sum(piece.seconds for piece in pieces.values()), _together(pieces)),
            Cost.of(self.ours(part)),
            f"adversary timed on 1/{scale:.3g} of the batches" if scale > 1 else "",
        )

    def ours(self, part: str) -> Measured:
        steps = self.plan.adversary_steps
        return self._measured(("ours", part), lambda data: work(part, self.model, data, steps))

    def reference(self, name: str) -> Measured:
        """A piece by itself: what it starts from is at hand."""
        make: dict[str, Callable[[Split], Work]] = {
            "forward": lambda data: partial(forward, self.papers, data),
            "gradient": lambda data: partial(gradient, self.papers, data),
            "leave_one_out": lambda data: partial(each_left_out, self.papers, self._kept(data)),
            "permutation": lambda data: partial(permuted, self.papers, self._kept(data)),
            "kendall": self._kendall,
            "adversary": self._adversary,
        }
        scale = self._adversary_scale() if name == "adversary" else 1.0
        return self._measured(("reference", name), make[name], scale)

    def _measured(
        self, key: tuple[str, str], make: Callable[[Split], Work], scale: float = 1.0
    ) -> Measured:
        if key not in self._done:
            make(self.data.subset(range(min(WARM, len(self.data)))))()
            self._done[key] = measure(make(self.data), self.plan.repeats, scale, ENOUGH)
        return self._done[key]

    def _kept(self, data: Split) -> list[Kept]:
        if data is self.data:
            kept: list[Kept] = self.reference("forward").value
            return kept
        return forward(self.papers, data)

    def _kendall(self, data: Split) -> Work:
        kept = self._kept(data)
        attention = by_example([k.batch for k in kept], [k.attention for k in kept])
        scores = (self.reference(name).value for name in ("gradient", "leave_one_out"))
        return partial(kendall, attention, *scores)

    def _adversary(self, data: Split) -> Work:
        some = spread(self._kept(data), self.size.adversary_batches)
        return partial(adversary, self.papers, some, self.plan.adversary_steps)

    def _adversary_scale(self) -> float:
        kept = self._kept(self.data)
        return len(kept) / len(spread(kept, self.size.adversary_batches))


def _together(pieces: dict[str, Measured]) -> float | None:
    """The peak of pieces one after the other, with what the passes kept held all along."""
    passes = pieces.get("forward")
    held = (passes.held_mb or 0.0) if passes else 0.0
    if list(pieces.values()) == [passes]:
        return passes.peak_mb if passes else None
    peaks = [p.peak_mb for p in pieces.values() if p.peak_mb is not None and p is not passes]
    if not peaks:
        return None
    return max(held + max(peaks), passes.peak_mb or 0.0 if passes else 0.0)


def rows(name: str, setting: Setting) -> Iterator[Row]:
    """All parts on texts of one length."""
    plan = QUICK if setting.quick else FULL
    data = generate(plan)
    model, score = trained(data, "bilstm", plan.epochs, setting.device)
    (size,) = (each for each in plan.sizes if each.name == name)
    trial = Trial(model, data.split(name), plan, size)
    say(f"  a BiLSTM with a dev ROC-AUC of {score:.3f}")
    for part in PARTS:
        row = trial.row(part, describe(data, name))
        yield replace(row, note=joined(row.note, agreement(trial, part)))


def describe(data: Data, name: str) -> str:
    lengths = data.split(name).lengths
    return f"{len(lengths):,} texts of {lengths.mean():.0f} tokens"
