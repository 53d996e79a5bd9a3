"""What each head does, from its weights alone, and how freely they could move."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import of_texts, percent, plain, shown
from heedful.verdict.settings import Settings

SPREAD = "entropy"
STATISTICS = {
    SPREAD: "entropy of a query’s weights (nats)",
    "special": "weight on tokens of no word (start, end, separators)",
    "first": "weight on the first token",
    "self": "weight of a token on itself",
    "previous": "weight on the token before",
    "next": "weight on the token after",
    "reader_max": "largest weight of the row the prediction is read from",
}
MOST = 1024
"""Of more heads than these only the first statistic is shown."""
_HEAD = re.compile(r"attention:layer=(\d+),head=(\d+)")


def heads(evidence: AuditEvidence) -> list[dict[str, Any]]:
    """A matrix of layers and heads for each statistic; the first is the one to look at."""
    found = {words: _means(evidence, name) for name, words in STATISTICS.items()}
    first = found[STATISTICS[SPREAD]]
    known = [(words, means) for words, means in found.items() if means]
    if not first:
        return []
    return [_matrix(*each) for each in (known if len(first) <= MOST else known[:1])]


def null_space(evidence: AuditEvidence) -> str:
    """How far heads' weights could move with nothing behind them noticing; "" if not known."""
    freedom, apart, moved = (_all(evidence, name) for name in ("freedom", "jsd", "tvd"))
    if not len(freedom):
        return ""
    free = freedom > 0
    if not free.any():
        return (
            "At the last layer no head’s weights can move without changing what it puts out: "
            "the texts have no more tokens than the values have independent directions."
        )
    reached = apart.reindex(freedom.index)[free]
    return (
        f"At the last layer, in {percent(free.mean())} of all pairs of text and head, weights can "
        f"move along {shown(freedom[free].mean(), 0)} directions (mean) with what the head puts "
        f"out unchanged; linear programmes moved them there by a Jensen–Shannon divergence of "
        f"{shown(reached.mean())} (mean; {shown(math.log(2))} is the furthest possible), with the "
        f"output’s TVD never above {shown(moved.max())}: a lower bound, since only some "
        "directions were tried."
    )


def sanity(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each map beside that of the model with random weights, and under a moved origin."""
    measures = ("tau_randomised", "moved_by_shift")
    names = sorted({name for measure in measures for name, _ in evidence.named(measure)})
    lines = []
    for name in names:
        tau, moved = (evidence.values(measure, name) for measure in measures)
        numbers = {"tau": shown(tau.mean(), 2), "moved": shown(moved.mean())}
        lines.append({"name": plain(name), **numbers, "n": str(max(len(tau), len(moved)))})
    return lines


def infidelity(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each map against random sets of words, by operator, and under noise. A map is not scored
    by the operator that made it."""
    operators = sorted({operator for _, operator in evidence.named("infidelity")})
    names = sorted({name for name, _ in evidence.named("infidelity")})
    lines, made = [], Settings()
    for name in names:
        numbers = [
            f"{operator} {shown(evidence.values('infidelity', name, operator).mean(), 4)}"
            for operator in operators
            if operator != made.maker(name)
        ]
        moved = evidence.values("max_sensitivity", name)
        steady = shown(moved.mean(), 2) if len(moved) else "not asked"
        count = str(len(evidence.values("infidelity", name, operators[0])))
        lines.append({"name": plain(name), "gap": ", ".join(numbers), "moved": steady, "n": count})
    return lines


def importance(evidence: AuditEvidence) -> list[dict[str, str]]:
    """How much of the words' importance each explanation finds, by operator and not by the one that
    made it; best first. Operators differ in how much can be found at all, so explanations are
    ordered by their mean distance from the others under the same operator."""
    measure, made = "importance_captured", Settings()
    values = {
        (name, operator): evidence.values(measure, name, operator)
        for name, operator in sorted(evidence.named(measure))
        if operator != made.maker(name)
    }
    means = {key: float(each.mean()) for key, each in values.items()}
    usual = {
        operator: _mean(v for (_, o), v in means.items() if o == operator) for _, operator in means
    }
    lines = {}
    for name in {name for name, _ in means}:
        mine = {operator: mean for (each, operator), mean in means.items() if each == name}
        ahead = _mean(mean - usual[operator] for operator, mean in mine.items())
        text = ", ".join(f"{operator} {shown(mean, 2)}" for operator, mean in mine.items())
        count = max(len(values[name, operator]) for operator in mine)
        lines[name] = ahead, {"name": plain(name), "captured": text, "n": str(count)}
    return [line for _, (_, line) in sorted(lines.items(), key=lambda item: (-item[1][0], item[0]))]


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))


def _means(evidence: AuditEvidence, statistic: str) -> dict[tuple[int, int], tuple[float, int]]:
    """Mean over texts and their number, by layer and head; nothing where it has no meaning."""
    found = {}
    for name, operator in evidence.named(f"head_{statistic}"):
        match = _HEAD.fullmatch(name)
        values = evidence.values(f"head_{statistic}", name, operator)
        if match and len(values):
            found[int(match[1]), int(match[2])] = float(values.mean()), len(values)
    return found


def _matrix(words: str, means: dict[tuple[int, int], tuple[float, int]]) -> dict[str, Any]:
    """Shades go from 0 to 1, or to the largest where that is more."""
    layers, columns = (sorted({place[i] for place in means}) for i in (0, 1))
    top = max(1.0, *(mean for mean, _ in means.values()))
    texts = of_texts(max(count for _, count in means.values()))
    lines = [
        {"name": f"layer {layer}", "cells": [_cell(means, (layer, h), top) for h in columns]}
        for layer in layers
    ]
    return {"title": words, "texts": texts, "columns": columns, "lines": lines}


def _cell(
    means: dict[tuple[int, int], tuple[float, int]], place: tuple[int, int], top: float
) -> dict[str, str]:
    mean = means.get(place, (math.nan, 0))[0]
    shade = "0" if math.isnan(mean) else f"{100 * mean / top:.0f}"
    return {"text": shown(mean, 2), "shade": shade}


def _all(evidence: AuditEvidence, name: str) -> pd.Series:
    """The numbers of all heads, one after the other, by head and example."""
    parts = {
        head: evidence.values(f"null_space_{name}", head, operator)
        for head, operator in evidence.named(f"null_space_{name}")
    }
    return pd.concat(parts).astype(np.float64) if parts else pd.Series(dtype=np.float64)
