"""Whether the answer hangs on attention sinks: tokens that take weight whatever the text says.

Special tokens belong to no word and are never in a map, but a head that rests on them counts less
in the mean over heads. The first word, and punctuation, are words. So the answer is also given for
the map without each of them, and a reader is told where it is another. That it cannot be told
without them is no other answer: fewer words leave wider bounds.

The rule. Special tokens: heads are made to sum to 1 over words. The first word counts as a sink
where it takes more than `HEAVY` of the attention in at least `NEARLY` all examples. Punctuation
marks are words without a letter or digit: readers see them and some decide, so they stay in the map
on trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from heedful.verdict.properties.agreement import agreement
from heedful.verdict.properties.erasure import MEASURE, baseline, importance
from heedful.verdict.settings import Settings
from heedful.verdict.statement import NAN, Statement, number
from heedful.verdict.table import Table

HEAVY, NEARLY, TOLD = 0.3, 0.9, 0.1
"""A first word that is a sink; and the mean share from which on a kind is told of."""
MASSES = {
    "special": ("special_mass", "tokens of no word"),
    "first": ("first_word_mass", "the first word"),
    "punctuation": ("punctuation_mass", "punctuation"),
}
OPEN = "cannot tell yet"
Answer = Callable[[Sequence[Statement]], str]


@dataclass(frozen=True)
class WithoutSinks:
    """The map less one kind of sink: its importance with bounds, its lead over the better baseline,
    and the answer it would get. Use is as it is with sinks."""

    left_out: str
    importance: float
    low: float
    high: float
    lead: float
    answer: str


@dataclass(frozen=True)
class Sinks:
    """Mean shares of the attention, whether the first word acts as a sink, and the answers without
    each kind that was tried."""

    sentence: str = ""
    special: float = NAN
    first: float = NAN
    punctuation: float = NAN
    first_acts: bool = False
    without: tuple[WithoutSinks, ...] = ()
    warnings: tuple[str, ...] = ()


def sinks_of(
    table: Table, statements: Sequence[Statement], chosen: Settings, answer: Answer
) -> Sinks:
    """`answer` says what statements lead to."""
    values = {kind: _values(table, name, chosen) for kind, (name, _) in MASSES.items()}
    means = {kind: float(np.mean(each)) if len(each) else NAN for kind, each in values.items()}
    share = float(np.mean(values["first"] > HEAVY)) if len(values["first"]) else 0.0
    acts = share >= NEARLY
    tried = {
        "special": means["special"] > 0,
        "first": acts,
        "punctuation": means["punctuation"] > 0,
    }
    without = tuple(
        _without(kind, table, statements, chosen, answer)
        for kind, wanted in tried.items()
        if wanted and _name(kind, chosen) in _scored(table)
    )
    warnings = []
    if acts:
        warnings.append(
            f"the first word takes more than {HEAVY:.0%} of the attention in {share:.0%} of the "
            "examples: it acts as a sink."
        )
    mine = answer(statements)
    warnings += [
        f"the answer hangs on attention sinks: {mine} with them, {each.answer} without "
        f"{MASSES[each.left_out][1]} ({_name(each.left_out, chosen)})."
        for each in without
        if each.answer not in (mine, OPEN)
    ]
    return Sinks(
        _sentence(means, without),
        **means,
        first_acts=acts,
        without=without,
        warnings=tuple(warnings),
    )


def _without(
    kind: str, table: Table, statements: Sequence[Statement], chosen: Settings, answer: Answer
) -> WithoutSinks:
    other = replace(chosen, on_trial=_name(kind, chosen))
    asked = (importance, baseline, agreement)
    new = {each.property: each for each in (evaluate(table, other) for evaluate in asked)}
    said = answer([new.get(each.property, each) for each in statements])
    found = new["importance"]
    return WithoutSinks(kind, found.estimate, found.low, found.high, new["baseline"].estimate, said)


def _name(kind: str, chosen: Settings) -> str:
    return f"{chosen.on_trial}:sinks={kind}"


def _scored(table: Table) -> set[str]:
    tables = (table.get(table.main, MEASURE, each) for each in table.operators(MEASURE))
    return {str(name) for wide in tables for name in wide.columns}


def _values(table: Table, measure: str, chosen: Settings) -> np.ndarray:
    wide = table.get(table.main, measure)
    if chosen.on_trial not in wide.columns:
        return np.array([])
    column: pd.Series = wide[chosen.on_trial]
    return column.dropna().to_numpy(dtype=np.float64)


def _sentence(means: dict[str, float], without: Sequence[WithoutSinks]) -> str:
    told = [
        f"{MASSES[kind][1]} {mean:.0%}"
        for kind, mean in means.items()
        if not math.isnan(mean) and mean >= TOLD
    ]
    if not told:
        return ""
    scores = [
        f"{number(each.importance)} without {MASSES[each.left_out][1]}"
        for each in without
        if not math.isnan(each.importance)
    ]
    text = f"of the attention, {', '.join(told)}."
    return f"{text} Importance would be {', '.join(scores)}." if scores else text
