"""What Heedful does for the same results: the probes and saliencies themselves."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from torch import Tensor

from bench.reference_forward import by_example
from heedful.corpora import Split
from heedful.experiments import Evidence, Findings, Pass, adversarial, correlation, permutation
from heedful.models import OneSequence
from heedful.saliency import gradient_input, leave_one_out

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


def _gradient(each: Pass) -> Tensor:
    return gradient_input(
        each.model, each.batch, each.predicted, through_attention=False, magnitude=True
    )


def _leave_one_out(each: Pass) -> Tensor:
    return leave_one_out(each.model, each.batch)
