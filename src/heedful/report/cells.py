"""Name the cells of a report: corpus × model × seed × probe, each name one setting."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pandas as pd

from heedful.specs import ModelSpec
from heedful.store import Run, Store, canonical, run_key


def cell_of_probe(store: Store, probe: Run) -> dict[str, Any]:
    """The cell of a probe run that no study lists; what was not carried along stays unnamed."""
    base, corpus = probe.upstream.get("base", ""), probe.upstream.get("corpus", "")
    model_facts = store.open(base).facts if base and store.has(base) else {}
    corpus_facts = store.open(corpus).facts if corpus and store.has(corpus) else {}
    return {
        "corpus": str(corpus_facts.get("piece", corpus or "unknown corpus")),
        "model": model_name(model_facts.get("model")) or base or "unknown model",
        "seed": int(model_facts.get("seed", probe.facts.get("seed", 0))),
        "probe": str(probe.facts["piece"]),
        "run": probe.key,
        "model_run": base,
        "corpus_run": corpus,
    }


def model_name(spec: Any) -> str:
    """`bilstm-additive` from the fields of a ModelSpec; empty if they are not there."""
    if not isinstance(spec, dict) or not {"encoder", "attention"} <= spec.keys():
        return ""
    known = {field.name for field in fields(ModelSpec)}
    return ModelSpec(**{name: value for name, value in spec.items() if name in known}).name


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
