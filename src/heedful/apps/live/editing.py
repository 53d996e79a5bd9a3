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
from heedful.types import Keep, SiteCall
from heedful.units import by_unit

READING, ALL = "reading", "all"
EPSILON = 0.01


@dataclass(frozen=True)
class Change:
    """What is edited: a head of a site (None: all heads), at the queries the prediction is read
    from or at all of them."""

    each: Sight
    head: int | None = None
    queries: str = READING

    @property
    def learned(self) -> Float[Tensor, " u"]:
        return self.each.shown(self.head)


def edited(seen: Seen, change: Change, shown: Float[Tensor, " u"]) -> dict[str, Any]:
    """The answer with these weights of units."""
    model, each = seen.subject.model, change.each

    def put(call: SiteCall) -> Tensor:
        mask = call.mask.expand_as(call.weights)
        rows = spread(shown, each.units, call.weights, mask, each.site.normalised)
        return torch.where(_where(change, call), rows.to(call.weights.dtype), call.weights)

    with torch.no_grad():
        trace = model(seen.batch, {each.site.name: custom(put)}, Keep(weights=False))
    p = probabilities(trace.logits)[0]
    sites = [site.name for site in model.sites]
    normalised = each.site.normalised
    return {
        **answer(seen, p),
        "weights": shown.tolist(),
        "jsd": float(jsd(shown[None], change.learned[None])[0]) if normalised else None,
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
        rows = change.each.reading[call.step : call.step + queries]
    return every[None, :, None, None] & rows[None, None, :, None]


def checked(each: Sight, weights: list[float]) -> Float[Tensor, " u"]:
    """Weights by hand, one for each unit; normalised where those of the site sum to 1."""
    if len(weights) != len(each.units):
        raise HeedfulError(
            f"{len(weights)} weights were given and {each.site.name!r} has {len(each.units)} "
            f"{each.units.name}: give one for each."
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


def _uniform(seen: Seen, change: Change, seed: int) -> Float[Tensor, " u"]:
    """Uniform; gates, which need not sum to 1, keep their total."""
    shown = change.learned
    return torch.full_like(shown, float(shown.sum()) / len(shown))


def _shuffled(seen: Seen, change: Change, seed: int) -> Float[Tensor, " u"]:
    """Permuted: another order for every seed, the same for the same words."""
    each, shown = change.each, change.learned
    keys = example_keys(seed, (" ".join(each.units.labels),), "shuffled", each.site.name)
    order = keyed_uniform(keys.to(shown.device), (len(shown),))[0].argsort()
    return shown[order]


def _furthest(seen: Seen, change: Change, seed: int) -> Float[Tensor, " u"]:
    """Computed from token logits, slightly inside the band; the model is then run with it."""
    each = change.each
    if len(each.units) < 2:
        alone = "one word has all the attention there is: write at least two words."
        raise HeedfulError(by_unit(alone, seen.subject.unit))
    if not has_furthest(seen, each):
        raise HeedfulError(
            f"{each.site.name!r} has no exact furthest attention, which needs two classes, weights "
            f"that sum to 1 and a decoder that is linear in them: try even or shuffled ones."
        )
    known = seen.token_logits[each.site.name]
    values, biases = class_logits(known.values), class_logits(known.bias)
    z, bias = values[..., 1] - values[..., 0], biases[1] - biases[0]
    attention = (each.rows / each.rows.sum(-1, keepdim=True))[:1]
    p = torch.sigmoid((attention * z).sum(-1) + bias)
    low, high = band(p, bias, EPSILON * (1 - 1e-3))
    mask = (each.units.of_key >= 0)[None]
    best = furthest_attention(z, mask, low, high, attention[:, None])
    return each.units.total(best.weights[0])


PRESETS: dict[str, Callable[[Seen, Change, int], Tensor]] = {
    "uniform": _uniform,
    "shuffled": _shuffled,
    "furthest": _furthest,
}
