"""The experiments an audit runs on a batch of texts, as rows of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from heedful.attributions import (
    on_text,
    one_map,
    readout_rows,
    readout_weights,
    text_site,
    text_sites,
)
from heedful.auditing.explanation import Decisions, Named, explanation
from heedful.auditing.shown import Shown
from heedful.auditing.spec import ATTENTION, CEILING, AuditSpec
from heedful.auditing.table import Table
from heedful.errors import HeedfulError
from heedful.experiments import (
    BINS,
    ENTROPY_WITHIN,
    LEAST,
    MODES,
    Apart,
    Ceilings,
    ExclusivityParams,
    Grid,
    Importance,
    Intervention,
    Noise,
    Search,
    WordMap,
    agreement,
    all_subsets,
    ceilings,
    cumulative,
    curves_of,
    effect,
    eraser_erasure,
    eraser_plausibility,
    erasures,
    exclusivity,
    faithfulness,
    furthest_attention,
    head_statistics,
    importance,
    infidelity,
    max_sensitivity,
    measured,
    moved_by_shift,
    null_space,
    oracle,
    plausibility_of,
    reachable,
    search_gaps,
    tau_with_randomised,
    tvd_permuted,
    unsigned_measures,
)
from heedful.models import TARGETS
from heedful.perturbations import Memory
from heedful.types import Batch, Model, Trace
from heedful.words import to_words, word_mask

_EDITS = (("uniform", "main"), ("permute", "main"), ("uniform", "all"), ("permute", "all"))


def interventions(
    table: Table, model: Model, batch: Batch, trace: Trace, p: Tensor, spec: AuditSpec
) -> None:
    """The main site's weights made even, or shuffled; then those of all sites."""
    labelled = bool((batch.labels >= 0).all())
    if labelled:
        table.add({"correct": p.argmax(-1) == batch.labels})
    for edit, place in _EDITS:
        after = effect(model, batch, Intervention(edit, place, seed=spec.seed), trace)
        name = edit if place == "main" else f"{edit} everywhere"
        table.add({"tvd": after.tvd}, operator=name)
        if labelled:
            table.add({"correct": after.predicted == batch.labels}, operator=name)
    moved = tvd_permuted(model, batch, spec.permutations, spec.seed, trace)
    table.add({"tvd_permuted": moved}, ATTENTION)
    if text_site(model).normalised:
        _erased(table, model, batch, trace, spec.seed)


def _erased(table: Table, model: Model, batch: Batch, trace: Trace, seed: int) -> None:
    """One item gets no attention and the rest is renormalised."""
    items = erasures(model, batch, seed, trace)
    for name, each in zip(("js", "tvd"), items, strict=True):
        found = {"top": each.top, "random": each.random, "best": each.best}
        table.add({f"{name}_{item}": value for item, value in found.items()}, ATTENTION)


# How far explanations agree, with each other and with people.


WEIGHTS = frozenset({"attention", "rollout", "value_norm"})


def agreements(table: Table, maps: Mapping[str, Tensor], batch: Batch, spec: AuditSpec) -> None:
    """τ of every map with each importance measure; magnitudes, as attention has no sign."""
    weights = [name for name in maps if name.partition(":")[0] in WEIGHTS]
    taus = agreement(maps, word_mask(batch.texts["a"]), weights=weights)
    for name in maps:
        for other in spec.importance:
            if other in maps and other != name:
                pair = (name, other) if (name, other) in taus else (other, name)
                table.add({f"tau:{other}": taus[pair].tau}, name)
    if ATTENTION in maps and spec.importance[0] in maps:
        result = taus.get((ATTENTION, spec.importance[0]))
        if result is not None:
            table.add({"tie_rate": result.ties_x}, ATTENTION)


def plausible(
    table: Table, maps: Mapping[str, Tensor], rationale: Tensor, batch: Batch, seed: int
) -> None:
    """Every map against the words people marked."""
    mask = word_mask(batch.texts["a"])
    for name, values in plausibility_of(maps, rationale, mask, batch.ids, seed).items():
        table.add(values, name)


def plausible_by_eraser(
    table: Table,
    maps: Mapping[str, Tensor],
    marked: tuple[Tensor, float],
    batch: Batch,
    seed: int,
) -> None:
    """The same by ERASER's own definitions. `marked` are the words, and the share of a text's words
    that an average rationale has."""
    (rationale, share), mask = marked, word_mask(batch.texts["a"])
    for name, scores in maps.items():
        found = eraser_plausibility(scores, rationale, mask, batch.ids, share, seed)
        table.add(found, name)


# How far attention can move with the same output: exact where it can be, else searched.


def exclusive(table: Table, model: Model, batch: Batch, trace: Trace, spec: AuditSpec) -> Apart:
    """How far attention can move with the same output. Reported, never required. What is searched
    is a lower bound, and named so."""
    params = ExclusivityParams(spec.epsilon, spec.search_steps, seed=spec.seed)
    apart = furthest_attention(model, batch, params, trace)
    found = {"jsd_same_output": apart.jsd, "jsd_same_output_ratio": apart.ratio}
    if apart.exact:
        found["reachable"] = reachable(model, batch, trace)
    table.add(found, ATTENTION)
    near = exclusivity(model, batch, replace(params, entropy_within=ENTROPY_WITHIN), trace)
    table.add({"jsd_entropy_matched": near.jsd}, ATTENTION)
    return apart


# Measured beside the verdict: layers, heads, null spaces, and sanity checks of the maps.


def layers(table: Table, model: Model, batch: Batch, trace: Trace, seed: int) -> None:
    """Each layer by itself made even or shuffled, later ones recomputed or held; then stacks of
    layers shuffled. A model of one layer has had all of it already."""
    sites = text_sites(model)
    if len(sites) < 2:
        return
    _stacks(table, model, batch, trace, seed)
    for number, site in enumerate(sites):
        for mode in MODES:
            for edit in ("uniform", "permute"):
                done = Intervention(edit, site.name, mode, seed=seed)
                moved = effect(model, batch, done, trace).tvd
                table.add({"tvd_layer": moved}, f"{ATTENTION}:layer={number}", f"{edit} {mode}")


def _stacks(table: Table, model: Model, batch: Batch, trace: Trace, seed: int) -> None:
    """The first one, two, … layers of each group shuffled, and the last ones (vashishth2019);
    later ones recomputed. A pass for each, from the first shuffled layer on."""
    labelled = bool((batch.labels >= 0).all())
    for stack, after in cumulative(model, batch, "permute", seed=seed, trace=trace).items():
        name = f"permute {stack.name}"
        table.add({"tvd_stack": after.tvd}, operator=name)
        if labelled:
            table.add({"correct_stack": after.predicted == batch.labels}, operator=name)


def heads(table: Table, model: Model, batch: Batch) -> None:
    """Cheap statistics of every head, from its weights alone."""
    found = head_statistics(model, [batch])
    for (layer, head, statistic), part in found.groupby(["layer", "head", "statistic"]):
        values = part.set_index("example")["value"].loc[list(batch.ids)].to_numpy()
        name = f"{ATTENTION}:layer={layer},head={head}"
        table.add({f"head_{statistic}": torch.tensor(values)}, name)


def freedom(table: Table, model: Model, batch: Batch) -> None:
    """How far weights can move in the null space of a head's values, at the main site."""
    found: pd.DataFrame = null_space(model, batch)
    for head, part in found.groupby("head"):
        one = part.set_index("example").loc[list(batch.ids)]
        numbers = {
            f"null_space_{name}": torch.tensor(one[name].to_numpy(dtype="float64"))
            for name in ("freedom", "jsd", "tvd")
        }
        table.add(numbers, f"{ATTENTION}:head={head}")


def sanity(table: Table, made: Decisions, wanted: Sequence[Named], target: str) -> None:
    """τ of each map with that of the model with random weights (should be near 0), and how far
    it moves when the input's origin does (should be 0)."""
    maps: dict[str, WordMap] = {
        each.name: partial(_map, each=each, label=made.label, target=target) for each in wanted
    }
    for name, values in tau_with_randomised(made.model, made.batch, maps).items():
        table.add({"tau_randomised": values}, name)
    for name, values in moved_by_shift(made.model, made.batch, maps).items():
        table.add({"moved_by_shift": values}, name)


def infidelities(
    table: Table, made: Decisions, maps: Mapping[str, Tensor], spec: AuditSpec
) -> None:
    """How far each map's sums are from what taking random sets of words away does."""
    target = TARGETS[spec.target]
    for operator in spec.operators:
        found = infidelity(
            made.model, made.batch, made.label, maps, operator, target, seed=spec.seed
        )
        for name, values in found.items():
            table.add({"infidelity": values}, name, operator)


def unsteady(table: Table, made: Decisions, wanted: Sequence[Named], spec: AuditSpec) -> None:
    """How far each map moves under a little noise; one that changes the text itself cannot be
    asked, and is left out."""
    for each in wanted:
        one = partial(_map, each=each, target=spec.target)
        try:
            moved = max_sensitivity(made.model, made.batch, made.label, one, Noise(seed=spec.seed))
        except HeedfulError:
            continue
        table.add({"max_sensitivity": moved}, each.name)


def _map(model: Model, batch: Batch, label: Tensor, each: Named, target: str) -> Tensor:
    return explanation(Decisions(model, batch, label), each, target)


# What the output does as words go: in the order each explanation gives them, and in any order.


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
        number: readout_rows(trace.weights[site.name], readout_weights(trace, site))
        for number, site in enumerate(text_sites(model))
        if site.name in trace.readout_weights
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
