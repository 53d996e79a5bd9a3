"""How far can attention move while the output stays (jain2019, experiment 5)?

A search over the main site's weights at the queries the prediction is read from, for any
model. What it finds is a lower bound: something further may exist. (For linear binary sites
the exact answer is known; the probe `adversarial` has it.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.experiments.evidence import Pass
from heedful.experiments.furthest import furthest_same_output, share_of
from heedful.experiments.outputs import one_logit, passed, read_map, read_mask, reading, resumed
from heedful.experiments.permutation import reordered
from heedful.experiments.search import worth
from heedful.metrics import entropy, jsd, tvd
from heedful.models import masked_softmax, probabilities
from heedful.randomness import example_keys, keyed_normal, keyed_uniform
from heedful.saliency import one_map, read, reader, text_site
from heedful.types import Batch, Model, SiteSpec, Trace


@dataclass(frozen=True)
class ExclusivityParams:
    """The penalty is jain2019's; few and large steps, since each is a pass of the model. The
    search starts from logits moved by normal numbers of standard deviation `spread`.

    `entropy_within` also keeps the map's entropy within that share of its own. With
    `same_in_all_heads`, every head is moved alike."""

    epsilon: float = 0.01
    steps: int = 60
    learning_rate: float = 0.5
    penalty: float = 500.0
    spread: float = 2.0
    entropy_within: float | None = None
    same_in_all_heads: bool = False
    seed: int = 0


ORDERS_LINEAR, ORDERS = 32, 8
"""Orders of the weights that are tried first: each is a pass of the model, or a product."""

ENTROPY_WITHIN = 0.1
"""For a map that is as spread out as the original."""


@dataclass(frozen=True)
class Exclusivity:
    """A lower bound: the JSD between the map and the furthest one found with the same output,
    its share of the largest JSD any map can have, and the weights themselves with the TVD the
    model gave for them and the map a reader would see."""

    jsd: Float[Tensor, " b"]
    ratio: Float[Tensor, " b"]
    tvd: Float[Tensor, " b"]
    weights: Float[Tensor, "b h q k"]
    map: Float[Tensor, "b k"]


def exclusivity(
    model: Model,
    batch: Batch,
    params: ExclusivityParams = ExclusivityParams(),
    trace: Trace | None = None,
) -> Exclusivity:
    """The best feasible weights of all steps, put back into the model once more; where they
    are outside ε then, they are pulled towards the original."""
    if params.steps < 1 or params.epsilon < 0:
        raise HeedfulError("a search needs at least 1 step and an epsilon of 0 or more.")
    trial = _Trial(passed(model, batch, trace), text_site(model), params)
    with torch.no_grad():
        final = _confirmed(trial, _search(trial))
        seen, moved = trial.tried(final)
    apart = jsd(seen, trial.map)
    furthest = largest_jsd(trial.map, read_mask(trial.trace, trial.site))
    ratio = share_of(apart, furthest)
    return Exclusivity(apart, ratio, moved, final, seen)


@dataclass(frozen=True)
class Apart:
    """The furthest attention with the same output, on tokens, and where it is `within` ε."""

    jsd: Float[Tensor, " b"]
    ratio: Float[Tensor, " b"]
    weights: Float[Tensor, "b k"]
    within: Bool[Tensor, " b"]
    exact: bool


def furthest_attention(
    model: Model, batch: Batch, params: ExclusivityParams, trace: Trace | None = None
) -> Apart:
    """Exact for one logit after a linear site, or the difference of two; else searched."""
    each, site = passed(model, batch, trace), text_site(model)
    if not site.linear or each.trace.logits.shape[-1] > 2:
        found = exclusivity(model, batch, params, each.trace)
        return Apart(found.jsd, found.ratio, found.map, found.tvd <= params.epsilon, exact=False)
    attention = each.trace.weights[site.name][:, 0, 0].double()
    mask = each.trace.masks[site.name][:, 0, 0]
    logit = one_logit(each, site)
    best, most, _ = furthest_same_output(*logit, attention, mask, params.epsilon)
    within = best.value.isfinite()
    return Apart(best.value, share_of(best.value, most), best.weights, within, exact=True)


def largest_jsd(weights: Float[Tensor, "b k"], mask: Bool[Tensor, "b k"]) -> Float[Tensor, " b"]:
    """The JSD is convex, so nothing is further than all weight on one key: the lightest."""
    lightest = weights.masked_fill(~mask, torch.inf).argmin(-1)
    one = torch.zeros_like(weights).scatter(1, lightest[:, None], 1.0) * mask
    return torch.where(mask.sum(-1) > 1, jsd(one, weights), 0.0)


@dataclass(frozen=True)
class _Trial:
    """A model and its base trace, on which other weights are tried."""

    each: Pass
    site: SiteSpec
    params: ExclusivityParams

    @property
    def trace(self) -> Trace:
        return self.each.trace

    @cached_property
    def weights(self) -> Float[Tensor, "b h q k"]:
        return self.trace.weights[self.site.name].double()

    @cached_property
    def map(self) -> Float[Tensor, "b k"]:
        return read_map(self.trace, self.site)

    @cached_property
    def entropy(self) -> Float[Tensor, " b"]:
        return entropy(self.map)

    def moved(self, shift: Float[Tensor, "b g k"]) -> Float[Tensor, "b h q k"]:
        """The weights with their logarithms shifted, at the reading rows."""
        mask = self.trace.masks[self.site.name].expand_as(self.weights)
        logs = self.weights.clamp_min(1e-30).log() + shift[:, :, None]
        return torch.where(reading(self.trace, self.site), masked_softmax(logs, mask), self.weights)

    def measure(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """How far the map is, by how much the bounds are broken, how far the output moved."""
        shown, output = self.tried(weights)
        broken = (output - self.params.epsilon).clamp_min(0)
        if self.params.entropy_within is not None:
            off = (entropy(shown) - self.entropy).abs()
            broken = broken + (off - self.params.entropy_within * self.entropy).clamp_min(0)
        return jsd(shown, self.map), broken, output

    def tried(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The map that a reader sees with these weights in place, and how far the output moved."""
        put = weights.to(self.trace.weights[self.site.name].dtype)
        after = resumed(self.each, self.site, put)
        output = tvd(probabilities(after.logits), self.each.probabilities)
        return one_map(read(put, reader(after, self.site))), output


def _search(trial: _Trial) -> Tensor:
    """AMSGrad on the shifts; every example goes its own way, whatever else is in the batch.

    Slopes are scaled to length 1: AMSGrad never forgets the largest, so that one step outside
    of the bounds, with its penalty, would make all later ones tiny."""
    params = trial.params
    shift = _start(trial).requires_grad_()
    optimizer = torch.optim.Adam([shift], lr=params.learning_rate, amsgrad=True)
    best, furthest = trial.weights, torch.zeros_like(trial.entropy)
    for _ in range(params.steps):
        with torch.enable_grad():
            weights = trial.moved(shift)
            apart, broken, _ = trial.measure(weights)
            (slope,) = torch.autograd.grad((params.penalty * broken - apart).sum(), shift)
        better = (broken.detach() <= 0) & (apart.detach() > furthest)
        best = torch.where(better[:, None, None, None], weights.detach(), best)
        furthest = torch.where(better, apart.detach(), furthest)
        shift.grad = slope / slope.norm(dim=(1, 2), keepdim=True).clamp_min(1e-30)
        optimizer.step()
    return best


def _start(trial: _Trial) -> Tensor:
    """Not at the attention itself: there the divergence has no slope. A search that must keep
    the entropy begins at an order of the weights that keeps the output, or moves it least."""
    keys = example_keys(trial.params.seed, trial.each.batch.ids, "exclusivity", trial.site.name)
    keys = keys.to(trial.weights.device)
    _, heads, _, width = trial.weights.shape
    shape = (1 if trial.params.same_in_all_heads else heads, width)
    noise = keyed_normal(keys, shape)
    if trial.params.entropy_within is None:
        return trial.params.spread * noise
    return _reordered(trial, keys)[:, : shape[0]] + 1e-3 * noise


def _reordered(trial: _Trial, keys: Tensor) -> Float[Tensor, "b h k"]:
    """Of some orders of the weights, the same in all heads, the furthest that keeps the output,
    else the one that moves it least, as a shift of logarithms."""
    mask = read_mask(trial.trace, trial.site)
    rows = reading(trial.trace, trial.site) * 1.0
    weights = (trial.weights * rows).sum(2) / rows.sum(2).clamp_min(1)
    tries = ORDERS_LINEAR if trial.site.linear else ORDERS
    draws = keyed_uniform(keys, (tries, mask.shape[1]))
    best, merit = torch.zeros_like(weights), torch.full_like(trial.entropy, -torch.inf)
    for draw in draws.unbind(1):
        order = draw.masked_fill(~mask, torch.inf).argsort(dim=-1, stable=True)
        swapped = reordered(weights, mask[:, None], order[:, None].expand_as(weights))
        shift = swapped.clamp_min(1e-30).log() - weights.clamp_min(1e-30).log()
        apart, _, output = trial.measure(trial.moved(shift))
        value = worth(apart, output, trial.params.epsilon)
        best = torch.where((value > merit)[:, None, None], shift, best)
        merit = torch.maximum(value, merit)
    return best


def _confirmed(trial: _Trial, best: Tensor) -> Tensor:
    """Weights that the model itself, run again, finds feasible; the original if none are."""
    for share in (0.01, 0.1, 0.5, 1.0):
        _, broken, _ = trial.measure(best)
        if not bool((broken > 0).any()):
            break
        pulled = share * trial.weights + (1 - share) * best
        best = torch.where((broken > 0)[:, None, None, None], pulled, best)
    return best
