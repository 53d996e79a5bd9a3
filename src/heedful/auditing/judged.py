"""How much of what was measured is decided on and shown, and what the notes say of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pandas as pd

from heedful.auditing.gathered import BLOCK
from heedful.store import Frames
from heedful.verdict import Settings, Verdict, judge

MANY_CLASSES = 1000
MOST_JUDGED = 10 * BLOCK
"""Where more texts would hardly narrow an interval, and would be paid for in memory."""


def judge_rows(
    rows: Frames, costs: pd.DataFrame, facts: dict[str, Any], settings: Settings
) -> Verdict:
    """Of very many texts the first ones, which are a random sample. A vocabulary as classes
    would make up most of a verdict; the audit's facts have it."""
    many = len(facts["classes"]) > MANY_CLASSES
    shown = {name: facts[name] for name in facts if not (many and name == "classes")}
    return judge(islice(rows, MOST_JUDGED // BLOCK), costs, shown, settings)


def counted(measured: int, total: int) -> Iterator[str]:
    """What was not measured, decided on or shown."""
    if measured < total:
        yield f"stopped early: {measured} of {total} texts were measured."
    if measured > MOST_JUDGED:
        yield f"decided on {MOST_JUDGED:,} of the {measured:,} texts measured, a random sample."
    if measured > BLOCK:
        yield f"single texts and charts are of {BLOCK:,} of the texts, a random sample."
