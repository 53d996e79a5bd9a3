"""Models against measures, for papers that print no numbers."""

from __future__ import annotations

import math

import pandas as pd

from heedful.experiments import PROBES
from heedful.report import DECEPTION, TRANSPARENCY, Column, by_model

COLUMNS = {
    "Mass": Column("deception", "mass"),
    "Hidden": Column("detector", "hidden", signed=True),
    "Flagged": Column("detector", "flagged", decided=True),
    "Nobody": Column("score", "accuracy"),
}


def line(
    model: str, probe: str, measure: str, mean: float, low: float, high: float
) -> dict[str, object]:
    facts = {"corpus": "planted", "model": model, "probe": probe, "measure": measure}
    return {**facts, "group": "all", "mean": mean, "low": low, "high": high}


def test_a_line_for_each_model_and_no_empty_column() -> None:
    together = pd.DataFrame(
        [
            line("honest", "deception", "mass", 0.5, 0.4, 0.6),
            {**line("honest", "deception", "mass", 0.9, 0.8, 1.0), "group": "length=1"},
            line("honest", "detector", "flagged", 0.0, math.nan, math.nan),
            line("sly", "detector", "hidden", 0.25, 0.25, 0.25),
            line("sly", "detector", "flagged", 1.0, 1.0, 1.0),
        ]
    )
    found = by_model(together, COLUMNS)
    assert list(found) == ["Data", "Model", "Mass", "Hidden", "Flagged"]
    honest, sly = found.to_dict("records")
    assert (honest["Mass"], honest["Hidden"], honest["Flagged"]) == (
        "0.50 (0.40 to 0.60)",
        "",
        "no",
    )
    assert (sly["Mass"], sly["Hidden"], sly["Flagged"]) == ("", "+0.25", "yes")


def test_columns_are_measures_of_probes() -> None:
    for column in (*DECEPTION.values(), *TRANSPARENCY.values()):
        assert column.measure in PROBES[column.probe].measures, column
