"""Which heads carry the decision: what each does to the output, by taking it away.

What a head puts out is set to zero, to its mean over texts, or made of the same weights in another
order. Later layers then compute with what they are given: the whole effect of a head. Its direct
effect goes around all later attention: what later heads put out is held as it was, and only the
residual stream, norms and feed-forward layers carry the change (path patching: Wang et al. 2023;
Goldowsky-Dill et al. 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import self_sites, text_sites
from heedful.errors import HeedfulError
from heedful.experiments.evidence import ForwardBatch, base_trace
from heedful.experiments.heads import Head
from heedful.hashing import stable_hash
from heedful.interventions import custom, permute, put_out
from heedful.metrics import tvd
from heedful.models import probabilities
from heedful.types import Batch, Edit, Edits, Model, OutputEdit, SiteCall, SiteSpec, Trace

ABLATIONS = {
    "zero": "its output is zero",
    "mean": "its output is its mean over texts",
    "permute": "its weights are in another order",
    "direct": "its output is its mean, and what later heads put out is held",
}


@dataclass(frozen=True)
class HeadMeans:
    """What the heads of each site put out on average, `[2, h, d]`: at the queries that the
    prediction is read from, and at the others. Empty where a model does not show it. `heads` are
    counted by site of the text."""

    heads: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[str, Float[Tensor, "2 h d"]] = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Whether outputs can be looked at and replaced."""
        return bool(self.outputs)


@dataclass(frozen=True)
class HeadEffect:
    """How far each output moved, and how far the probability of the decision fell (below 0 where it
    rose)."""

    tvd: Float[Tensor, " b"]
    drop: Float[Tensor, " b"]


def head_means(model: Model, batches: Iterable[Batch]) -> HeadMeans:
    """Over these texts, each of which counts once."""
    heads: dict[str, int] = {}
    sums: dict[str, Tensor] = {}
    counts: dict[str, Tensor] = {}
    for batch in batches:
        trace = base_trace(model, batch, values=True)
        heads = {site.name: trace.weights[site.name].shape[1] for site in text_sites(model)}
        if not _shows_outputs(model, batch, trace):
            return HeadMeans(heads)
        for site in text_sites(model):
            outputs, shares = head_outputs(trace, site), _shares(model, batch, trace, site)
            mixed = torch.einsum("kbq,bhqd->khd", shares, outputs.double())
            texts = shares.sum((1, 2))
            sums[site.name] = sums.get(site.name, 0) + mixed
            counts[site.name] = counts.get(site.name, 0) + texts
    return HeadMeans(heads, {name: _mean(sums[name], counts[name]) for name in sums})


def head_outputs(trace: Trace, site: SiteSpec) -> Float[Tensor, "b h q d"]:
    """What each head of a site has mixed for each query."""
    values = trace.values[site.name]
    return trace.weights[site.name].to(values.dtype) @ values


def head_effects(
    forward: ForwardBatch, means: HeadMeans, most: int, seed: int = 0
) -> Iterator[tuple[Head, str, HeadEffect]]:
    """By head and ablation, of the first `most` heads. Where the model does not show what its heads
    put out, those that need no more than weights."""
    model, batch = forward.model, forward.batch
    whole = ForwardBatch(model, batch, base_trace(model, batch, values=means.shown))
    own = {site.name: head_outputs(whole.trace, site) for site in model.sites if means.shown}
    sites = enumerate(text_sites(model))
    places = [(n, site, head) for n, site in sites for head in range(means.heads[site.name])]
    for layer, site, head in places[:most]:
        for name, edits in _ablations(whole, site, head, means, seed, own).items():
            yield (layer, head), name, _effect(whole, edits)


def _ablations(
    forward: ForwardBatch,
    site: SiteSpec,
    head: int,
    means: HeadMeans,
    seed: int,
    own: Mapping[str, Tensor],
) -> dict[str, Edits]:
    found: dict[str, Edits] = {
        "zero": {site.name: custom(_silent(head))},
        "permute": {site.name: custom(_permuted(head, seed))},
    }
    if means.shown:
        mean = put_out(_at_mean(forward, site, means.outputs[site.name]), [head])
        names = [each.name for each in forward.model.sites]
        later = names[names.index(site.name) + 1 :]
        found["mean"] = {site.name: mean}
        found["direct"] = {site.name: mean, **{name: put_out(own[name]) for name in later}}
    return found


def _silent(head: int) -> Edit:
    def edit(call: SiteCall) -> Tensor:
        weights = call.weights.clone()
        weights[:, head] = 0.0
        return weights

    return edit


def _permuted(head: int, seed: int) -> Edit:
    shuffled = permute(stable_hash(seed, "head_ablation"))

    def edit(call: SiteCall) -> Tensor:
        weights = call.weights.clone()
        weights[:, head] = shuffled(call)[:, head]
        return weights

    return edit


def _at_mean(
    forward: ForwardBatch, site: SiteSpec, means: Float[Tensor, "2 h d"]
) -> Float[Tensor, "b h q d"]:
    """The mean of the queries that are read where a query is read, else that of the others."""
    read = _read(forward.trace, site)[:, None, :, None]
    return torch.where(read, means[0][None, :, None], means[1][None, :, None])


def _effect(forward: ForwardBatch, edits: Edits) -> HeadEffect:
    with torch.no_grad():
        after = probabilities(forward.model.resume(forward.batch, forward.trace, edits).logits)
    before, decided = forward.probabilities, forward.predicted[:, None]
    drop = (before.gather(1, decided) - after.gather(1, decided)).squeeze(1)
    return HeadEffect(tvd(after, before), drop)


def _shows_outputs(model: Model, batch: Batch, trace: Trace) -> bool:
    names = [site.name for site in model.sites]
    if not set(names) <= set(trace.values):
        return False
    as_it_is = OutputEdit(lambda call, outputs: outputs)
    try:
        with torch.no_grad():
            model.resume(batch, trace, {names[-1]: as_it_is})
    except HeedfulError:
        return False
    return True


def _shares(model: Model, batch: Batch, trace: Trace, site: SiteSpec) -> Float[Tensor, "2 b q"]:
    """How much each query counts for a text's mean: those that are read, and the others."""
    masks, text = trace.masks[site.name], batch.texts["a"]
    asked = masks.any(-1).any(1)
    if site in self_sites(model, trace):
        place = torch.arange(asked.shape[1], device=asked.device)
        asked = asked & (place < text.lengths[:, None])
    read = _read(trace, site)
    kinds = torch.stack([read & asked, ~read & asked]).double()
    return kinds / kinds.sum(-1, keepdim=True).clamp_min(1)


def _read(trace: Trace, site: SiteSpec) -> Bool[Tensor, "b q"]:
    queries = trace.weights[site.name].shape[2]
    if site.name not in trace.readout_weights:
        return torch.zeros(len(trace.logits), queries, dtype=torch.bool, device=trace.logits.device)
    return trace.readout_weights[site.name] > 0


def _mean(sums: Float[Tensor, "2 h d"], texts: Float[Tensor, " 2"]) -> Float[Tensor, "2 h d"]:
    """Where there is no query of a kind, nobody asks for its mean."""
    return sums / texts.clamp_min(1)[:, None, None]
