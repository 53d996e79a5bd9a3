"""Outputs under other attention weights: the one way experiments try weights on a model.

After a linear site the logits are weights · token logits + bias, so many weights cost one
product. After any other site the model is resumed once per draw. Weights are given row by row (a
row of attention for each example, head and query the prediction is read from), and outputs
come back by row or, where several rows make one output, by example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions import one_map, readout_rows, readout_weights, text_site
from heedful.errors import unknown_name
from heedful.experiments.evidence import ForwardBatch, SiteRows
from heedful.hashing import stable_hash
from heedful.interventions import SEEDED, build_edit, custom, held, renormalised
from heedful.metrics import tvd
from heedful.models import probabilities
from heedful.types import Batch, Edit, Edits, EditSpec, Model, SiteSpec, Trace
from heedful.words import word_mask, word_numbers


def outputs(
    view: SiteRows, weights: Float[Tensor, "n m k"] | Iterable[Float[Tensor, "n k"]]
) -> Float[Tensor, "n m c"]:
    """Class probabilities when each row of attention is replaced by each of its m draws."""
    draws = weights.unbind(1) if isinstance(weights, Tensor) else weights
    if view.site.linear:
        whole = weights if isinstance(weights, Tensor) else torch.stack(list(draws), 1)
        return probabilities(linear_logits(view, whole))
    return torch.stack([rerun(view, draw) for draw in draws], 1)


def outputs_by_example(
    view: SiteRows, draws: Iterable[Float[Tensor, "n k"]]
) -> Float[Tensor, "b m c"]:
    """The same by example. A text with nothing to attend keeps its output."""
    with torch.no_grad():
        if not view.site.linear:
            tries = (resumed(view.forward, view.site, placed(view, draw)) for draw in draws)
            return torch.stack([probabilities(after.logits) for after in tries], 1)
        found = outputs(view, draws)
        whole = view.forward.probabilities[:, None].repeat(1, found.shape[1], 1)
        return whole.index_copy(0, view.example, found)


def original(view: SiteRows) -> Float[Tensor, "b c"]:
    """The output untouched, by the same arithmetic as the others: what is not moved must be
    at distance 0."""
    if view.site.linear:
        return outputs_by_example(view, [view.weights.double()])[:, 0]
    return view.forward.probabilities


def repeatedly(view: SiteRows) -> Callable[[Float[Tensor, "n m k"]], Float[Tensor, "n m c"]]:
    """`outputs`, to be asked hundreds of times: token logits are looked up once."""
    if not view.site.linear:
        return partial(outputs, view)
    values, bias = token_logits_of(view)
    return lambda weights: probabilities(weights @ values + bias)


def reduced(
    view: SiteRows, weights: Float[Tensor, "n m k"], reduce: Callable[[Tensor], Tensor]
) -> Float[Tensor, "n m *r"]:
    """What `reduce` makes of the outputs. Where the model is resumed, it is called draw by
    draw: with a vocabulary for classes, the outputs of all draws would fill the memory."""
    if view.site.linear:
        return reduce(outputs(view, weights))
    draws = (rerun(view, draw)[:, None] for draw in weights.unbind(1))
    return torch.cat([reduce(p) for p in draws], 1)


def less(weights: Float[Tensor, "n k"], gone: Bool[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Each row without some of its keys, renormalised; a row that loses everything stays zero."""
    return renormalised(weights.masked_fill(gone, 0.0))


def linear_logits(view: SiteRows, weights: Float[Tensor, "n m k"]) -> Float[Tensor, "n m c"]:
    """Logits under these weights, after a linear site."""
    values, bias = token_logits_of(view, weights.dtype)
    return weights @ values + bias


def rerun(view: SiteRows, weights: Float[Tensor, "n k"]) -> Float[Tensor, "n c"]:
    """Class probabilities from the model itself, resumed with these weights in place. All
    rows of an example (its heads) change together; what is not in the view stays."""
    logits = resumed(view.forward, view.site, placed(view, weights)).logits
    return probabilities(logits)[view.example]


def placed(view: SiteRows, weights: Float[Tensor, "n k"]) -> Float[Tensor, "b h q k"]:
    """The site's weights with these rows in them."""
    full = view.forward.trace.weights[view.site.name]
    return full.index_put((view.example, view.head, view.query), weights.to(full.dtype))


def resumed(forward: ForwardBatch, site: SiteSpec, weights: Float[Tensor, "b h q k"]) -> Trace:
    """What the model leaves with these weights at the site; gradients flow to the weights. Where
    a query counts for the prediction by attention further on, it counts as that attention is
    now."""
    put = weights.to(forward.trace.weights[site.name].dtype)
    edits = {site.name: custom(lambda call: call.queries(put))}
    after = forward.model.resume(forward.batch, forward.trace, edits)
    return replace(
        after, readout_weights={**forward.trace.readout_weights, **after.readout_weights}
    )


def token_logits_of(
    view: SiteRows, dtype: torch.dtype = torch.float64
) -> tuple[Float[Tensor, "n k c"], Float[Tensor, " c"]]:
    """The token logits of each row after a linear site, and the bias."""
    token_logits = view.forward.trace.token_logits[view.site.name]
    return token_logits.values[view.example].to(dtype), token_logits.bias.to(dtype)


def one_logit(
    forward: ForwardBatch, site: SiteSpec
) -> tuple[Float[Tensor, "b k"], Float[Tensor, ""]]:
    """Token logits of the one logit after a linear site, or of the difference of two."""
    known = forward.trace.token_logits[site.name]
    values, bias = known.values.double(), known.bias.double()
    if values.shape[-1] == 1:
        return values[..., 0], bias[0]
    return values[..., 1] - values[..., 0], bias[1] - bias[0]


def rows_at_once(view: SiteRows, most: int, numbers: int) -> Iterator[SiteRows]:
    """The view in parts, so that no part takes more than `most` where a row takes so many
    `numbers`."""
    every = torch.arange(len(view.example), device=view.example.device)
    for rows in torch.split(every, max(1, most // numbers)):
        yield view.take(rows)


def read_map(trace: Trace, site: SiteSpec) -> Float[Tensor, "b k"]:
    """The map a reader sees: mean over heads of the reading rows, float64."""
    return one_map(readout_rows(trace.weights[site.name], readout_weights(trace, site)))


def read_mask(trace: Trace, site: SiteSpec) -> Bool[Tensor, "b k"]:
    """The keys that some reading query may attend."""
    return (trace.masks[site.name] & reading(trace, site)).any(2).any(1)


def reading(trace: Trace, site: SiteSpec) -> Bool[Tensor, "b 1 q 1"]:
    """The queries the prediction is read from."""
    return (readout_weights(trace, site) > 0)[:, None, :, None]


def words_of(batch: Batch) -> tuple[Bool[Tensor, "b w"], Bool[Tensor, "b w t"]]:
    """Which words there are, and the tokens of each."""
    text = batch.texts["a"]
    there = word_mask(text)
    numbers = torch.arange(there.shape[1], device=there.device)
    return there, word_numbers(text)[:, None] == numbers[:, None]


def remaining(x: Float[Tensor, "n k *c"]) -> Float[Tensor, "n k *c"]:
    """Σ_{j ≥ i} x_j: what is left after the first i have gone, by addition alone. Total minus what
    has gone would be a small difference of large numbers near the end."""
    return x.flip(1).cumsum(1).flip(1)


def others(x: Float[Tensor, "n k *c"]) -> Float[Tensor, "n k *c"]:
    """Σ_{j ≠ i} x_j: what is left when only the i-th has gone, by addition alone."""
    nothing = torch.zeros_like(x[:, :1])
    before = torch.cat([nothing, x.cumsum(1)[:, :-1]], 1)
    after = torch.cat([remaining(x)[:, 1:], nothing], 1)
    return before + after


# What changing attention does to the output.
#
# Changing one layer's weights changes the input of every later one. So there are two modes:
# later sites are `recomputed`, or `held` at their original weights. Neither is surgical
# (Grimsley et al. 2020): what later layers mix has changed in both.


EDITS = ("uniform", "permute")

MODES = ("recomputed", "held")


@dataclass(frozen=True)
class Intervention:
    """An edit at a `place` (`main`, `all`, the name of a site, or those of several); `draw`
    numbers the permutations."""

    edit: str
    place: str | tuple[str, ...] = "main"
    mode: str = "recomputed"
    draw: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Effect:
    """How far each output moved, and the class predicted then."""

    tvd: Float[Tensor, " b"]
    predicted: Int[Tensor, " b"]


def effect(forward: ForwardBatch, intervention: Intervention) -> Effect:
    """What an intervention does to each output."""
    return effect_of(forward, edits_of(forward, intervention))


def effect_of(forward: ForwardBatch, edits: Edits) -> Effect:
    """The same of edits by site."""
    with torch.no_grad():
        changed = forward.model.resume(forward.batch, forward.trace, edits).logits
    after = probabilities(changed)
    return Effect(tvd(after, forward.probabilities), after.argmax(-1))


def edits_of(forward: ForwardBatch, intervention: Intervention) -> Edits:
    """The edits that make an intervention."""
    if intervention.mode not in MODES:
        raise unknown_name("mode", intervention.mode, list(MODES))
    edits = edits_at(forward.model, intervention)
    return edits if intervention.mode == "recomputed" else held(forward.model, forward.trace, edits)


def edits_at(model: Model, intervention: Intervention) -> Edits:
    """Those at the place itself, whatever becomes of later sites."""
    if intervention.edit not in EDITS:
        raise unknown_name("edit", intervention.edit, list(EDITS))
    draw = stable_hash(intervention.seed, "intervention", intervention.draw)
    names = _chosen(model, [site.name for site in model.sites], intervention.place)
    return dict.fromkeys(names, edit_named(intervention.edit, draw))


def _chosen(model: Model, names: list[str], place: str | tuple[str, ...]) -> list[str]:
    if isinstance(place, tuple):
        return [name for one in place for name in _chosen(model, names, one)]
    if place == "main":
        return [text_site(model).name]
    if place == "all":
        return names
    if place not in names:
        raise unknown_name("place", place, ["main", "all", *names])
    return [place]


def edit_named(name: str, seed: int) -> Edit:
    """The edit, by the seed if it draws anything."""
    return build_edit(EditSpec(name, (("seed", seed),) if name in SEEDED else ()))
