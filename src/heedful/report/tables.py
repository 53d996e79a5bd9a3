"""Published beside measured: one line per cell of a paper's table, in the paper's unit.

A difference is measured − published. Cells that no paper printed (another encoder, another
attention) stand in the same table with the published columns empty. A substitute for a
published corpus shows what was published, and no difference from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from heedful.report.evidence import Evidence
from heedful.report.places import Place, places
from heedful.report.printed import Printed, printed
from heedful.studies import METRICS, dataset_name, printed_papers, printed_scale

COLUMNS = [
    "table", "dataset", "class", "model", "metric",
    "published_paper", "published_paper_sd", "published_slides", "published_slides_sd",
    "measured", "measured_sd", "low", "high", "interval", "seeds", "seed_sd",
    "difference", "difference_slides", "note",
]  # fmt: skip


def published_beside_measured(evidence: Evidence, paper: str = "jain2019") -> pd.DataFrame:
    """The measured cells of a paper's tables, each with the published numbers beside it."""
    if paper not in printed_papers():
        return pd.DataFrame(columns=COLUMNS)
    tables = printed(paper)
    where = {place: place.metrics(tables) for place in places(evidence, paper, tables)}
    lines = [
        _line(table, metric, cell, tables, place, printed_scale(paper, metric))
        for table in tables.tables
        for metric in tables.metrics(table, tables.datasets)
        for place, wanted in where.items()
        if (table, metric) in wanted
        for cell in _measured_cells(evidence.together, table, metric, tables, place)
    ]
    frame = pd.DataFrame(lines, columns=COLUMNS)
    by = ["table", "dataset", "model", "class", "metric"]
    return frame.sort_values(by, key=_study_order, kind="stable", ignore_index=True)


def _study_order(column: pd.Series) -> pd.Series:
    """Classes by number; everything else as the study lists it, not by the alphabet."""
    return column if column.name == "class" else pd.Series(pd.factorize(column)[0])


def _measured_cells(
    together: pd.DataFrame, table: str, metric: str, paper: Printed, place: Place
) -> Iterator[dict[str, Any]]:
    probe, measure = METRICS[metric]
    cells = together[
        (together["probe"] == probe)
        & (together["measure"] == measure)
        & (together["corpus"] == place.corpus)
        & (together["model"] == place.label)
    ]
    by_class = cells["group"].str.startswith("class=")
    split = by_class.any() and by_class.sum() <= len(paper.classes(table, place.like))
    kept = cells[by_class] if split else cells[cells["group"] == "all"]
    return ({str(key): value for key, value in cell.items()} for cell in kept.to_dict("records"))


def _line(
    table: str, metric: str, cell: dict[str, Any], paper: Printed, place: Place, scale: float
) -> dict[str, Any]:
    label = cell["group"].removeprefix("class=")
    asked = (place.asked, label, place.named, metric)
    once, slides = (paper.value(table, version, asked) for version in ("paper", "slides"))
    prints_sd = metric in ("tau_gradient", "tau_loo")
    numbers = {name: scale * cell[name] for name in ("mean", "low", "high", "seed_sd")}
    same = math.nan if place.substitute else 1.0  # no difference from other data
    undefined = f"undefined: {cell['undefined']}" if cell["undefined"] else ""
    said = dict(place.said).get(metric, "")
    return {
        "table": table,
        "dataset": dataset_name(place.corpus),
        "class": label,
        "model": place.model,
        "metric": metric,
        "published_paper": once[0],
        "published_paper_sd": once[1],
        "published_slides": slides[0],
        "published_slides_sd": slides[1],
        "measured": numbers["mean"],
        "measured_sd": cell["sd"] if prints_sd else math.nan,
        "low": numbers["low"],
        "high": numbers["high"],
        **{name: cell[name] for name in ("interval", "seeds")},
        "seed_sd": numbers["seed_sd"],
        "difference": (numbers["mean"] - once[0]) * same,
        "difference_slides": (numbers["mean"] - slides[0]) * same,
        "note": "; ".join(part for part in (place.note, undefined, said) if part),
    }
