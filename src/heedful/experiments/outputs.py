"""Outputs under other attention weights: the one way experiments try weights on a model.

After a linear site the logits are weights · token logits + bias, so many weights cost one
product. After any other site the model is resumed once per draw. Weights are given row by row (a
row of attention for each example, head and query the prediction is read from), and outputs
come back by row or, where several rows make one output, by example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import one_map, readout_rows, readout_weights
from heedful.experiments.evidence import Pass, base_trace
from heedful.interventions import custom
from heedful.models import probabilities
from heedful.types import AttentionRows, Batch, Model, SiteSpec, Trace
from heedful.words import word_mask, word_numbers


def passed(model: Model, batch: Batch, trace: Trace | None = None) -> Pass:
    """The batch through the model, unless its trace is known."""
    return Pass(model, batch, trace or base_trace(model, batch))


def outputs(
    each: Pass,
    site: SiteSpec,
    view: AttentionRows,
    weights: Float[Tensor, "n m k"] | Iterable[Float[Tensor, "n k"]],
) -> Float[Tensor, "n m c"]:
    """Class probabilities when each row of attention is replaced by each of its m draws."""
    draws = weights.unbind(1) if isinstance(weights, Tensor) else weights
    if site.linear:
        whole = weights if isinstance(weights, Tensor) else torch.stack(list(draws), 1)
        return probabilities(linear_logits(each, site, view, whole))
    return torch.stack([rerun(each, site, view, draw) for draw in draws], 1)


def outputs_by_example(
    each: Pass, site: SiteSpec, view: AttentionRows, draws: Iterable[Float[Tensor, "n k"]]
) -> Float[Tensor, "b m c"]:
    """The same by example. A text with nothing to attend keeps its output."""
    with torch.no_grad():
        if not site.linear:
            tries = (resumed(each, site, placed(each, site, view, draw)) for draw in draws)
            return torch.stack([probabilities(after.logits) for after in tries], 1)
        found = outputs(each, site, view, draws)
        whole = each.probabilities[:, None].repeat(1, found.shape[1], 1)
        return whole.index_copy(0, view.example, found)


def original(each: Pass, site: SiteSpec, view: AttentionRows) -> Float[Tensor, "b c"]:
    """The output untouched, by the same arithmetic as the others: what is not moved must be
    at distance 0."""
    if site.linear:
        return outputs_by_example(each, site, view, [view.weights.double()])[:, 0]
    return each.probabilities


def repeatedly(
    each: Pass, site: SiteSpec, view: AttentionRows
) -> Callable[[Float[Tensor, "n m k"]], Float[Tensor, "n m c"]]:
    """`outputs`, to be asked hundreds of times: token logits are looked up once."""
    if not site.linear:
        return partial(outputs, each, site, view)
    values, bias = _linear(each, site, view, torch.float64)
    return lambda weights: probabilities(weights @ values + bias)


def reduced(
    each: Pass,
    site: SiteSpec,
    view: AttentionRows,
    weights: Float[Tensor, "n m k"],
    reduce: Callable[[Tensor], Tensor],
) -> Float[Tensor, "n m *r"]:
    """What `reduce` makes of the outputs. Where the model is resumed, it is called draw by
    draw: with a vocabulary for classes, the outputs of all draws would fill the memory."""
    if site.linear:
        return reduce(outputs(each, site, view, weights))
    draws = (rerun(each, site, view, draw)[:, None] for draw in weights.unbind(1))
    return torch.cat([reduce(p) for p in draws], 1)


def less(weights: Float[Tensor, "n k"], gone: Bool[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """Each row without some of its keys, renormalised; a row that loses everything stays zero."""
    return renormalised(weights.masked_fill(gone, 0.0))


def renormalised(weights: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """To a sum of 1; a row of nothing stays so, and leaves a zero context."""
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)


def linear_logits(
    each: Pass, site: SiteSpec, view: AttentionRows, weights: Float[Tensor, "n m k"]
) -> Float[Tensor, "n m c"]:
    values, bias = _linear(each, site, view, weights.dtype)
    return weights @ values + bias


def rerun(
    each: Pass, site: SiteSpec, view: AttentionRows, weights: Float[Tensor, "n k"]
) -> Float[Tensor, "n c"]:
    """Class probabilities from the model itself, resumed with these weights in place. All
    rows of an example (its heads) change together; what is not in the view stays."""
    logits = resumed(each, site, placed(each, site, view, weights)).logits
    return probabilities(logits)[view.example]


def placed(
    each: Pass, site: SiteSpec, view: AttentionRows, weights: Float[Tensor, "n k"]
) -> Float[Tensor, "b h q k"]:
    """The site's weights with these rows in them."""
    full = each.trace.weights[site.name]
    return full.index_put((view.example, view.head, view.query), weights.to(full.dtype))


def resumed(each: Pass, site: SiteSpec, weights: Float[Tensor, "b h q k"]) -> Trace:
    """What the model leaves with these weights at the site; gradients flow to the weights. Where
    a query counts for the prediction by attention further on, it counts as that attention is
    now."""
    put = weights.to(each.trace.weights[site.name].dtype)
    edits = {site.name: custom(lambda call: call.queries(put))}
    after = each.model.resume(each.batch, each.trace, edits)
    return replace(after, readout_weights={**each.trace.readout_weights, **after.readout_weights})


def _linear(
    each: Pass, site: SiteSpec, view: AttentionRows, dtype: torch.dtype
) -> tuple[Float[Tensor, "n k c"], Float[Tensor, " c"]]:
    """The token logits of each row, and the bias."""
    token_logits = each.trace.token_logits[site.name]
    return token_logits.values[view.example].to(dtype), token_logits.bias.to(dtype)


def one_logit(each: Pass, site: SiteSpec) -> tuple[Float[Tensor, "b k"], Float[Tensor, ""]]:
    """Token logits of the one logit after a linear site, or of the difference of two."""
    known = each.trace.token_logits[site.name]
    values, bias = known.values.double(), known.bias.double()
    if values.shape[-1] == 1:
        return values[..., 0], bias[0]
    return values[..., 1] - values[..., 0], bias[1] - bias[0]


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
