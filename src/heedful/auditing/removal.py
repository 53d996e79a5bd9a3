"""What the output does as words go: in the order each explanation gives them, and in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pandas as pd
from torch import Tensor

from heedful.auditing.explanations import Decisions
from heedful.auditing.shown import Shown
from heedful.auditing.spec import ATTENTION, CEILING, AuditSpec
from heedful.auditing.table import Table
from heedful.experiments import (
    BINS,
    LEAST,
    Ceilings,
    Grid,
    Importance,
    Search,
    all_subsets,
    ceilings,
    curves_of,
    eraser_erasure,
    faithfulness,
    importance,
    measured,
    oracle,
    search_gaps,
    unsigned_measures,
)
from heedful.models import TARGETS
from heedful.removal import Memory
from heedful.saliency import on_text, one_map, read, reader, text_sites
from heedful.types import Batch, Model, Trace
from heedful.words import to_words, word_mask

GRID = Grid(points=5, single=16)
GUIDE = "shapley"
GAP, SAME = "search_gap:", 1e-6
MOST_SITES = 512
"""Layers and heads of attention whose maps are scored too."""


@dataclass(frozen=True)
class Erasing:
    """The model is asked about each set of words once under each operator, whoever asks. It may
    be another model than the one on trial: `role` names it in the table. `sites` are maps of
    single layers and heads, of which the importance they capture is measured and no more."""

    table: Table
    spec: AuditSpec
    role: str = "base"
    shown: Shown | None = None
    sites: Mapping[str, Tensor] = field(default_factory=dict)

    def __call__(self, made: Decisions, maps: Mapping[str, Tensor]) -> None:
        for operator in self.spec.operators:
            memory, guide = Memory(), None
            if "importance" in self.spec.only:
                guide = self._importance(made, maps, operator, memory).drawn
            if "erasure" in self.spec.only:
                self._erasure(made, maps, operator, memory, guide)
            if "eraser" in self.spec.only and self.role == "base":
                self._eraser(made, maps, operator, memory)
            if "candidates" in self.spec.only and self.role == "base":
                self._candidates(made, maps, operator, memory)

    def _importance(
        self, made: Decisions, maps: Mapping[str, Tensor], operator: str, memory: Memory
    ) -> Importance:
        """How many of the words that matter, for or against the decision, each map finds."""
        target, draws = TARGETS[self.spec.target], self.spec.draws
        found = importance(made.model, made.batch, made.label, operator, target, draws, memory)
        least = LEAST[self.spec.target]
        for name, values in measured(maps, found, least).items():
            self.table.add(values, name, operator, self.role)
        self.table.add(oracle(found, least), CEILING, operator, self.role)
        for name, values in measured(self.sites, found, least).items():
            own = {"importance_captured": values["importance_captured"]}
            self.table.add(own, name, operator, self.role)
        return found

    def _erasure(
        self,
        made: Decisions,
        maps: Mapping[str, Tensor],
        operator: str,
        memory: Memory,
        guide: Tensor | None,
    ) -> None:
        """Every measure of every map, and the ceiling: exact for short texts, found by search for
        longer ones. With a `guide` the search starts where Shapley values point."""
        target, one = TARGETS[self.spec.target], (made.model, made.batch, made.label)
        starts = dict(maps) if guide is None else {**maps, GUIDE: guide}
        budget = self.spec.ceiling
        if budget:
            all_subsets(*one[:2], (target, made.label), operator, self.spec.exact, memory)
        curves = curves_of(*one, starts if budget else maps, operator, target, GRID, memory)
        found = {name: each for name, each in curves.items() if name != GUIDE}
        for name, each in found.items():
            self.table.add(faithfulness(each), name, operator, self.role)
        if self.shown is not None and _recorded(operator, self.spec):
            self.shown.curves(found, operator)
        if budget:
            search = Search(2, budget, "" if guide is None else GUIDE, self.spec.exact)
            best = ceilings(*one, starts, operator, target, GRID, search, curves, memory)
            self.table.add(best.values, CEILING, operator, self.role)
            if self.role == "base" and best.exact.any():
                self._gaps(made, starts, operator, memory, (best, replace(search, exact=0)))

    def _eraser(
        self, made: Decisions, maps: Mapping[str, Tensor], operator: str, memory: Memory
    ) -> None:
        """By ERASER's own bins, and always the probability. What is known is not asked again."""
        known = memory if self.spec.target == "probability" else Memory()
        one = (made.model, made.batch, made.label)
        found = curves_of(*one, maps, operator, TARGETS["probability"], BINS, known)
        for name, each in found.items():
            self.table.add(eraser_erasure(each), name, operator)

    def _candidates(
        self, made: Decisions, maps: Mapping[str, Tensor], operator: str, memory: Memory
    ) -> None:
        """By what else could say how many of the words that matter a map finds."""
        target, least = TARGETS[self.spec.target], LEAST[self.spec.target]
        one = (made.model, made.batch, made.label, maps, operator)
        found = unsigned_measures(*one, target, self.spec.draws, memory, least)
        for name, values in found.items():
            self.table.add(values, name, operator)

    def _gaps(
        self,
        made: Decisions,
        starts: Mapping[str, Tensor],
        operator: str,
        memory: Memory,
        best: tuple[Ceilings, Search],
    ) -> None:
        """How near the search comes to the optimum, on the texts where that is known. It asks the
        model nothing: all sets of their words are known."""
        exact, search = best
        rows = exact.exact.nonzero()[:, 0]
        some, target = made.batch.take(rows), TARGETS[self.spec.target]
        width = word_mask(some.texts["a"]).shape[1]
        assert memory.subsets is not None
        known = Memory(memory.subsets.take(rows, width))
        given = {name: scores[rows, :width] for name, scores in starts.items()}
        one = (made.model, some, made.label[rows])
        found = ceilings(*one, given, operator, target, GRID, search, None, known)
        part = Table(self.table.facts.take(rows.tolist()))
        gaps = search_gaps(exact.take(rows), found)
        part.add({f"{GAP}{name}": gap for name, gap in gaps.items()}, CEILING, operator)
        self.table.extend(part)


def search_facts(rows: pd.DataFrame, exact: int) -> dict[str, Any]:
    """How often the search for the best order reaches the optimum, and by how much it misses it, on
    the texts of at most `exact` words; nothing where there are none."""
    found = rows[rows["measure"].str.startswith(GAP) & (rows["model"] == "base")].dropna()
    if found.empty:
        return {}
    by_measure = found.groupby(found["measure"].str.removeprefix(GAP))["value"]
    return {
        "exact_words": exact,
        "examples": int(found["example"].nunique()),
        "equal": float((found["value"] <= SAME).mean()),
        "equal_by_measure": {str(name): float((part <= SAME).mean()) for name, part in by_measure},
        "gap_by_measure": {str(name): float(part.mean()) for name, part in by_measure},
    }


def site_maps(model: Model, batch: Batch, trace: Trace) -> tuple[dict[str, Tensor], int]:
    """The attention of every other layer (mean over heads) and of every head, by word, as the
    explanation `attention` would give it: all from one pass. And how many there are, of which
    these are the first `MOST_SITES`."""
    rows = {
        number: read(trace.weights[site.name], reader(trace, site))
        for number, site in enumerate(text_sites(model))
        if site.name in trace.readers
    }
    last = len(text_sites(model)) - 1
    layers = ((number, None) for number in rows if number != last)
    heads = (
        (number, head)
        for number, each in rows.items()
        if each.shape[1] > 1
        for head in range(each.shape[1])
    )
    every = list(chain(layers, heads))
    found = {
        f"{ATTENTION}:layer={number}" + ("" if head is None else f",head={head}"): to_words(
            on_text(one_map(rows[number], head), batch), batch.texts["a"]
        )
        for number, head in every[:MOST_SITES]
    }
    return found, len(every)


def _recorded(operator: str, spec: AuditSpec) -> bool:
    """One way of taking words away is enough to look at, if it is a probability that falls."""
    return operator == spec.operators[0] and spec.target == "probability"
