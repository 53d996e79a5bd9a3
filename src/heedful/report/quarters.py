"""Where the decisions change that replaced attention changes: sure or unsure, short or long."""

from __future__ import annotations

import pandas as pd

from heedful.report.display import interval, number
from heedful.studies import dataset_name

WORDS = {
    "uniform:infer": "uniform afterwards",
    "permute:infer": "shuffled afterwards",
}
BY = {"confidence": "confidence, least sure first", "length": "length, shortest first"}
CAPTION = (
    "Change of accuracy in points, with its 95% interval, by quarters of the texts: of those the "
    "model is least sure of to those it is surest of, and of the shortest to the longest."
)
COLUMNS = ["Data", "Model", "Attention", "Quarters by", "First", "Second", "Third", "Fourth"]


def quarters(together: pd.DataFrame) -> pd.DataFrame:
    """A line for each model, replacement and way to order the texts."""
    changed = together["measure"].str.startswith("changed:")
    cells = together[(together["probe"] == "substitution") & changed]
    lines = [
        (dataset_name(str(corpus)), str(model), words, label, *_quarters(part, when, by))
        for (corpus, model), part in cells.groupby(["corpus", "model"], sort=False)
        for when, words in WORDS.items()
        for by, label in BY.items()
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def _quarters(cells: pd.DataFrame, when: str, by: str) -> list[str]:
    """Empty for a quarter that equal texts left empty."""
    own = cells[cells["measure"] == f"changed:{when}"]
    found = {str(line["group"]): line for line in own.to_dict("records")}
    return [_points(found.get(f"{by}={quarter}")) for quarter in range(1, 5)]


def _points(line: dict[object, float] | None) -> str:
    if line is None:
        return ""
    mean, low, high = (100 * float(line[name]) for name in ("mean", "low", "high"))
    around = interval(low, high, 1)
    return f"{number(mean, 1, signed=True)} ({around})" if around else number(mean, 1, signed=True)
