"""Weights somebody might want to try: even, shuffled, the furthest with the same prediction."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.experiments import band, furthest
from heedful.models import class_logits
from heedful.randomness import example_keys, keyed_uniform
from heedful.web.live.seen import Seen, Sight

EPSILON = 0.01


def preset(seen: Seen, each: Sight, kind: str, head: int | None, seed: int) -> Tensor:
    """The weights of units."""
    return PRESETS[kind](seen, each, head, seed)


def has_furthest(seen: Seen, each: Sight) -> bool:
    """Whether the exact adversary exists: one logit, linear in weights that sum to 1."""
    return (
        each.site.linear and each.site.normalised and len(seen.logits) <= 2 and len(each.units) > 1
    )


def _uniform(seen: Seen, each: Sight, head: int | None, seed: int) -> Float[Tensor, " u"]:
    """Even; gates, which need not sum to 1, keep what they let through in all."""
    shown = each.shown(head)
    return torch.full_like(shown, float(shown.sum()) / len(shown))


def _shuffled(seen: Seen, each: Sight, head: int | None, seed: int) -> Float[Tensor, " u"]:
    """Another order for every seed, the same for the same words."""
    shown = each.shown(head)
    keys = example_keys(seed, (" ".join(each.units.labels),), "shuffled", each.site.name)
    order = keyed_uniform(keys.to(shown.device), (len(shown),))[0].argsort()
    return shown[order]


def _furthest(seen: Seen, each: Sight, head: int | None, seed: int) -> Float[Tensor, " u"]:
    """Found on the token logits, a hair inside of the band; `editing` runs the model with it."""
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
    best = furthest(z, mask, low, high, attention[:, None])
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
