"""What the output does when attention is changed and nothing else."""

from __future__ import annotations

from torch import Tensor

from heedful.auditing.spec import ATTENTION, AuditSpec
from heedful.auditing.table import Table
from heedful.measures import Intervention, effect, erasures, tvd_permuted
from heedful.saliency import text_site
from heedful.types import Batch, Model, Trace

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
