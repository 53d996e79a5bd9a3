"""A finished audit as a page reads it, from the store or from the folder of `heedful audit -o`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from heedful.errors import HeedfulError
from heedful.report.formats import clipped, finite, of_texts
from heedful.report.heads import stored_views
from heedful.store import Frames, Run
from heedful.verdict import (
    Settings,
    Verdict,
    check_tables,
    load_verdict,
    read_facts,
    stored_verdict,
)

COLUMNS = {
    "rows": (
        *("model", "example", "cluster", "label", "predicted", "confidence", "length"),
        *("explanation", "operator", "measure", "value"),
    ),
    "maps": ("example", "explanation", "scores"),
    "costs": ("explanation", "milliseconds_per_text", "passes_per_text"),
    "documents": (
        *("example", "words", "starts", "ends", "words_a", "text", "text_b", "label"),
        *("rationale", "answer", "instead", "about"),
    ),
    "shown": ("example", "kind", "name", "scores"),
    "tokens": ("example", "explanation", "token", "of", "text", "scores"),
}
NOTHING = pd.Series(dtype="float64")


@dataclass(frozen=True)
class Facts:
    """The facts of an audit that a page speaks about; `named` has all of them. NaN is not known."""

    model: str
    data: str
    classes: tuple[str, ...]
    examples: int | None
    checkpoints: int
    accuracy: float
    majority: float
    truncated: float
    skipped: Mapping[str, str]
    key: str
    named: Mapping[str, Any]

    @classmethod
    def of(cls, named: Mapping[str, Any]) -> Facts:
        """From the plain values of `facts.json`, which may leave out any of them. Raises ValueError
        where one is something else."""
        try:
            known = {name: value for name, value in named.items() if value is not None}
            return cls(
                model=str(known.get("name", known.get("model", "a model"))),
                data=str(known.get("data", "data")),
                classes=tuple(map(str, known.get("classes", ()))),
                examples=known.get("examples"),
                checkpoints=int(known.get("checkpoints", 1)),
                accuracy=finite(known.get("accuracy")),
                majority=finite(known.get("majority")),
                truncated=finite(known.get("truncated")),
                skipped={str(name): str(why) for name, why in known.get("skipped", {}).items()},
                key=str(known.get("key", "")),
                named=named,
            )
        except (AttributeError, TypeError, OverflowError) as error:
            raise ValueError("facts of another kind") from error


@dataclass(frozen=True)
class AuditEvidence:
    """Tables that have all their columns, even where nothing was measured."""

    verdict: Verdict
    facts: Facts
    rows: pd.DataFrame
    maps: pd.DataFrame
    costs: pd.DataFrame
    documents: pd.DataFrame
    shown: pd.DataFrame
    tokens: pd.DataFrame
    heads: tuple[Mapping[str, Any], ...] = ()

    @cached_property
    def settings(self) -> Settings:
        """What the verdict was asked to decide on."""
        return self.verdict.asked

    @property
    def unit(self) -> str:
        """What is scored and removed: a word, or something longer or shorter."""
        return self.settings.unit

    @property
    def on_trial(self) -> str:
        return self.settings.on_trial

    @property
    def best(self) -> str:
        """The recommended explanation; "" where there is none."""
        return self.verdict.recommendation.best

    @cached_property
    def main(self) -> pd.DataFrame:
        """The rows of the model on trial: `base`, or the first seed."""
        models = [str(name) for name in self.rows["model"].unique()]
        trained = sorted(name for name in models if name == "base" or name.startswith("seed="))
        return self.rows[self.rows["model"] == trained[0]] if trained else self.rows.iloc[:0]

    @cached_property
    def examples(self) -> pd.DataFrame:
        """Label, prediction, confidence and length of each example."""
        columns = ["label", "predicted", "confidence", "length"]
        return self.main.drop_duplicates("example").set_index("example")[columns].sort_index()

    @property
    def size(self) -> str:
        """`12 texts, 3 seeds`."""
        seeds = self.facts.checkpoints
        return of_texts(len(self.examples)) + (f", {seeds} seeds" if seeds > 1 else "")

    @cached_property
    def cluster_of(self) -> dict[str, str]:
        """What is resampled together; an example without a cluster is its own."""
        known = self.main.drop_duplicates("example").set_index("example")["cluster"]
        return {str(name): str(name if pd.isna(key) else key) for name, key in known.items()}

    def values(self, measure: str, explanation: str = "", operator: str = "") -> pd.Series:
        """One number per example where it is defined."""
        return self._groups.get((measure, explanation, operator), NOTHING)

    def named(self, measure: str) -> list[tuple[str, str]]:
        """Explanation and operator of everything measured under a name, in order."""
        return sorted((each[1], each[2]) for each in self._groups if each[0] == measure)

    def explanations(self, *measures: str) -> list[str]:
        """Everything that has one of the measures."""
        return sorted({each[1] for each in self._groups if each[0] in measures})

    def operators(self, measure: str, explanation: str) -> list[str]:
        """Those under which an explanation was measured."""
        return [operator for name, operator in self.named(measure) if name == explanation]

    def fair_operators(self, measure: str, explanation: str) -> list[str]:
        """The same without those that made the explanation."""
        own = self.settings.made_with(explanation)
        return [name for name in self.operators(measure, explanation) if name not in own]

    def measures(self, prefix: str) -> list[str]:
        return sorted({each[0] for each in self._groups if each[0].startswith(prefix)})

    def class_name(self, label: Any) -> str:
        """A class by its name; one that has none by its number."""
        if pd.isna(label) or int(label) < 0:
            return "no label"
        names = self.facts.classes
        known = int(label) < len(names)
        return clipped(names[int(label)], 60) if known else f"class {int(label)}"

    @cached_property
    def _groups(self) -> dict[tuple[str, str, str], pd.Series]:
        found = {}
        keys = ["measure", "explanation", "operator"]
        rows = self.main.fillna(dict.fromkeys(keys, "")).sort_values("example", kind="stable")
        for key, part in rows.groupby(keys, sort=True):
            numbers = part.set_index("example")["value"].astype("float64")
            measure, explanation, operator = map(str, key)
            found[measure, explanation, operator] = numbers[np.isfinite(numbers)]
        return found


def evidence_of(parts: Mapping[str, Any]) -> AuditEvidence:
    """From the parts of an audit: its verdict, as such or as the values of its JSON, its facts and
    its tables. A table that is missing is empty."""
    given = {name: parts.get(name) for name in COLUMNS}
    known = {name: pd.DataFrame() if table is None else table for name, table in given.items()}
    tables = {name: known[name].reindex(columns=list(columns)) for name, columns in COLUMNS.items()}
    verdict = parts["verdict"]
    if not isinstance(verdict, Verdict):
        verdict = Verdict.from_values(verdict)
    facts = Facts.of({**verdict.facts, **(parts.get("facts") or {})})
    return AuditEvidence(verdict, facts, **tables, heads=stored_views(parts.get("heads")))


LATER = ("shown", "heads", "tokens")
"""Tables that audits of earlier versions have not."""
NEEDED = {
    "rows": {"example", "explanation", "measure", "value"},
    "maps": {"example", "explanation", "scores"},
    "costs": {"explanation"},
    "documents": {"example", "words"},
}


def names_folder(named: str) -> bool:
    """A key of a run has no slash; what has one, or is a folder here, is meant as a folder."""
    path = Path(named)
    return bool(named) and (path.is_dir() or len(path.parts) > 1)


def audit_of_run(run: Run) -> AuditEvidence:
    """Of very many texts the first block of them: a random sample."""
    try:
        verdict, facts = stored_verdict(run), _whole(run.json("facts"))
        there = [name for name in (*COLUMNS, "heads") if run.has(f"{name}.parquet")]
        tables = {name: run.frames(name).first for name in there}
        return evidence_of({**tables, "verdict": verdict, "facts": facts})
    except ValueError as error:
        again = f"{run.key} is no whole audit: remove it and run `heedful audit` again."
        raise HeedfulError(again) from error


def audit_of_folder(folder: Path) -> AuditEvidence:
    """A folder that is not whole is refused by name."""
    try:
        verdict, facts = load_verdict(folder), _whole(read_facts(folder))
        files = {name: folder / f"{name}.parquet" for name in (*COLUMNS, "heads")}
        there = {name: file for name, file in files.items() if name not in LATER or file.is_file()}
        check_tables(there.values())
        tables = {name: Frames.at(file).first for name, file in there.items()}
        if not all(columns <= set(tables[name]) for name, columns in NEEDED.items()):
            raise ValueError("a table lacks columns")
        return evidence_of({**tables, "verdict": verdict, "facts": facts})
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        again = f"{folder} is no whole audit: run `heedful audit` again with -o."
        raise HeedfulError(again) from error


def _whole(facts: Any) -> dict[str, Any]:
    """Facts that a page can do with."""
    if not isinstance(facts, dict) or "model" not in facts:
        raise ValueError("no facts of an audit")
    return facts
