"""Runs as the runner leaves them, as far as compact rows look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import pandas as pd

from heedful.data import CORPORA, corpus_facts, corpus_params, default_spec
from heedful.experiments import PROBES
from heedful.metrics import COLUMNS
from heedful.runner import model_versions
from heedful.specs import ModelSpec, ProbeSpec, TrainSpec
from heedful.store import Store, run_key

Facts = Mapping[str, Any]
NONE: Facts = MappingProxyType({})


def put(
    store: Store,
    kind: str,
    facts: Facts,
    measures: Sequence[tuple[str, str]] = (),
    mean: float = 0,
    rows: pd.DataFrame | None = None,
) -> str:
    one = {"site": "", "n": 9, "undefined": 0, "mean": mean}
    made = [{**one, "measure": measure, "group": group} for measure, group in measures]
    with store.writing(kind, facts) as written:
        if measures:
            written.table("summary", pd.DataFrame(made).reindex(columns=COLUMNS))
        if rows is not None:
            written.table("rows", rows)
    return run_key(kind, facts)


def put_model(
    store: Store,
    seed: int,
    model: ModelSpec,
    train: TrainSpec,
    limit: int | None = None,
    corpus: Facts = NONE,
    trained: Facts = NONE,
) -> tuple[str, str]:
    """On SST; `corpus` and `trained` are facts in the place of the usual ones. Both keys."""
    piece, spec = CORPORA["sst"], default_spec("sst", limit=limit)
    usual = corpus_facts(piece, corpus_params(piece, spec.params), spec.prepare)
    data = put(store, "corpus", {**usual, "sources": {}, **corpus})
    facts = {"model": asdict(model), "train": asdict(train), "seed": seed}
    versions = {"versions": model_versions(model), "upstream": {"corpus": data}}
    return put(store, "model", {**facts, **versions, **trained}), data


def put_probe(
    store: Store,
    keys: tuple[str, str],
    probe: ProbeSpec,
    measures: Sequence[tuple[str, str]] = (("f1", "all"),),
    other: Facts = NONE,
    rows: pd.DataFrame | None = None,
) -> str:
    """Of a model and its corpus."""
    facts = {"piece": probe.name, "params": dict(probe.params), "seed": 0, "split": "test"}
    facts |= {"version": PROBES[probe.name].version, "precision": "float32"}
    facts |= {"upstream": dict(zip(("base", "corpus"), keys, strict=True))}
    return put(store, "probe", {**facts, **other}, measures, 0.8, rows)
