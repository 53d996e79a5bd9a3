"""Mutual information between its two ends: what comes by chance, and all there is to know."""

from __future__ import annotations

from typing import Any

import pandas as pd

from heedful.report.display import interval, number
from heedful.studies import dataset_name

WORDS = {"frequent": "most frequent", "sampled": "sampled"}
CAPTION = (
    "In nats, over seeds. Few vectors in many clusters tell something about their words by "
    "chance: the same clusters, shuffled, show how much. At most: the entropy of the words."
)
COLUMNS = [
    "Data", "Model", "Words", "Measured", "95% interval", "By chance", "At most",
    "Vectors", "Clusters",
]  # fmt: skip


def information(together: pd.DataFrame) -> pd.DataFrame:
    """A line for each model and way to choose words."""
    cells = together[(together["probe"] == "mutual_information") & (together["group"] == "all")]
    lines = [
        (dataset_name(str(corpus)), str(model), words, *_numbers(_by_measure(part), way))
        for (corpus, model), part in cells.groupby(["corpus", "model"], sort=False)
        for way, words in WORDS.items()
        if (part["measure"] == f"mutual_information:{way}").any()
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def _by_measure(part: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    return {str(line["measure"]): line for line in part.to_dict("records")}


def _numbers(cells: dict[str, dict[Any, Any]], way: str) -> list[str]:
    def mean(name: str) -> float:
        return float(cells[f"{name}:{way}"]["mean"])

    own = cells[f"mutual_information:{way}"]
    return [
        number(mean("mutual_information"), 3) or "undefined",
        interval(own["low"], own["high"], 3),
        number(mean("chance"), 3),
        number(mean("entropy"), 3),
        *(f"{mean(name):,.0f}" for name in ("vectors", "clusters")),
    ]
