"""What each head does, from its weights alone, and how freely they could move."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd

from heedful.metrics import F1_OF_MEANS, f1_of_means
from heedful.report.audit_evidence import AuditEvidence
from heedful.report.audit_numbers import DASH, of_texts, percent, plain, shown

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
_ERASER = ("eraser_comprehensiveness", "eraser_sufficiency", "eraser_auprc", "eraser_token_f1")
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
    by an operator that made it."""
    operators = sorted({operator for _, operator in evidence.named("infidelity")})
    names = sorted({name for name, _ in evidence.named("infidelity")})
    lines = []
    for name in names:
        numbers = [
            f"{operator} {shown(evidence.values('infidelity', name, operator).mean(), 4)}"
            for operator in operators
            if operator not in evidence.settings.made_with(name)
        ]
        moved = evidence.values("max_sensitivity", name)
        steady = shown(moved.mean(), 2) if len(moved) else "not asked"
        count = str(len(evidence.values("infidelity", name, operators[0])))
        lines.append({"name": plain(name), "gap": ", ".join(numbers), "moved": steady, "n": count})
    return lines


def eraser(evidence: AuditEvidence) -> list[dict[str, str]]:
    """Each explanation by ERASER's own definitions: by operator and not by one that made it, and
    against people's rationales where there are some."""
    names = sorted({name for measure in _ERASER for name, _ in evidence.named(measure)})
    lines = []
    for name in names:
        line, count = {"name": plain(name)}, 0
        for measure in _ERASER:
            own = evidence.settings.made_with(name)
            ways = sorted({o for n, o in evidence.named(measure) if n == name and o not in own})
            values = {way: evidence.values(measure, name, way) for way in ways}
            texts = [f"{way} {shown(each.mean(), 2)}".strip() for way, each in values.items()]
            line[measure] = ", ".join(texts) or DASH
            count = max([count, *(len(each) for each in values.values())])
        for measure, parts in F1_OF_MEANS.items():
            both = pd.concat([evidence.values(part, name) for part in parts], axis=1).to_numpy(
                float
            )
            line[measure] = shown(f1_of_means(both[:, 0], both[:, 1]), 2)
        lines.append({**line, "n": str(count)})
    return lines


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
