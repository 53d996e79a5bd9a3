"""Published beside measured: one line per cell of a paper's table.

A difference is measured − published. Cells that no paper printed (another encoder, another
attention) stand in the same table with the published columns empty.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from heedful.report.display import SUBSET
from heedful.report.evidence import Evidence
from heedful.studies.published import METRICS, dataset_name, published

TABLES = {
    "1": ("f1",),
    "2": ("tau_gradient", "tau_gradient_sig_fraction", "tau_loo", "tau_loo_sig_fraction"),
}
"""jain2019's tables and the metrics in them."""

COLUMNS = [
    "table", "dataset", "class", "model", "metric",
    "published_paper", "published_paper_sd", "published_slides", "published_slides_sd",
    "measured", "measured_sd", "low", "high", "interval", "seeds", "seed_sd",
    "difference", "difference_slides", "note",
]  # fmt: skip


def published_beside_measured(evidence: Evidence, paper: str = "jain2019") -> pd.DataFrame:
    """The measured cells of a paper's tables, each with the published numbers beside it."""
    together = evidence.together
    printed = _printed(paper)
    notes = {corpus: _corpus_note(evidence, corpus) for corpus in together["corpus"].unique()}
    lines = [
        _line(table, metric, cell, printed, notes[cell["corpus"]])
        for table, metrics in TABLES.items()
        for metric in metrics
        for cell in _measured_cells(together, table, metric)
    ]
    frame = pd.DataFrame(lines, columns=COLUMNS)
    by = ["table", "dataset", "model", "class", "metric"]
    return frame.sort_values(by, key=_study_order, kind="stable", ignore_index=True)


def _study_order(column: pd.Series) -> pd.Series:
    """Classes by number; everything else as the study lists it, not by the alphabet."""
    return column if column.name == "class" else pd.Series(pd.factorize(column)[0])


def _printed(paper: str) -> dict[tuple[str, ...], tuple[float, float]]:
    keys = ["table", "dataset", "class", "model", "metric"]
    return {
        tuple(line[key] for key in keys): (line["value"], line["sd"])
        for line in published(paper).to_dict("records")
    }


def _measured_cells(together: pd.DataFrame, table: str, metric: str) -> list[dict[str, Any]]:
    probe, measure = METRICS[metric]
    cells = together[(together["probe"] == probe) & (together["measure"] == measure)]
    by_class = cells["group"].str.startswith("class=") & (table == "2")
    kept = cells[by_class] if by_class.any() else cells[cells["group"] == "all"]
    return [{str(name): value for name, value in cell.items()} for cell in kept.to_dict("records")]


def _line(
    table: str,
    metric: str,
    cell: dict[str, Any],
    printed: dict[tuple[str, ...], tuple[float, float]],
    corpus_note: str,
) -> dict[str, Any]:
    place = {
        "dataset": dataset_name(cell["corpus"]),
        "class": cell["group"].removeprefix("class="),
        "model": cell["model"],
        "metric": metric,
    }
    nothing = (math.nan, math.nan)
    paper = printed.get((f"{table}/paper", *place.values()), nothing)
    slides = printed.get((f"{table}/slides", *place.values()), nothing)
    prints_sd = metric in ("tau_gradient", "tau_loo")
    undefined = f"undefined: {cell['undefined']}" if cell["undefined"] else ""
    return {
        "table": table,
        **place,
        "published_paper": paper[0],
        "published_paper_sd": paper[1],
        "published_slides": slides[0],
        "published_slides_sd": slides[1],
        "measured": cell["mean"],
        "measured_sd": cell["sd"] if prints_sd else math.nan,
        **{name: cell[name] for name in ("low", "high", "interval", "seeds", "seed_sd")},
        "difference": cell["mean"] - paper[0],
        "difference_slides": cell["mean"] - slides[0],
        "note": "; ".join(part for part in (corpus_note, undefined) if part),
    }


def _corpus_note(evidence: Evidence, corpus: str) -> str:
    keys = evidence.cells.loc[evidence.cells["corpus"] == corpus, "corpus_run"].unique()
    subset = any(evidence.corpus_report(str(key)).get("subset") for key in keys)
    return SUBSET if subset else ""
