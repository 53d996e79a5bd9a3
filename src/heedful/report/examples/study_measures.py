"""What texts of a study can be put in order by, in words."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from heedful.report.examples.cell import Sorting
from heedful.report.examples.sortings import (
    FURTHEST_AWAY,
    MARKED,
    SHUFFLED,
    disagreement,
    searched,
    searched_as_spread,
)
from heedful.report.examples.study_maps import MAPS

FOUND, SPREAD = searched("study"), searched_as_spread("study")


@dataclass(frozen=True)
class Measured:
    """Where a number comes from; with `one_less`, it is shown as 1 − value."""

    probe: str
    measure: str
    sorting: Sorting
    one_less: bool = False

    def values(self, rows: pd.DataFrame) -> pd.Series:
        """By text, of those where it is defined."""
        chosen = rows[rows["measure"] == self.measure].set_index("example")["value"]
        numbers = chosen.astype("float64").dropna()
        return 1.0 - numbers if self.one_less else numbers


def _against(name: str, short: str) -> Measured:
    """1 − τ of attention and one kind of importance, which measures call by a shorter name."""
    found = MAPS[name]
    sorting = disagreement(found.key, found.title)
    return Measured("correlation", f"tau_{short}", sorting, one_less=True)


MEASURED = (
    _against("gradient", "gradient"),
    _against("leave_one_out", "loo"),
    Measured("adversarial", "jsd_exact", FURTHEST_AWAY),
    Measured("adversarial", "jsd_search", FOUND),
    Measured("adversarial", "jsd_entropy_matched", SPREAD),
    Measured("permutation", "flips", Sorting("flips", "how often shuffling flips the decision")),
    Measured("permutation", "tvd_median", SHUFFLED),
    Measured("erasure", "js_top", Sorting("erased", "output moved by erasing the heaviest")),
    Measured(
        "token_logits",
        "mass_agreeing",
        Sorting("mass_agreeing", "attention on tokens that say the same", descending=False),
    ),
    Measured(
        "token_logits",
        "tokens_agreeing",
        Sorting("tokens_agreeing", "tokens that say the same alone", descending=False),
    ),
    Measured("rationale", "auprc", MARKED),
)
"""In the order they are offered; of two names of one thing, the first that was measured."""
