"""From rows to summaries with intervals, without torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from heedful.metrics.bootstrap import bootstrap_means

_TYPES = {
    **dict.fromkeys(["site", "measure", "group"], "str"),
    **dict.fromkeys(["n", "undefined"], "int64"),
    **dict.fromkeys(["mean", "sd", "median", "low", "high"], "float64"),
}
COLUMNS = list(_TYPES)


def summarise(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """One line per site, measure and group, over examples.

    The unit is the example: its rows (heads, queries, draws) are averaged first, since they
    are not independent, and examples are what the bootstrap draws again. `n` counts examples
    with a defined value, `undefined` the rows without one (NaN or infinite). Groups are
    `all`, the predicted classes, and quarters of each site's examples by length (`length=1`
    the shortest) and by the prediction's probability (`confidence=1` the least sure; empty
    quarters, which ties make, are left out). `sd` is between examples (n − 1).
    """
    rows = rows.assign(value=rows["value"].where(np.isfinite(rows["value"])))
    lines = [
        line
        for _, of_site in rows.groupby("site", sort=True)
        for group, part in _groups(of_site)
        for line in _lines(part, group, seed)
    ]
    table = pd.DataFrame(lines, columns=COLUMNS).astype(_TYPES)
    # Stable, so groups keep the order they come in: class=10 after class=2.
    return table.sort_values(["site", "measure"], kind="stable", ignore_index=True)


def _groups(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Parts of one site's rows, in the order they are shown."""
    yield "all", rows
    for predicted, part in rows.groupby("predicted", sort=True):
        yield f"class={predicted}", part
    for column in ("length", "confidence"):
        quarter = _quarters(rows, column)
        for number in range(1, 5):
            part = rows[quarter == number]
            if len(part):
                yield f"{column}={number}", part


def _quarters(rows: pd.DataFrame, column: str) -> pd.Series:
    """Each row's quarter of the examples by a number of theirs; equal ones share a quarter."""
    of_each = rows.groupby("example", sort=True)[column].max()
    edges = np.quantile(of_each, [0.25, 0.5, 0.75])
    quarters = pd.Series(np.searchsorted(edges, of_each) + 1, index=of_each.index)
    return rows["example"].map(quarters)


def _lines(rows: pd.DataFrame, group: str, seed: int) -> Iterator[dict[str, str | int | float]]:
    """The lines of one site and group: one bootstrap for all measures."""
    means = _example_means(rows)
    low, high = bootstrap_means(means.to_numpy(), seed)
    undefined = rows["value"].isna().groupby(rows["measure"]).sum()
    for column, measure in enumerate(means.columns):
        values = means[measure].dropna()
        yield {
            "site": str(rows["site"].iloc[0]),
            "measure": str(measure),
            "group": group,
            "n": len(values),
            "undefined": int(undefined[measure]),
            "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)),
            "median": float(values.median()),
            "low": float(low[column]),
            "high": float(high[column]),
        }


def _example_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Examples down, measures across. Rows are ordered by value first: a sum of floats
    depends on its order, and the summary must not depend on the order of rows."""
    ordered = rows.sort_values("value", kind="stable")
    means = ordered.groupby(["example", "measure"], sort=True)["value"].mean()
    return means.unstack("measure").sort_index()
