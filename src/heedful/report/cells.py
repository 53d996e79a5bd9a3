"""Name the cells of a report: corpus × model × seed × probe, each name one setting."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd

from heedful.specs import ModelSpec, spec_from_plain
from heedful.store import Run, Store, canonical, run_key


def cell_of_probe(store: Store, probe: Run) -> dict[str, Any]:
    """The cell of a probe run that no study lists; what was not carried along stays unnamed."""
    base, corpus = probe.upstream.get("base", ""), probe.upstream.get("corpus", "")
    model = store.open(base) if base and store.has(base) else None
    corpus_facts = store.open(corpus).facts if corpus and store.has(corpus) else {}
    seeded = next((run for run in (model, probe) if run is not None and "seed" in run.facts), None)
    return {
        "corpus": str(corpus_facts.get("piece", corpus or "unknown corpus")),
        "model": model_name(model.facts.get("model") if model else None) or base or "unknown model",
        "seed": seeded.seed if seeded else 0,
        "probe": probe.fact("piece", str),
        "run": probe.key,
        "model_run": base,
        "corpus_run": corpus,
    }


def model_name(spec: Any) -> str:
    """`bilstm-additive` from the fields of a ModelSpec; empty if they are not there."""
    if not isinstance(spec, dict) or not {"encoder", "attention"} <= spec.keys():
        return ""
    known = {field.name for field in fields(ModelSpec)}
    try:
        return spec_from_plain(ModelSpec, {k: v for k, v in spec.items() if k in known}).name
    except ValueError:
        return ""


def label_cells(store: Store, cells: pd.DataFrame) -> pd.DataFrame:
    """Add `label`: the model's name, with a mark where one name covers several settings.

    Runs that differ in more than their seed (parameters, preparation, training) must not be
    averaged as if they were seeds.
    """
    settings = pd.Series([_setting(store, cell) for cell in cells.to_dict("records")])
    names = [cells["corpus"], cells["model"], cells["probe"]]
    several = settings.groupby(names).transform("nunique") > 1
    marks = (" [" + settings + "]").where(several, "")
    return cells.assign(label=cells["model"].astype(str) + marks, setting=settings)


def _setting(store: Store, cell: dict[Any, Any]) -> str:
    facts = store.open(str(cell["run"])).facts
    setting = {name: facts.get(name) for name in ("version", "params")}
    setting["corpus"] = str(cell["corpus_run"])
    key = str(cell["model_run"])
    if key and store.has(key):
        model = store.open(key).facts
        setting["model"] = {name: model[name] for name in sorted(model) if name != "seed"}
    return run_key("setting", {"of": canonical(setting)}).removeprefix("setting-")[:4]
