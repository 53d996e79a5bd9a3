"""Compact audits: one line per audited model, explanation and measure, out of a store or a file.

`verdict` lines have a statement's number, its one-sided bounds, its decision, and why there is
none (`why`, empty in audits that were kept before it was asked for); `measure` lines a mean over
texts; `minus_attention` lines the difference to attention, text by text; `score` lines the scores
of a trained model on all texts of its corpus, a line for each training; `fact` lines the accuracy
on the audited texts, and the share of the commonest class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heedful.auditing import (
    ATTENTION,
    VERSION,
    Audit,
    not_by_own,
    over_seeds,
    stored_tables,
)
from heedful.errors import HeedfulError
from heedful.metrics import bootstrap_means
from heedful.store import Run, Store, canonical
from heedful.studies import DATASETS
from heedful.verdict import Decision, Settings, Verdict, stored_verdict
from paper_tables.compact import Form, read_compact
from paper_tables.findings.evidence import OURS, PART

KEYS = ["model", "weights", "data", "texts", "seeds", "kind", "explanation", "operator", "measure"]
COLUMNS = [*KEYS, "n", "mean", "low", "high", "decision", "why", "run"]
FORM = Form(
    "compact audits", COLUMNS, ("texts", "seeds", "n"), ("mean", "low", "high"), [*KEYS, "run"]
)
KINDS = ("verdict", "measure", "minus_attention", "score", "fact")


def no_audits() -> pd.DataFrame:
    """Where none were kept yet."""
    return pd.DataFrame(columns=COLUMNS)


def merged_audits(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """What is measured again takes the place of what was there, even if the model is called
    otherwise today: its weights tell it apart."""
    parts = [part for part in (old, new) if len(part)] or [old]
    both = pd.concat(parts, ignore_index=True)
    own = [name for name in KEYS if name != "model"]
    return ordered(both.drop_duplicates([*own, "run"], keep="last"))


def read_audits(path: Path) -> pd.DataFrame:
    """Lines that were kept."""
    table = read_compact(path, FORM)
    known = {"kind": KINDS, "decision": ("", *map(str, Decision))}
    for name, values in known.items():
        strange = table.index[~table[name].isin(values)]
        if len(strange):
            told = f"{name} in line {int(strange[0]) + 2} of {path} is {table[name][strange[0]]!r}"
            raise HeedfulError(f"{told}: give one of {', '.join(filter(None, values))}.")
    return table


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values([*KEYS, "run"], kind="stable", ignore_index=True)


# Compact audits out of a store.
#
# Audits of models that differ in nothing but their seed are judged together. Only audits of this
# version's measurements are taken, and only on corpora that people use: what was tried on a file
# of one's own, or on a corpus that was made up, is nobody's finding.


MEASURES = ("auprc", "token_f1", "comprehensiveness", "sufficiency")
SCORES = ("accuracy", "f1")
Line = dict[str, Any]


def collect_audits(store: Store) -> pd.DataFrame:
    """The lines of every audit in a store, seeds together."""
    groups: dict[str, list[Run]] = {}
    for run in store.runs("audit"):
        if run.facts.get("version") == VERSION and _corpus(run) in (*DATASETS, *OURS):
            groups.setdefault(_same(store, run), []).append(run)
    lines = [line for runs in groups.values() for line in _lines(store, runs)]
    return ordered(pd.DataFrame(lines, columns=COLUMNS))


def _corpus(run: Run) -> str:
    return str(run.json("facts").get("data", "")).partition(",")[0]


def _same(store: Store, run: Run) -> str:
    """Equal for audits that differ in nothing but the seed of their model."""
    facts = {name: value for name, value in run.facts.items() if name not in ("run", "weights")}
    trained = store.open(run.fact("run", str)).facts if _known(store, run) else {}
    own = {name: value for name, value in trained.items() if name != "seed"}
    weights = "" if own else run.fact("weights", str)
    return canonical({**facts, "trained": own or weights})


def _known(store: Store, run: Run) -> bool:
    """Whether a model of Heedful's own was audited, and is here."""
    return "run" in run.facts and store.has(run.fact("run", str))


def _lines(store: Store, runs: Sequence[Run]) -> Iterator[Line]:
    runs = sorted(runs, key=lambda run: (_seed(store, run), run.key))
    audits = [_audit(run) for run in runs]
    together = audits[0] if len(audits) == 1 else over_seeds(audits, _settings(audits[0]))
    place = {
        "model": str(together.facts["model"]),
        "weights": runs[0].fact("weights", str),
        "data": f"{together.facts['data']}{_limited(store, runs[0])}",
        "texts": int(together.facts["texts"]),
        "seeds": len(runs),
        "run": runs[0].key,
        **dict.fromkeys(("explanation", "operator", "decision", "why"), ""),
        "n": int(together.facts["texts"]),
    }
    found = [*_stated(together.verdict), *_measured(together), *_scores(store, runs)]
    return iter([{**place, **line} for line in found])


def _limited(store: Store, run: Run) -> str:
    """Whether the model saw a part of its corpus only."""
    if not _known(store, run):
        return ""
    corpus = store.open(run.fact("run", str)).source("corpus")
    limit = store.open(corpus).fact("prepare", dict).get("limit") if store.has(corpus) else None
    return f", {PART} {limit} texts" if limit is not None else ""


def _seed(store: Store, run: Run) -> int:
    return store.open(run.fact("run", str)).seed if _known(store, run) else 0


def _audit(run: Run) -> Audit:
    return Audit(stored_verdict(run), stored_tables(run), run.json("facts"))


def _settings(audit: Audit) -> Settings:
    """Those that the audit was judged by, as far as they are not the usual ones."""
    given = audit.verdict.settings
    return Settings(operators=tuple(given["operators"]), importance=tuple(given["importance"]))


def _stated(verdict: Verdict) -> Iterator[Line]:
    yield {"kind": "verdict", "measure": "overall", "decision": str(verdict.decision)}
    for name in ("accuracy", "majority"):
        if verdict.facts.get(name) is not None:
            yield {"kind": "fact", "measure": name, "mean": float(verdict.facts[name])}
    for each in verdict.statements:
        numbers = {"n": each.n, "mean": each.estimate, "low": each.low, "high": each.high}
        said = {"measure": each.property, "decision": str(each.decision), "why": each.blocked}
        yield {"kind": "verdict", "explanation": ATTENTION, **said, **numbers}


def _measured(audit: Audit) -> Iterator[Line]:
    """Over texts; of several trainings their mean on each text."""
    rows = audit.rows
    kept = rows[(rows["model"] != "randomised") & rows["measure"].isin(MEASURES)]
    kept = not_by_own(kept, Settings.from_dict(audit.verdict.settings))
    for (measure, operator), part in kept.groupby(["measure", "operator"], sort=True):
        wide = part.pivot_table(index="cluster", columns="explanation", values="value")
        place = {"operator": str(operator), "measure": str(measure)}
        yield from _means(wide, {"kind": "measure", **place})
        if ATTENTION in wide:
            apart = wide.drop(columns=ATTENTION).sub(wide[ATTENTION], axis=0)
            yield from _means(apart, {"kind": "minus_attention", **place})


def _means(wide: pd.DataFrame, place: Mapping[str, str]) -> Iterator[Line]:
    values = wide.to_numpy(dtype=np.float64)
    found = bootstrap_means(values, 0)
    for number, name in enumerate(wide.columns):
        own = values[:, number][np.isfinite(values[:, number])]
        ends = {"low": float(found.low[number]), "high": float(found.high[number])}
        yield {**place, "explanation": str(name), "n": len(own), "mean": own.mean(), **ends}


def _scores(store: Store, runs: Sequence[Run]) -> Iterator[Line]:
    """Of the models that `heedful repair` or a study scored."""
    keys = [str(run.facts.get("run", "")) for run in runs]
    for probe in store.runs("probe"):
        if probe.facts.get("piece") == "score" and probe.upstream.get("base") in keys:
            table = probe.table("summary")
            for line in table[table["measure"].isin(SCORES)].to_dict("records"):
                numbers = {name: line[name] for name in ("n", "mean", "low", "high")}
                yield {"kind": "score", "measure": line["measure"], **numbers, "run": probe.key}
