"""Which rows measure a published cell."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from heedful.reproduction.cells import Published
from heedful.reproduction.judge import Judged
from heedful.studies import METRICS, dataset_name, printed_scale


def judged(cells: Sequence[Published], rows: pd.DataFrame) -> list[Judged]:
    """The cells that were measured, each with its seeds."""
    named = rows.assign(dataset=[dataset_name(str(corpus)) for corpus in rows["corpus"]])
    places = dict(list(named.groupby(["paper", "dataset", "model", "probe", "measure"])))
    found = []
    for cell in cells:
        if cell.metric in METRICS:
            place = (cell.paper, cell.dataset, cell.model, *METRICS[cell.metric])
            lines = places.get(place)
            each = None if lines is None else _judged(cell, lines)
            if each is not None:
                found.append(each)
    return found


def _judged(cell: Published, lines: pd.DataFrame) -> Judged | None:
    """By seed, in the paper's unit. Of a class where the paper has classes; runs in full come
    before small ones, and the two are never mixed."""
    group = "all" if cell.label == "all" else f"class={cell.label}"
    kept = lines[(lines["group"] == group) & lines["mean"].notna()]
    size = next((size for size in ("full", "small") if (kept["size"] == size).any()), None)
    if size is None:
        return None
    chosen = kept[kept["size"] == size].sort_values("seed")
    scale = printed_scale(cell.paper, cell.metric)
    values = tuple(scale * float(value) for value in chosen["mean"])
    return Judged(cell, values, tuple(map(int, chosen["n"])), size)
