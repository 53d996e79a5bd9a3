"""What a careful colleague would point out before anyone reads the verdict.

Facts about the run come from `facts`, or as the mean of the measure of the same name:
`special_mass` (share of attention on special tokens), `truncated` (1 where a text was cut),
`tie_rate` (share of pairs of words that tie).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.table import Table

SPECIAL, TRUNCATED, TIES, NEAR, UNDEFINED = 0.9, 0.5, 0.2, 0.02, 0.2
FEW = 50
SHARES = ("special_mass", "first_word_mass", "punctuation_mass", "truncated", "tie_rate")


def warnings_of(
    table: Table, facts: Mapping[str, Any], statements: Sequence[Statement], chosen: Settings
) -> tuple[str, ...]:
    """In the order they matter."""
    found = [
        *_few(table, chosen),
        *_labels(table),
        *_shares(table, facts),
        *_undefined(statements),
        *(text for each in statements for text in each.warnings),
    ]
    names = facts.get("classes") or ()
    return tuple(dict.fromkeys(_by_name(text, names) for text in found))


def _by_name(text: str, names: Sequence[str]) -> str:
    """Strata are told by number; a reader knows the classes by name."""

    def name(number: re.Match[str]) -> str:
        index = int(number[1])
        return repr(str(names[index])) if index < len(names) else number[0]

    return re.sub(r"\bclass=(\d+)\b", name, text) if "classes disagree" in text else text


def known_facts(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is always shown: how many examples, the accuracy, the majority's, and the shares
    that were measured; what was given comes last and wins."""
    measured = {name: fact(table, given, name) for name in SHARES}
    known = {name: value for name, value in measured.items() if not np.isnan(value)}
    return {**_scores(table), **known, **given}


def _scores(table: Table) -> dict[str, float | int]:
    examples = table.examples
    labelled = examples[examples["label"] >= 0]
    facts: dict[str, float | int] = {
        "examples": len(examples),
        "clusters": int(examples["cluster"].nunique()),
        "labelled": len(labelled),
    }
    if len(labelled):
        facts["accuracy"] = float((labelled["label"] == labelled["predicted"]).mean())
        facts["majority"] = float(labelled["label"].value_counts(normalize=True).max())
    return facts


def fact(table: Table, facts: Mapping[str, Any], name: str) -> float:
    """A share from the facts, or measured example by example; NaN where nobody said."""
    given = facts.get(name)
    if isinstance(given, (int, float)):
        return float(given)
    found = [table.get(table.main, name, operator) for operator in table.operators(name)]
    values = [each.to_numpy(dtype=np.float64) for each in found if not each.empty]
    flat = np.concatenate([each.ravel() for each in values]) if values else np.array([np.nan])
    return float(np.nanmean(flat)) if np.isfinite(flat).any() else float("nan")


def _few(table: Table, chosen: Settings) -> Iterator[str]:
    clusters = int(table.examples["cluster"].nunique())
    if clusters < chosen.fewest:
        yield f"too few examples: {clusters}; nothing is decided below {chosen.fewest}."
    elif clusters < FEW:
        yield f"few examples: {clusters}; read every interval, not only the estimates."


def _shares(table: Table, facts: Mapping[str, Any]) -> Iterator[str]:
    special = fact(table, facts, "special_mass")
    if special >= SPECIAL:
        yield f"{special:.0%} of the attention is on special tokens; the words share the rest."
    truncated = fact(table, facts, "truncated")
    if truncated > TRUNCATED:
        yield f"{truncated:.0%} of the texts were truncated: the verdict is on their beginnings."
    ties = fact(table, facts, "tie_rate")
    if ties > TIES:
        yield f"{ties:.0%} of the pairs of words tie: tau says little about their order."


def _labels(table: Table) -> Iterator[str]:
    facts = _scores(table)
    if "accuracy" not in facts:
        yield "no labels: accuracy is unknown, with attention and without it."
        return
    accuracy, majority = facts["accuracy"], facts["majority"]
    renamed = _renamed_accuracy(table.examples)
    if renamed > max(accuracy, majority) + 0.2 and accuracy <= majority:
        yield (
            f"labels may be shifted: accuracy is {accuracy:.2f}, and {renamed:.2f} "
            "with the classes renamed."
        )
    elif accuracy < majority + NEAR:
        how = "below" if accuracy < majority else "hardly above"
        yield f"accuracy {accuracy:.2f} is {how} the majority class ({majority:.2f})."


def _renamed_accuracy(examples: pd.DataFrame) -> float:
    """The accuracy under the best renaming of the predicted classes."""
    labelled = examples[examples["label"] >= 0]
    counts = pd.crosstab(labelled["label"], labelled["predicted"]).to_numpy()
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


def _undefined(statements: Sequence[Statement]) -> Iterator[str]:
    for each in statements:
        asked = sum(part.n + part.undefined for part in each.parts)
        if asked and each.undefined / asked > UNDEFINED:
            share = each.undefined / asked
            yield f"{each.property}: {share:.0%} of the measurements are undefined and left out."
