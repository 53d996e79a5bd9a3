"""Compact histograms: how one number per text is distributed, by predicted class and by the
largest attention weight. What jain2019's Figures 2 to 5 are made of, without any text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from heedful.store import Run, Store
from paper_tables.compact import Form, read_compact
from paper_tables.rows import belonging, of_today

BINS, WEIGHTS = 20, 4
"""Of the values, and of the largest weight."""
TINY = 1e-9
"""A value that rounding took below an edge is above it."""
LN2 = math.log(2)
ENDS = {
    "tau_gradient": (-1.0, 1.0),
    "tau_loo": (-1.0, 1.0),
    "tvd_median": (0.0, 1.0),
    "jsd_exact": (0.0, LN2),
    "jsd_search": (0.0, LN2),
}
"""The measures that are kept, and from where to where they go."""
PAPER = "jain2019"
KEYS = ["paper", "corpus", "model", "size", "seed", "probe", "measure", "predicted", "weight"]
KEYS += ["bin"]
WHOLE = ("seed", "predicted", "weight", "bin", "count")
COLUMNS = [*KEYS, "count", "setting", "run"]
FORM = Form("compact histograms", COLUMNS, WHOLE, (), KEYS)


def collect_histograms(store: Store) -> pd.DataFrame:
    """Those of the paper's own settings in a store."""
    parts = [part for run in store.runs("probe") for part in _of_run(store, run)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return _ordered(table.reindex(columns=COLUMNS))


def merged_histograms(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """A model that is measured again leaves none of its old counts behind."""
    whose = KEYS[: KEYS.index("measure") + 1]
    again = set(map(tuple, new[whose].to_numpy()))
    kept = [tuple(line) not in again for line in old[whose].to_numpy()]
    left = old[pd.Series(kept, old.index, dtype=bool)]
    return _ordered(pd.concat([left, new], ignore_index=True))


def no_histograms() -> pd.DataFrame:
    return pd.DataFrame(columns=COLUMNS)


def read_histograms(path: Path) -> pd.DataFrame:
    """Those of the study as it is today."""
    return of_today(read_compact(path, FORM))


def counts(rows: pd.DataFrame) -> pd.DataFrame:
    """Texts in each cell; a value beyond an end counts in the last bin, one that is not defined
    nowhere."""
    rows = rows[rows["measure"].isin(ENDS) & np.isfinite(rows["value"].to_numpy(dtype=float))]
    ends = np.array([ENDS[measure] for measure in rows["measure"]]).reshape(-1, 2)
    place = (rows["value"].to_numpy(dtype=float) - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
    weight = np.nan_to_num(rows["max_weight"].to_numpy(dtype=float))
    placed = rows[["measure", "predicted"]].assign(
        weight=np.clip((weight * WEIGHTS).astype(int), 0, WEIGHTS - 1),
        bin=np.clip(np.floor(place * BINS + TINY), 0, BINS - 1).astype(int),
    )
    return placed.groupby(list(placed)).size().rename("count").reset_index()


def _of_run(store: Store, run: Run) -> Iterator[pd.DataFrame]:
    if run.has("rows.parquet"):
        for whose in belonging(store, run):
            if whose["paper"] == PAPER:
                yield counts(run.table("rows")).assign(**whose)


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values(KEYS, kind="stable", ignore_index=True)
