"""The model with other weights at one site: its own forward pass, edited.

Whatever comes after the site is computed anew, later attention included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.edits import custom
from heedful.errors import HeedfulError
from heedful.metrics import jsd
from heedful.models import probabilities
from heedful.types import Edit, Keep, SiteCall
from heedful.web.live.answers import answer
from heedful.web.live.presets import preset
from heedful.web.live.seen import Seen, Sight
from heedful.web.live.units import spread

READING, ALL = "reading", "all"


@dataclass(frozen=True)
class Change:
    """Where: a head (None: all of them) of a site, at the queries the prediction is read from
    or at all of them."""

    each: Sight
    head: int | None = None
    queries: str = READING


def edited(seen: Seen, change: Change, weights: list[float]) -> dict[str, Any]:
    """Given weights of the units, one each."""
    return _answered(seen, change, _checked(change.each, weights, seen))


def edited_by(seen: Seen, change: Change, kind: str, seed: int) -> dict[str, Any]:
    """A preset, by name."""
    return _answered(seen, change, preset(seen, change.each, kind, change.head, seed))


def edit_of(change: Change, shown: Float[Tensor, " u"]) -> Edit:
    each = change.each

    def put(call: SiteCall) -> Tensor:
        mask = call.mask.expand_as(call.weights)
        rows = spread(shown, each.units, call.weights, mask, each.site.normalised)
        return torch.where(_where(change, call), rows.to(call.weights.dtype), call.weights)

    return custom(put)


def _answered(seen: Seen, change: Change, shown: Tensor) -> dict[str, Any]:
    model, each = seen.subject.model, change.each
    edits = {each.site.name: edit_of(change, shown)}
    with torch.no_grad():
        p = probabilities(model(seen.batch, edits, Keep(weights=False)).logits)[0]
    learned, sites = each.shown(change.head), [site.name for site in model.sites]
    return {
        **answer(seen.subject.label_names, p, seen.p),
        "weights": shown.tolist(),
        "jsd": float(jsd(shown[None], learned[None])[0]) if each.site.normalised else None,
        "recomputed": sites[sites.index(each.site.name) + 1 :],
    }


def _where(change: Change, call: SiteCall) -> Tensor:
    """The rows that are replaced, [1 h q 1]."""
    _, heads, queries, _ = call.weights.shape
    every = torch.ones(heads, dtype=torch.bool, device=call.weights.device)
    if change.head is not None:
        every = torch.arange(heads, device=every.device) == change.head
    rows = torch.ones(queries, dtype=torch.bool, device=every.device)
    if change.queries == READING:
        rows = change.each.reading
    return every[None, :, None, None] & rows[None, None, :, None]


def _checked(each: Sight, weights: list[float], seen: Seen) -> Tensor:
    """Weights that are to sum to 1 are brought there."""
    if len(weights) != len(each.units):
        raise HeedfulError(
            f"{len(weights)} weights were given and {each.site.name!r} has {len(each.units)} "
            f"{each.units.kind}: give one for each."
        )
    given = torch.tensor(weights, dtype=torch.float64, device=each.rows.device)
    if bool((given < 0).any()) or not bool(given.isfinite().all()):
        raise HeedfulError("a weight is below 0 or no number: give numbers of 0 or more.")
    if not each.site.normalised:
        return given.clamp(max=1.0)
    if not float(given.sum()) > 0:
        raise HeedfulError("all weights are 0: give at least one of them more.")
    return given / given.sum()
