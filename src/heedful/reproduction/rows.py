"""Compact rows: what probe runs of a study's own settings say, one line per number and seed.

A run belongs to a study where its corpus, model, training and probe are those of the study's
grid, in full or `--size small`; a model may have more layers than the study's (tutek2020, Table
6). Runs of anything else in the store are passed over, and so are kept rows of a study that has
changed since: its `version` went up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.corpora.defaults import default_spec
from heedful.reproduction.compact import read_compact
from heedful.reproduction.findings.needs import needed
from heedful.reproduction.trials import TRIALS
from heedful.runner.choice import SIZES, Choice
from heedful.specs import ModelSpec, ProbeSpec
from heedful.store import Run, Store, canonical
from heedful.studies import STUDIES
from heedful.studies.published import METRICS
from heedful.studies.study import Setting, Small, Study

KEYS = ["paper", "version", "corpus", "model", "size", "seed", "probe", "measure", "group"]
NUMBERS = ["n", "undefined", "mean", "sd", "low", "high"]
COLUMNS = [*KEYS, *NUMBERS, "run"]


@dataclass(frozen=True)
class Found:
    """A probe run in a study: under which name, and how large the study was."""

    paper: str
    version: int
    model: str
    size: str


def collect(store: Store) -> pd.DataFrame:
    """The compact rows of every probe run in a store that belongs to a study."""
    parts = [part for run in store.runs("probe") for part in _rows(store, run)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return _ordered(table.reindex(columns=COLUMNS))


def merged(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """What is measured again takes the place of what was there."""
    both = pd.concat([old, new], ignore_index=True)
    return _ordered(both.drop_duplicates(KEYS, keep="last"))


def read_rows(path: Path) -> pd.DataFrame:
    """Rows that were kept, of studies as they are now."""
    table = read_compact(path, COLUMNS, ("version", "seed", *NUMBERS), "compact rows")
    versions = {name: study.version for name, study in studies().items()}
    return table[table["version"] == table["paper"].map(versions)].reset_index(drop=True)


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values(KEYS, kind="stable", ignore_index=True)


def _rows(store: Store, run: Run) -> Iterator[pd.DataFrame]:
    keys = [run.upstream.get(name, "") for name in ("base", "corpus")]
    if not all(key and store.has(key) for key in keys) or not run.has("summary.parquet"):
        return
    model, corpus = (store.open(key).facts for key in keys)
    for found in _belongs(run.facts, model, corpus):
        yield _wanted(run).assign(
            paper=found.paper,
            version=found.version,
            corpus=corpus["piece"],
            model=found.model,
            size=found.size,
            seed=model["seed"],
            probe=run.facts["piece"],
            run=run.key,
        )


def _wanted(run: Run) -> pd.DataFrame:
    """What documents are made of: measures with published numbers, of all texts or a class, and
    what the findings look at."""
    table, probe = run.table("summary"), str(run.facts["piece"])
    measures = [measure for name, measure in METRICS.values() if name == probe]
    groups = (table["group"] == "all") | table["group"].str.startswith("class=")
    return pd.DataFrame(table[table["measure"].isin(measures) & groups | needed(probe, table)])


def _belongs(
    probe: Mapping[str, Any], model: Mapping[str, Any], corpus: Mapping[str, Any]
) -> Iterator[Found]:
    if "model" not in model or not _as_published(corpus):
        return
    spec, train = ModelSpec(**model["model"]), canonical(model["train"])
    for name, study in studies().items():
        for setting in study.settings:
            if corpus["piece"] in setting.corpora and _in(setting, spec):
                size = _size(setting, study.small.get(corpus["piece"]), train, probe)
                if size:
                    yield Found(name, study.version, _named(study, spec), size)


def studies() -> dict[str, Study]:
    """Those of the papers, and trials."""
    found: dict[str, Study] = {name: STUDIES[name].make() for name in STUDIES}
    return found | {name: trial.study for name, trial in TRIALS.items()}


def _as_published(corpus: Mapping[str, Any]) -> bool:
    """Prepared as the corpus's own defaults say, nothing left out."""
    return canonical(corpus["prepare"]) == canonical(default_spec(str(corpus["piece"])).prepare)


def _in(setting: Setting, spec: ModelSpec) -> bool:
    return replace(spec, layers=1) in setting.models


def _size(setting: Setting, small: Small | None, train: str, probe: Mapping[str, Any]) -> str:
    """full or small, as the model was trained and the probe called; empty where otherwise."""
    for size in SIZES:
        choice = Choice(size=size)
        trained = canonical(choice.training(setting.train, small)) == train
        if trained and _asked(choice.asked(setting.probes, small), probe):
            return size
    return ""


def _asked(probes: Sequence[ProbeSpec], probe: Mapping[str, Any]) -> bool:
    own = {each.name: each.params for each in probes}
    name = str(probe["piece"])
    return name in own and canonical(own[name]) == canonical(probe["params"])


def _named(study: Study, spec: ModelSpec) -> str:
    return study.names.get(spec.name, spec.name)
