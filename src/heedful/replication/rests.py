"""What an audit or a study rests on before anything is measured: plain values, to be hashed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from heedful.auditing import AuditSpec, identity
from heedful.corpora import CORPORA, MissingData
from heedful.experiments import PROBES
from heedful.progress import Progress, silent
from heedful.report import CONFIDENCE
from heedful.runner import Cell, Grid, Reading, model_facts, model_key
from heedful.store import Run, Store, run_key
from heedful.subjects import Subject
from heedful.verdict import Settings

READABLE = ("weights", "tokenizer", "data", "dtype", "pieces", "operators", "version", "spec")
"""Of what names an audit, the parts a reader can compare; `key` is the hash of all of it."""


def audit_rests_on(subject: Subject, spec: AuditSpec, settings: Settings) -> dict[str, Any]:
    """Digests of weights and texts, the versions of pieces, thresholds and alpha."""
    named = identity(subject, spec)
    return {
        "model": subject.family,
        "source": subject.source,
        "texts": len(subject),
        **{name: named[name] for name in READABLE if name in named},
        "key": run_key("audit", named),
        "thresholds": settings.to_dict(),
    }


def study_rests_on(plan: Grid, store: Store, progress: Progress = silent) -> dict[str, Any]:
    """The corpora are prepared for it; a corpus whose data are not here is left out, and that
    is registered too."""
    cells = [_cell(plan, cell, store, progress) for cell in plan.cells]
    return {
        "study": plan.study.name,
        "version": plan.study.version,
        "precision": plan.precision,
        "split": Reading(0).split,
        "confidence": CONFIDENCE,
        "corpora": _corpora(plan, store, progress),
        "cells": cells,
    }


def _cell(plan: Grid, cell: Cell, store: Store, progress: Progress) -> dict[str, Any]:
    probes = {
        probe.name: {"version": PROBES[probe.name].version, "params": dict(probe.params)}
        for probe in cell.probes
    }
    found = {"corpus": cell.corpus.title, "model": cell.model.name, "seed": cell.seed}
    corpus = _prepared(plan, cell, store, progress)
    if isinstance(corpus, str):
        return {**found, "probes": probes, "left_out": "its data are not here"}
    facts = model_facts(corpus, cell.recipe)
    return {
        **found,
        "probes": probes,
        "pieces": facts["versions"],
        "train": asdict(cell.train),
        "key": model_key(corpus, cell.recipe),
    }


def _corpora(plan: Grid, store: Store, progress: Progress) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for cell in plan.cells:
        corpus = _prepared(plan, cell, store, progress)
        if not isinstance(corpus, str):
            found[cell.corpus.title] = {
                "key": corpus.key,
                "version": CORPORA[cell.corpus.name].version,
                "sources": dict(corpus.facts.get("sources", {})),
                "splits": _splits(corpus),
            }
    return found


def _splits(corpus: Run) -> dict[str, int]:
    """The number of examples of each."""
    splits = corpus.json("report")["splits"]
    return {name: int(about["examples"]) for name, about in splits.items()}


def _prepared(plan: Grid, cell: Cell, store: Store, progress: Progress) -> Run | str:
    """The corpus of a cell, or why it is not there."""
    try:
        return plan.corpus(cell, store, progress)
    except MissingData as missing:
        if not plan.lenient:
            raise
        return str(missing)


def already_there(rests_on: dict[str, Any], store: Store) -> list[str]:
    """Runs of it that are in the store: an audit, or the trained models of a study."""
    keys = [rests_on.get("key", ""), *(cell.get("key", "") for cell in rests_on.get("cells", ()))]
    return [key for key in dict.fromkeys(keys) if key and store.has(key)]
