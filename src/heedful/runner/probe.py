"""Run probes on a trained model into the store, or find them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from heedful.data import Prepared, at_a_quarter, shown_to
from heedful.errors import unknown_name
from heedful.experiments import PROBES, Evidence, Findings
from heedful.interventions import restored
from heedful.metrics import summarise
from heedful.models import Family
from heedful.progress import Progress, silent
from heedful.runner.fit import fitting_roles, unfit
from heedful.runner.machine import Machine
from heedful.runner.recipe import Recipe, recipes
from heedful.runner.streamed import in_parts, streamed
from heedful.specs import ProbeSpec
from heedful.store import Frames, PartGone, Run, Store, run_key

PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Reading:
    """How a trained model is read. In float64 results do not depend on the batch, to 1e-9; in
    float32 they agree to about 1e-4."""

    seed: int
    split: str = "test"
    precision: str = "float32"


@dataclass(frozen=True)
class Skipped:
    """A probe that does not fit a model, and why."""

    probe: str
    reason: str


RunOf = Callable[[Recipe], Run]
"""The run of a recipe, trained where it is not."""


def probe_facts(
    model: Run, probe: ProbeSpec, reading: Reading, others: Mapping[str, Run]
) -> dict[str, Any]:
    piece = PROBES[probe.name]
    return {
        "piece": probe.name,
        "version": piece.version,
        **piece.plugin_facts,
        "params": dict(probe.params),
        **_depends(probe),
        **asdict(reading),
        "upstream": {
            "base": model.key,
            "corpus": model.source("corpus"),
            **{role: run.key for role, run in others.items()},
        },
    }


def has_probe(store: Store, runs: Mapping[str, Run], probe: ProbeSpec, reading: Reading) -> bool:
    """Whether the probe of these models, the one on trial as `base`, is in the store."""
    others = dict(runs)
    facts = probe_facts(others.pop("base"), probe, reading, others)
    return store.has(run_key("probe", facts))


def _depends(probe: ProbeSpec) -> dict[str, Any]:
    """Nothing is said where there is nothing: such results keep their names."""
    found = PROBES[probe.name].depends(**probe.params)
    return {"depends": dict(found)} if found else {}


def probed(
    store: Store,
    base: Recipe,
    probes: Iterable[ProbeSpec],
    reading: Reading,
    machine: Machine,
    run_of: RunOf,
    progress: Progress = silent,
) -> Iterator[tuple[ProbeSpec, Run | Skipped]]:
    """Each probe's run. The model is loaded once, and only if something is missing or compares
    it with others."""
    evidence: Evidence | None = None
    model = run_of(base)
    for probe in probes:
        wanted = recipes(base, probe)
        alone = run_key("probe", probe_facts(model, probe, reading, {}))
        if wanted or not store.has(alone):  # before others are trained for it in vain
            evidence = evidence or _evidence(store, model, reading, machine, progress)
            reason = unfit(probe.name, evidence)
            if reason:
                yield probe, Skipped(probe.name, reason)
                continue
            wanted = compared(base, probe, evidence)
        others = {role: run_of(recipe) for role, recipe in wanted.items()}
        facts = probe_facts(model, probe, reading, others)
        key = run_key("probe", facts)
        if evidence is not None and not store.has(key):
            seen = _with_roles(evidence, others, reading)
            try:
                _run(store, facts, probe, seen, machine)
            except PartGone:  # whoever finished the same probe first has cleaned up
                if not store.has(key):
                    raise
        yield probe, store.open(key)


def compared(base: Recipe, probe: ProbeSpec, evidence: Evidence) -> dict[str, Recipe]:
    """The recipes of the other models that a probe can have on these data."""
    found = recipes(base, probe)
    return {role: found[role] for role in fitting_roles(probe, evidence)}


def _with_roles(evidence: Evidence, others: Mapping[str, Run], reading: Reading) -> Evidence:
    """The same evidence, its passes shared, with the models of other roles beside the base."""
    models = {role: _load(run, reading, evidence.device) for role, run in others.items()}
    return replace(evidence, models={**evidence.models, **models})


def _load(run: Run, reading: Reading, device: str) -> Family:
    return restored(run, device).to(PRECISIONS[reading.precision])


def _evidence(
    store: Store, model: Run, reading: Reading, machine: Machine, progress: Progress
) -> Evidence:
    if reading.precision not in PRECISIONS:
        raise unknown_name("precision", reading.precision, list(PRECISIONS))
    spec = model.spec
    corpus = shown_to(spec, Prepared(store.open(model.source("corpus"))))
    split, writes = corpus.split(reading.split), corpus.task == "generation"
    return Evidence(
        models={"base": _load(model, reading, machine.device)},
        data=at_a_quarter(split) if writes else split,
        seed=reading.seed,
        device=machine.device,
        batch_size=machine.batch_size,
        progress=progress,
        task=corpus.task,
        whole=split,
        words=corpus.words,
        training=corpus.split("train"),
    )


def _run(
    store: Store, facts: dict[str, Any], probe: ProbeSpec, evidence: Evidence, machine: Machine
) -> None:
    piece = PROBES[probe.name]
    summary = None
    if in_parts(piece, evidence):
        found = streamed(piece, evidence, store.scratch(run_key("probe", facts)), probe.params)
        tables, notes = dict(found.tables), found.notes
    else:
        findings: Findings = piece.make(evidence, **probe.params)
        given = {"rows": findings.rows, "maps": findings.maps}
        tables = {name: Frames.of(each) for name, each in given.items() if each is not None}
        summary, notes = findings.summary, findings.notes
    if summary is None:
        summary = summarise(tables["rows"].whole, facts["seed"])
    with store.writing("probe", facts) as run:
        for name, table in tables.items():
            run.frames(name, table)
        run.table("summary", summary)
        if notes:
            run.json("notes", dict(notes))
        run.made_with.update(machine.describe())
