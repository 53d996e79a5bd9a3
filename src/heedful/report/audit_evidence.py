"""A finished audit as a page reads it, from the store or from the folder of `heedful audit -o`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from heedful.errors import HeedfulError
from heedful.report.formats import clipped, finite
from heedful.store import Frames, Run
from heedful.verdict import Settings, check_schema, check_tables, read_facts, read_verdict

COLUMNS = {
    "rows": (
        *("model", "example", "cluster", "label", "predicted", "confidence", "length"),
        *("explanation", "operator", "measure", "value"),
    ),
    "maps": ("example", "explanation", "scores"),
    "costs": ("explanation", "milliseconds_per_text", "passes_per_text"),
    "documents": (
        *("example", "words", "starts", "ends", "words_a", "text", "text_b", "label"),
        "rationale",
    ),
    "shown": ("example", "kind", "name", "scores"),
}
NOTHING = pd.Series(dtype="float64")


@dataclass(frozen=True)
class Ranked:
    """A line of one of the verdict's rankings: an explanation, or attention elsewhere in the
    model. NaN is not known."""

    name: str
    tied: bool
    position: float
    low: float
    high: float
    behind: float
    chosen_on: float
    milliseconds: float
    passes: float

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Ranked:
        name = str(line["explanation"] if "explanation" in line else line["name"])
        numbers = (finite(line.get(each.name)) for each in fields(cls)[2:])
        return cls(name, bool(line.get("tied")), *numbers)

    @property
    def interval(self) -> dict[str, float]:
        return {"estimate": self.position, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class AuditEvidence:
    """Tables that have all their columns, even where nothing was measured."""

    verdict: Mapping[str, Any]
    facts: Mapping[str, Any]
    rows: pd.DataFrame
    maps: pd.DataFrame
    costs: pd.DataFrame
    documents: pd.DataFrame
    shown: pd.DataFrame

    @cached_property
    def settings(self) -> Settings:
        """What the verdict was asked to decide on."""
        return Settings.from_dict(self.verdict.get("settings") or {})

    @property
    def on_trial(self) -> str:
        return self.settings.on_trial

    @property
    def best(self) -> str:
        """The recommended explanation; "" where there is none."""
        return self.best_of("recommendation")

    def best_of(self, question: str) -> str:
        return str(self.verdict.get(question, {}).get("best") or "")

    def ranked(self, question: str) -> list[Ranked]:
        """By `recommendation` (importance), `direction` or `sites`, the best first."""
        return [Ranked.of(line) for line in self.verdict.get(question, {}).get("ranked") or ()]

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

    def measures(self, prefix: str) -> list[str]:
        return sorted({each[0] for each in self._groups if each[0].startswith(prefix)})

    def class_name(self, label: Any) -> str:
        """A class by its name; one that has none by its number."""
        if pd.isna(label) or int(label) < 0:
            return "no label"
        names = self.facts.get("classes") or ()
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
    """From the parts of an audit; a table that is missing is empty."""
    tables = {name: _table(parts.get(name), columns) for name, columns in COLUMNS.items()}
    return AuditEvidence(parts["verdict"], parts.get("facts") or {}, **tables)


def _table(table: pd.DataFrame | None, columns: tuple[str, ...]) -> pd.DataFrame:
    given = table if table is not None else pd.DataFrame()
    return given.reindex(columns=list(columns))


PLAIN = ("verdict", "facts")
LATER = ("shown",)
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
    tables = {name: run.frames(name).first for name in COLUMNS if run.has(f"{name}.parquet")}
    plain = {name: run.json(name) for name in PLAIN}
    check_schema(plain["verdict"], f"the verdict of {run.key}", "audit anew with another --store")
    if not _whole(plain):
        raise HeedfulError(f"{run.key} is no whole audit: remove it and run `heedful audit` again.")
    return evidence_of({**tables, **plain})


def audit_of_folder(folder: Path) -> AuditEvidence:
    """A folder that is not whole is refused by name."""
    try:
        plain = {"verdict": read_verdict(folder), "facts": read_facts(folder)}
        files = {name: folder / f"{name}.parquet" for name in COLUMNS}
        there = {name: file for name, file in files.items() if name not in LATER or file.is_file()}
        check_tables(there.values())
        tables = {name: Frames.at(file).first for name, file in there.items()}
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise _broken(folder) from error
    if not _whole(plain) or not all(NEEDED[name] <= set(tables[name]) for name in NEEDED):
        raise _broken(folder)
    return evidence_of({**tables, **plain})


def _whole(plain: Mapping[str, Any]) -> bool:
    """What a page cannot do without."""
    verdict = plain["verdict"]
    return (
        isinstance(verdict, dict)
        and all(isinstance(verdict.get(name), str) for name in ("headline", "decision"))
        and all(_said(verdict.get(name)) for name in ("recommendation", "direction", "sites"))
        and isinstance(plain["facts"], dict)
        and "model" in plain["facts"]
    )


def _said(part: Any) -> bool:
    return isinstance(part, dict) and "sentence" in part


def _broken(folder: Path) -> HeedfulError:
    return HeedfulError(f"{folder} is no whole audit: run `heedful audit` again with -o.")
