"""The model with other weights at one site: its own forward pass, edited.

Everything after the site is recomputed, later attention included. Weights are given by hand or by
a preset: uniform, permuted, or the furthest with the same prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.apps.live.seen import Seen, Sight, answer, spread
from heedful.errors import HeedfulError
from heedful.experiments import band, furthest_attention
from heedful.interventions import custom
from heedful.metrics import jsd
from heedful.models import class_logits, probabilities
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Edit, Keep, SiteCall

READING, ALL = "reading", "all"
EPSILON = 0.01


@dataclass(frozen=True)
class Change:
    """What is edited: a head of a site (None: all heads), at the queries the prediction is read
    from or at all of them."""

    each: Sight
    head: int | None = None
    queries: str = READING


def edited(seen: Seen, change: Change, weights: list[float]) -> dict[str, Any]:
    """The answer with the given weights, one for each unit."""
    return _answered(seen, change, _checked(change.each, weights, seen))


def edited_by(seen: Seen, change: Change, kind: str, seed: int) -> dict[str, Any]:
    """The answer with a preset, by name."""
    return _answered(seen, change, PRESETS[kind](seen, change.each, change.head, seed))


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
    """Weights, normalised where those of the site sum to 1."""
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


def has_furthest(seen: Seen, each: Sight) -> bool:
    """Whether the exact adversary exists: one logit, linear in weights that sum to 1."""
    return (
        each.site.linear and each.site.normalised and len(seen.logits) <= 2 and len(each.units) > 1
    )


def _uniform(seen: Seen, each: Sight, head: int | None, seed: int) -> Float[Tensor, " u"]:
    """Uniform; gates, which need not sum to 1, keep their total."""
    shown = each.shown(head)
    return torch.full_like(shown, float(shown.sum()) / len(shown))


def _shuffled(seen: Seen, each: Sight, head: int | None, seed: int) -> Float[Tensor, " u"]:
    """Permuted: another order for every seed, the same for the same words."""
    shown = each.shown(head)
    keys = example_keys(seed, (" ".join(each.units.labels),), "shuffled", each.site.name)
    order = keyed_uniform(keys.to(shown.device), (len(shown),))[0].argsort()
    return shown[order]


def _furthest(seen: Seen, each: Sight, head: int | None, seed: int) -> Float[Tensor, " u"]:
    """Computed from token logits, slightly inside the band; the model is then run with it."""
    if len(each.units) < 2:
        raise HeedfulError("one word has all the attention there is: write at least two words.")
    if not has_furthest(seen, each):
        raise HeedfulError(
            f"{each.site.name!r} has no exact furthest attention, which needs two classes, weights "
            f"that sum to 1 and a decoder that is linear in them: try even or shuffled ones."
        )
    z, bias = _one_logit(seen, each)
    attention = (each.rows / each.rows.sum(-1, keepdim=True))[:1]
    p = torch.sigmoid((attention * z).sum(-1) + bias)
    low, high = band(p, bias, EPSILON * (1 - 1e-3))
    mask = (each.units.of_key >= 0)[None]
    best = furthest_attention(z, mask, low, high, attention[:, None])
    return each.units.total(best.weights[0])


def _one_logit(seen: Seen, each: Sight) -> tuple[Tensor, Tensor]:
    """Token logits of the second class against the first."""
    known = seen.token_logits[each.site.name]
    values, bias = class_logits(known.values), class_logits(known.bias)
    return values[..., 1] - values[..., 0], bias[1] - bias[0]


PRESETS: dict[str, Callable[[Seen, Sight, int | None, int], Tensor]] = {
    "uniform": _uniform,
    "shuffled": _shuffled,
    "furthest": _furthest,
}
