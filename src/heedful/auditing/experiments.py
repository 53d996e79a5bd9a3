"""What the output does when attention is changed and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import torch
from torch import Tensor

from heedful.auditing.explanations import Decisions, Named, explanation
from heedful.auditing.spec import ATTENTION, AuditSpec
from heedful.auditing.table import Table
from heedful.errors import HeedfulError
from heedful.experiments import (
    ENTROPY_WITHIN,
    MODES,
    Apart,
    ExclusivityParams,
    Intervention,
    Noise,
    WordMap,
    agreement,
    cumulative,
    effect,
    eraser_plausibility,
    erasures,
    exclusivity,
    furthest_attention,
    head_statistics,
    infidelity,
    max_sensitivity,
    moved_by_shift,
    null_space,
    plausibility_of,
    reachable,
    tau_with_randomised,
    tvd_permuted,
)
from heedful.models import TARGETS
from heedful.saliency import text_site, text_sites
from heedful.types import Batch, Model, Trace
from heedful.words import word_mask

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
