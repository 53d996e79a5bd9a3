"""Measured beside the verdict: layers, heads, null spaces, and sanity checks of the maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor

from heedful.auditing.decisions import Decisions
from heedful.auditing.explained import explanation
from heedful.auditing.named import Named
from heedful.auditing.spec import ATTENTION, AuditSpec
from heedful.auditing.table import Table
from heedful.errors import HeedfulError
from heedful.measures import (
    MODES,
    Intervention,
    Noise,
    WordMap,
    cumulative,
    effect,
    head_statistics,
    infidelity,
    max_sensitivity,
    moved_by_shift,
    null_space,
    tau_with_randomised,
)
from heedful.models import TARGETS
from heedful.saliency import text_sites
from heedful.types import Batch, Model, Trace


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
