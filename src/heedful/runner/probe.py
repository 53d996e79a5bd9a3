"""Run probes on a trained model into the store, or find them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from heedful.data import has_forbidden
from heedful.entries import Experiment, Role
from heedful.errors import unknown_name
from heedful.experiments import PROBES, Evidence, Findings, Parts
from heedful.interventions import restored
from heedful.metrics import summarise
from heedful.models import Family
from heedful.progress import Progress, silent
from heedful.runner.machine import Machine
from heedful.runner.masking import seen_by
from heedful.runner.train import Recipe, evidence_of
from heedful.specs import ProbeSpec, TermSpec
from heedful.store import Frames, PartGone, Run, Store, run_key
from heedful.training import TERMS

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
    """What names the run of a probe on a model, beside the `others` it is compared with."""
    piece = PROBES[probe.name]
    depends = piece.depends(**probe.params)
    return {
        "piece": probe.name,
        "version": piece.version,
        **piece.plugin_facts,
        "params": dict(probe.params),
        **({"depends": dict(depends)} if depends else {}),
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
            evidence = evidence or _evidence(model, reading, machine, progress)
            reason = unfit(probe.name, evidence)
            if reason:
                yield probe, Skipped(probe.name, reason)
                continue
            wanted = compared(base, probe, evidence)
        others = {role: run_of(recipe) for role, recipe in wanted.items()}
        facts = probe_facts(model, probe, reading, others)
        key = run_key("probe", facts)
        if evidence is not None and not store.has(key):
            models = {role: _load(run, reading, machine.device) for role, run in others.items()}
            seen = replace(evidence, models={**evidence.models, **models})
            try:
                _run(store, facts, probe, seen, machine)
            except PartGone:  # whoever finished the same probe first has cleaned up
                if not store.has(key):
                    raise
        yield probe, store.open(key)


def compared(base: Recipe, probe: ProbeSpec, evidence: Evidence) -> dict[str, Recipe]:
    """The recipes of the other models that a probe can have on these data: what a role lacks is
    no reason to skip it all."""
    roles = PROBES[probe.name].roles(**probe.params)
    found = recipes(base, probe)
    return {name: found[name] for name, role in roles.items() if not _lacking(role.needs, evidence)}


def _load(run: Run, reading: Reading, device: str) -> Family:
    return restored(run, device).to(PRECISIONS[reading.precision])


def _evidence(model: Run, reading: Reading, machine: Machine, progress: Progress) -> Evidence:
    if reading.precision not in PRECISIONS:
        raise unknown_name("precision", reading.precision, list(PRECISIONS))
    base = _load(model, reading, machine.device)
    found = evidence_of(base, seen_by(model), machine, reading.split)
    return replace(found, seed=reading.seed, progress=progress)


def _run(
    store: Store, facts: dict[str, Any], probe: ProbeSpec, evidence: Evidence, machine: Machine
) -> None:
    piece, summary = PROBES[probe.name], None
    if piece.by_text and len(evidence.data) > AT_ONCE and evidence.task == "classification":
        scratch = store.scratch(run_key("probe", facts))
        tables, notes = _in_parts(piece, evidence, scratch, probe.params)
    else:
        findings: Findings = piece.make(evidence, **probe.params)
        tables = {name: Frames.of(table) for name, table in _tables(findings).items()}
        summary, notes = findings.summary, findings.notes
    if summary is None:
        summary = summarise(tables["rows"].whole, facts["seed"])
    with store.writing("probe", facts) as run:
        for name, table in tables.items():
            run.frames(name, table)
        run.table("summary", summary)
        run.json("words", piece.words)
        if notes:
            run.json("notes", dict(notes))
        run.made_with.update(machine.describe())


def _tables(findings: Findings) -> dict[str, pd.DataFrame]:
    tables = {"rows": findings.rows, "maps": findings.maps}
    return {name: table for name, table in tables.items() if table is not None}


# Whether a probe fits a model and its data; one that does not is skipped with the reason.


def unfit(name: str, evidence: Evidence) -> str | None:
    """Why a probe does not apply, or None."""
    return _lacking(PROBES[name].needs, evidence)


def _lacking(needs: tuple[str, ...], evidence: Evidence) -> str | None:
    for need in needs:
        if need not in NEEDS:
            raise unknown_name("need of a probe", need, list(NEEDS))
        fulfilled, reason = NEEDS[need]
        if not fulfilled(evidence):
            return reason
    return None


def _forbids(evidence: Evidence) -> bool:
    split = evidence.whole if evidence.task == "generation" else evidence.data
    return split is not None and has_forbidden(split)


NEEDS: dict[str, tuple[Callable[[Evidence], bool], str]] = {
    "linear": (
        lambda evidence: all(site.linear for site in evidence.sites),
        "it needs a decoder that is linear in the attention weights",
    ),
    "tokens": (
        lambda evidence: all(site.level == "tokens" for site in evidence.sites),
        "it needs attention over tokens, and this model's last attention is over sentences",
    ),
    "normalised": (
        lambda evidence: all(site.normalised for site in evidence.sites),
        "it needs weights that sum to 1, and this model has a gate",
    ),
    "classes": (
        lambda evidence: evidence.task == "classification",
        "it needs a corpus with classes, and this one is for generation",
    ),
    "generation": (
        lambda evidence: evidence.task == "generation",
        "it needs a corpus for generation",
    ),
    "several sites": (
        lambda evidence: len(evidence.models["base"].sites) > 1,
        "it needs a model with several attention sites",
    ),
    "alignment": (
        lambda evidence: evidence.whole is not None and evidence.whole.alignments is not None,
        "it needs a corpus with gold alignments",
    ),
    "rationales": (
        lambda evidence: any(marks is not None for marks in evidence.data.sides["a"].rationales),
        "it needs a corpus with rationales",
    ),
    "revisions": (
        lambda evidence: not {*(evidence.data.revises or ())}.isdisjoint(evidence.data.ids),
        "it needs a corpus with revised texts, such as snli_cad",
    ),
    "impermissible": (
        _forbids,
        "it needs a corpus with impermissible tokens: name them (--param impermissible=…)",
    ),
    "marked words": (
        lambda evidence: evidence.data.sides["a"].impermissible is not None,
        "it needs a corpus with impermissible words: name them (--param impermissible=…)",
    ),
    "training": (
        lambda evidence: evidence.training is not None,
        "it needs the training split, to learn from",
    ),
}


# The models that a probe compares.


def recipes(base: Recipe, probe: ProbeSpec) -> dict[str, Recipe]:
    """Those of a probe's other roles, teachers before their pupils."""
    found = {"base": base}
    for name, role in PROBES[probe.name].roles(**probe.params).items():
        model = replace(base.model, **role.model)
        kept = (term for term in model.terms if not _left_out(term, role))
        found[name] = Recipe(
            replace(model, terms=(*kept, *role.terms)),
            replace(base.train, **role.train),
            base.seed + role.seed,
            found[role.teacher] if role.teacher else None,
            base.masking,
        )
    del found["base"]
    return found


def _left_out(term: TermSpec, role: Role) -> bool:
    """A role whose attention is replaced has no attention of its own to teach."""
    replaced = bool(role.model.get("train_edit"))
    return term.name in role.without or (replaced and "attention" in TERMS[term.name].needs)


# Probes over very many texts: some at a time, each part kept on disk as soon as it is there. So
# memory is that of one part, and a probe that was killed resumes after the last of them.

AT_ONCE = 1 << 14


def _in_parts(
    experiment: Experiment, evidence: Evidence, folder: Path, params: Mapping[str, Any]
) -> tuple[dict[str, Frames], Mapping[str, str]]:
    """The probe on every part of the data, in the data's order: tables that are read from disk,
    and notes."""
    parts, notes = Parts(folder, last="rows"), dict[str, str]()
    starts = range(0, len(evidence.data), AT_ONCE)
    names = [f"texts-{number:06d}" for number in range(len(starts))]
    for name, start in zip(names, starts, strict=True):
        if start and _is_whole(parts, name):  # the first says again what to note
            continue
        some = range(start, min(start + AT_ONCE, len(evidence.data)))
        part = replace(evidence, data=evidence.data.subset(some), _passes=[])
        findings: Findings = experiment.make(part, **params)
        notes |= findings.notes
        parts.write(name, _tables(findings))
    kinds = ("rows", "maps") if parts.file(names[0], "maps").is_file() else ("rows",)

    def blocks(kind: str) -> Iterator[pd.DataFrame]:
        return (parts.read(name, kind) for name in names)

    return {kind: Frames(partial(blocks, kind)) for kind in kinds}, notes


def _is_whole(parts: Parts, name: str) -> bool:
    """What a full disk or a dying machine left is made again."""
    if not parts.has(name):
        return False
    try:
        for kind in ("rows", "maps"):
            if parts.file(name, kind).is_file():
                parts.read(name, kind)
    except PartGone:
        return False
    return True
