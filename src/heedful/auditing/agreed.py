"""How far explanations agree, with each other and with people."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from heedful.auditing.spec import ATTENTION, AuditSpec
from heedful.auditing.table import Table
from heedful.measures import agreement, eraser_plausibility, plausibility_of
from heedful.types import Batch
from heedful.words import word_mask

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
