"""Figure 5 of vashishth2019: are the top words relevant, crossed with whether the prediction
made under the shown weights is right; measured beside published."""

from __future__ import annotations

import math

import pandas as pd

from heedful.studies import dataset_name, published

SHOWN = ("original", "permuted")
CELLS = {
    "correct+meaningful": (True, "yes"),
    "correct+not_meaningful": (True, "no"),
    "wrong+meaningful": (False, "yes"),
    "wrong+not_meaningful": (False, "no"),
}
"""A cell's published name → whether the prediction is right, and the answer."""
COLUMNS = ["shown", "cell", "answers", "percent", "low", "high"]


def figure5(judgements: pd.DataFrame) -> pd.DataFrame:
    """Per cent of all yes and no answers under each kind of weights; `unsure` takes no part.

    `judgements` has a row per answer: `example, shown, correct, value`. Intervals count texts,
    not answers: two people's answers to one text are not two texts.
    """
    lines = [
        _line(judgements[judgements["shown"] == shown], shown, cell)
        for shown in SHOWN
        for cell in CELLS
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def unsure(judgements: pd.DataFrame) -> dict[str, int]:
    """How many answers were neither yes nor no, by what was shown."""
    rows = judgements[~judgements["value"].isin(["yes", "no"])]
    return {shown: int((rows["shown"] == shown).sum()) for shown in SHOWN}


def published_figure5(corpus: str) -> dict[str, dict[str, float]]:
    """`shown:cell` and `cohen_kappa` by data set: those of the corpus where the paper has it,
    else all, to be read as numbers of other data."""
    table = published("vashishth2019", "fig5")
    name = dataset_name(corpus)
    same = table[table["dataset"].map(lambda printed: _is_part(name, printed))]
    kept = table if same.empty else same
    return {
        str(dataset): {
            str(metric).removeprefix("human_percent:"): float(value)
            for metric, value in zip(part["metric"], part["value"], strict=True)
        }
        for dataset, part in kept.groupby("dataset", sort=False)
    }


def is_published(corpus: str) -> bool:
    """Whether the paper's figure is of this very corpus."""
    printed = published("vashishth2019", "fig5")["dataset"]
    return any(_is_part(dataset_name(corpus), name) for name in printed)


def _is_part(name: str, printed: str) -> bool:
    """`bAbI 1` is a part of what the paper calls bAbI."""
    return name == printed or name.startswith(f"{printed} ")


def _line(judgements: pd.DataFrame, shown: str, cell: str) -> list[object]:
    right, answer = CELLS[cell]
    told = judgements[judgements["value"].isin(["yes", "no"])]
    hits = int(((told["correct"] == right) & (told["value"] == answer)).sum())
    share = hits / len(told) if len(told) else math.nan
    low, high = wilson(share, told["example"].nunique())
    return [shown, cell, hits, 100 * share, 100 * low, 100 * high]


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval of a share among n (Wilson 1927); NaN for none. Unlike a bootstrap's, it
    does not shrink to a point where nobody, or everybody, says so."""
    if not n:
        return math.nan, math.nan
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
