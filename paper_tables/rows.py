"""Compact rows: what probe runs of a study's own settings say, one line per number and seed.

Runs of anything else in a store, or of other versions of its parts, are passed over, and so are
kept rows whose study has changed since (`settings.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pandas as pd

from heedful.errors import HeedfulError
from heedful.store import Run, Store
from heedful.studies import METRICS
from paper_tables.compact import Form, read_compact
from paper_tables.settings import Asked, asked, setting_of


@dataclass(frozen=True)
class Need:
    """Measures of a probe and groups of texts, as patterns."""

    probe: str
    measures: tuple[str, ...]
    groups: tuple[str, ...] = ("all",)


NEEDS = (
    Need("adversarial", ("jsd_exact", "jsd_search", "jsd_entropy_matched"), ("all", "length=*")),
    Need("mutual_information", ("chance:*",)),
    Need("reachability", ("fixed",)),
    Need("seeds", ("jsd_seeds", "jsd_seeds_max", "delta_seeds")),
    Need("frontier", ("jsd:*", "tvd:*")),
    Need("rationale", ("mass_inside", "share_inside")),
)


def needed(probe: str, table: pd.DataFrame) -> pd.Series:
    """Of each line of a summary, whether it is kept."""
    own = [need for need in NEEDS if need.probe == probe]
    pairs = zip(table["measure"], table["group"], strict=True)
    kept = [
        any(_fits(str(measure), each.measures) and _fits(str(group), each.groups) for each in own)
        for measure, group in pairs
    ]
    return pd.Series(kept, index=table.index, dtype=bool)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


KEYS = ["paper", "corpus", "model", "size", "seed", "probe", "measure", "group"]
COUNTS, NUMBERS = ["n", "undefined"], ["mean", "sd", "low", "high"]
COLUMNS = [*KEYS, *COUNTS, *NUMBERS, "setting", "run"]
FORM = Form("compact rows", COLUMNS, ("seed", *COUNTS), NUMBERS, KEYS)
WHOSE = ["corpus", "probe", "setting", "paper", "model", "size"]


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
    """Rows that were kept, of studies as they are today."""
    return of_today(read_compact(path, FORM))


def of_today(table: pd.DataFrame) -> pd.DataFrame:
    """Those that a study still asks for."""
    known = asked()
    kept = [
        Asked(paper, model, size) in known.get((corpus, probe, setting), ())
        for corpus, probe, setting, paper, model, size in table[WHOSE].itertuples(index=False)
    ]
    return table[pd.Series(kept, table.index, dtype=bool)].reset_index(drop=True)


def as_today(table: pd.DataFrame) -> pd.DataFrame:
    """Each row under every study that asks for its setting today: one that has since taken a
    trial's setting asks for the trial's rows."""
    known = asked()
    places = zip(table["corpus"], table["probe"], table["setting"], strict=True)
    whose = [known.get(place, ()) for place in places]
    again = table.loc[table.index.repeat([len(each) for each in whose])].reset_index(drop=True)
    found = [each for those in whose for each in those]
    again = again.assign(
        paper=[each.paper for each in found],
        model=[each.model for each in found],
        size=[each.size for each in found],
    )
    return _ordered(again.drop_duplicates(KEYS, keep="last"))


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values(KEYS, kind="stable", ignore_index=True)


def _rows(store: Store, run: Run) -> Iterator[pd.DataFrame]:
    if run.has("summary.parquet"):
        for whose in belonging(store, run):
            yield _wanted(run).assign(**whose)


def belonging(store: Store, run: Run) -> Iterator[dict[str, Any]]:
    """Whose a probe run is: a line for each study that asks for it."""
    keys = [run.upstream.get(name, "") for name in ("base", "corpus")]
    if not all(key and store.has(key) for key in keys):
        return
    model, corpus = (store.open(key).facts for key in keys)
    setting = setting_of(run.facts, model, corpus)
    piece, probe = corpus["piece"], run.facts["piece"]
    for found in asked().get((piece, probe, setting), ()) if setting else ():
        yield {
            "paper": found.paper,
            "corpus": piece,
            "model": found.model,
            "size": found.size,
            "seed": model["seed"],
            "probe": probe,
            "setting": setting,
            "run": run.key,
        }


def _wanted(run: Run) -> pd.DataFrame:
    """What documents are made of: measures with published numbers, of all texts or a class, and
    what the findings look at."""
    table, probe = run.table("summary"), str(run.facts["piece"])
    kinds = {name: dtype.kind for name, dtype in table.dtypes.items()}
    wrong = {name for name in (*COUNTS, *NUMBERS) if kinds.get(name, "") not in tuple("iuf")}
    if wrong := wrong | {"measure", "group"} - set(kinds):
        raise HeedfulError(
            f"the summary of {run.key} has no {sorted(wrong)[0]!r} that can be used: remove the "
            f"run, and run its probe again."
        )
    measures = [measure for name, measure in METRICS.values() if name == probe]
    groups = (table["group"] == "all") | table["group"].str.startswith("class=")
    return pd.DataFrame(table[table["measure"].isin(measures) & groups | needed(probe, table)])
