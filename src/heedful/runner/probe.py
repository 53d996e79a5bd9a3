"""Run probes on a trained model into the store, or find them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from heedful.corpora.prepared import Prepared
from heedful.errors import unknown_name
from heedful.metrics.summary import summarise
from heedful.probes import PROBES
from heedful.probes.evidence import Evidence, Findings
from heedful.progress import Progress, silent
from heedful.runner.machine import Machine
from heedful.runner.train import load_model
from heedful.specs import ProbeSpec
from heedful.store import Run, Store, run_key

PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Reading:
    """How a trained model is read. In float64 results do not depend on the batch at all; in
    float32 a near-tie may fall either way."""

    seed: int
    split: str = "test"
    precision: str = "float32"


@dataclass(frozen=True)
class Skipped:
    """A probe that does not fit a model, and why."""

    probe: str
    reason: str


def probe_facts(model: Run, probe: ProbeSpec, reading: Reading) -> dict[str, Any]:
    return {
        "piece": probe.name,
        "version": PROBES[probe.name].version,
        "params": dict(probe.params),
        **asdict(reading),
        "upstream": {"base": model.key, "corpus": model.upstream["corpus"]},
    }


def probed(
    store: Store,
    model: Run,
    probes: Iterable[ProbeSpec],
    reading: Reading,
    machine: Machine,
    progress: Progress = silent,
) -> Iterator[tuple[ProbeSpec, Run | Skipped]]:
    """Each probe's run. The model is loaded once, and only if something is missing."""
    evidence: Evidence | None = None
    for probe in probes:
        facts = probe_facts(model, probe, reading)
        key = run_key("probe", facts)
        if not store.has(key):
            evidence = evidence or _evidence(store, model, reading, machine, progress)
            reason = unfit(probe.name, evidence)
            if reason:
                yield probe, Skipped(probe.name, reason)
                continue
            findings = PROBES[probe.name].make(evidence, **probe.params)
            _write(store, facts, findings, machine)
        yield probe, store.open(key)


def unfit(name: str, evidence: Evidence) -> str | None:
    """Why a probe does not apply to this model, or None."""
    if "linear" in PROBES[name].needs and not all(site.linear for site in evidence.sites):
        return "it needs a decoder that is linear in the attention weights"
    return None


def _evidence(
    store: Store, model: Run, reading: Reading, machine: Machine, progress: Progress
) -> Evidence:
    if reading.precision not in PRECISIONS:
        raise unknown_name("precision", reading.precision, list(PRECISIONS))
    corpus = store.open(model.upstream["corpus"])
    base = load_model(model, corpus, machine.device).to(PRECISIONS[reading.precision])
    return Evidence(
        models={"base": base},
        data=Prepared(corpus).split(reading.split),
        seed=reading.seed,
        device=machine.device,
        batch_size=machine.batch_size,
        progress=progress,
    )


def _write(store: Store, facts: dict[str, Any], findings: Findings, machine: Machine) -> None:
    summary = findings.summary
    with store.writing("probe", facts) as run:
        run.table("rows", findings.rows)
        run.table(
            "summary", summarise(findings.rows, facts["seed"]) if summary is None else summary
        )
        if findings.maps is not None:
            run.table("maps", findings.maps)
        run.made_with.update(machine.describe())
