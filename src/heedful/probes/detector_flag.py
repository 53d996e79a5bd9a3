"""When attention is said to hide what a model relies on, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

ENOUGH = 2
"""Methods that must agree: each of them alone can be wrong about a model."""


def decide(
    summary: pd.DataFrame, methods: Sequence[str], threshold: float = 0.1
) -> tuple[bool, str]:
    """The decision, and why, from a summary over all texts. Of several sites one that hides
    is enough."""
    whole = summary[summary["group"] == "all"]
    found = [
        _of_site(lines.set_index("measure"), methods, threshold)
        for _, lines in whole.groupby("site", sort=True)
    ]
    return max(found, key=lambda one: one[0])


def _of_site(lines: pd.DataFrame, methods: Sequence[str], threshold: float) -> tuple[bool, str]:
    """Both are asked: attention that is even, or more, on the tokens hides nothing, whatever
    importance says; and little attention hides nothing that does not matter."""
    low = {name: float(lines["low"][f"hidden:{name}"]) for name in methods}
    over = [name for name, bound in low.items() if bound > threshold]
    excess = float(lines["high"]["excess"])
    flagged = excess < 0 and len(over) >= ENOUGH
    return flagged, _reason(flagged, excess, low, over, threshold)


def _reason(
    flagged: bool, excess: float, low: dict[str, float], over: list[str], threshold: float
) -> str:
    bounds = ", ".join(f"{name} {bound:+.2f}" for name, bound in low.items())
    return (
        f"{'flagged' if flagged else 'not flagged'}: attention on impermissible tokens is "
        f"{'below' if excess < 0 else 'not surely below'} that of even weights (upper bound of "
        f"the difference {excess:+.2f}), and {len(over)} of {len(low)} methods put over "
        f"{threshold:g} more importance than attention there (lower bounds: {bounds}); it takes "
        f"both, the latter by {ENOUGH} methods."
    )
