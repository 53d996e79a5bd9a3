"""Which rows measure a published cell."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from heedful.reproduction.cells import Published
from heedful.reproduction.judge import Judged
from heedful.studies.published import METRICS, dataset_name, printed_scale


def judged(cells: Sequence[Published], rows: pd.DataFrame) -> list[Judged]:
    """The cells that were measured, each with its seeds."""
    named = rows.assign(dataset=[dataset_name(str(corpus)) for corpus in rows["corpus"]])
    places = dict(list(named.groupby(["paper", "dataset", "model", "probe", "measure"])))
    found = []
    for cell in cells:
        if cell.metric in METRICS:
            place = (cell.paper, cell.dataset, cell.model, *METRICS[cell.metric])
            values = _values(places.get(place), cell)
            if values:
                found.append(Judged(cell, values))
    return found


def _values(lines: pd.DataFrame | None, cell: Published) -> tuple[float, ...]:
    """By seed, in the paper's unit. Of a class where the paper has classes; runs in full come
    before small ones, and the two are never mixed."""
    if lines is None:
        return ()
    group = "all" if cell.label == "all" else f"class={cell.label}"
    kept = lines[(lines["group"] == group) & lines["mean"].notna()]
    sizes = [kept[kept["size"] == size] for size in ("full", "small")]
    chosen = next((each for each in sizes if len(each)), kept).sort_values("seed")
    scale = printed_scale(cell.paper, cell.metric)
    return tuple(scale * float(value) for value in chosen["mean"])
