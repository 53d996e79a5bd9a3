"""A table with a line for each model and a column for each of some measures, with intervals.

For papers that print no numbers of their own to stand beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from heedful.report.display import interval, number
from heedful.studies import dataset_name


@dataclass(frozen=True)
class Column:
    """A measure of a probe; `signed` where it is a difference, `decided` where it is yes or no."""

    probe: str
    measure: str
    signed: bool = False
    decided: bool = False


Columns = Mapping[str, Column]

DECEPTION = {
    "Accuracy": Column("deception", "accuracy"),
    "Control": Column("deception", "accuracy:control"),
    "Attention on I": Column("deception", "mass"),
    "Even": Column("deception", "share"),
    "I zeroed": Column("deception", "accuracy:zeroed"),
    "Hidden, leave-one-out": Column("detector", "hidden:loo", signed=True),
    "Hidden, gradient": Column("detector", "hidden:gradient", signed=True),
    "Hidden, integrated": Column("detector", "hidden:integrated", signed=True),
    "Flagged": Column("detector", "flagged", decided=True),
}
DECEIVED = (
    "I are the impermissible tokens. Accuracy; that of a control that never saw I; the share of "
    "attention on I, and what even attention has there; accuracy when attention on I is set to "
    "zero afterwards. “Hidden” is the share of importance on I less the share of attention; "
    "“flagged” is the detector's decision."
)
TRANSPARENCY = {
    "Accuracy": Column("score", "accuracy"),
    "Conicity": Column("conicity", "conicity"),
    "TVD, shuffled": Column("permutation", "tvd_median"),
    "Removed, attention": Column("importance_sets", "restricted_fraction_attention"),
    "Removed, random": Column("importance_sets", "restricted_fraction_random"),
    "τ gradient": Column("correlation", "tau_gradient"),
    "τ integrated": Column("correlation", "tau_integrated"),
    "Extracted": Column("extracted", "length"),
    "Attention inside": Column("extracted", "mass_extracted"),
}
TRANSPARENT = (
    "Conicity is 1 where all states point one way. “Removed”: the mean share of items that lose "
    "their attention until the decision flips (all of them where it never does), by attention and "
    "in random order. “Extracted”: the share of tokens in a rationale found by REINFORCE; "
    "“attention inside” it."
)


def by_model(together: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Numbers over all texts; a blank where a model was not asked. Columns without any are out."""
    kept = together[together["group"] == "all"]
    cells = {
        (str(line["corpus"]), str(line["model"]), str(line["probe"]), str(line["measure"])): line
        for line in kept.to_dict("records")
    }
    models = dict.fromkeys((corpus, model) for corpus, model, _, _ in cells)
    lines = [
        {
            "Data": dataset_name(corpus),
            "Model": model,
            **{
                title: _shown(cells.get((corpus, model, column.probe, column.measure)), column)
                for title, column in columns.items()
            },
        }
        for corpus, model in models
    ]
    table = pd.DataFrame(lines, columns=["Data", "Model", *columns])
    return table[[name for name in table if (table[name] != "").any()]] if len(table) else table


def _shown(line: Mapping[object, object] | None, column: Column) -> str:
    if line is None:
        return ""
    if column.decided and float(str(line["mean"])) in (0, 1):
        return "yes" if line["mean"] else "no"
    mean, low, high = (float(str(line[name])) for name in ("mean", "low", "high"))
    shown = number(mean, 2, column.signed) or "undefined"
    return shown if low == high or low != low else f"{shown} ({interval(low, high, 2)})"
