"""Is there a very different attention with the same output? (jain2019, §4.2.2)

For one logit after a linear site the answer is exact. Its vertices are one- or two-token
distributions that no training produces, and they near their unconstrained maximum with
length alone; so the ratio to that maximum and a searched adversary of about the same
entropy stand beside it. Every attention that is reported has been put back into the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import one_map, readout_rows, readout_weights, text_site
from heedful.entries import LN2, NOT_NEGATIVE, SHARE, Experiment, Measure, share
from heedful.errors import HeedfulError
from heedful.experiments.adversarial_attention import (
    SearchParams,
    diverse,
    furthest_same_output,
    search,
    share_of,
    worth,
)
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch, SiteRows
from heedful.experiments.outputs import (
    one_logit,
    outputs,
    read_map,
    read_mask,
    reading,
    reduced,
    repeatedly,
    rerun,
    resumed,
)
from heedful.experiments.permutation import permuted_weights, row_keys
from heedful.interventions import reordered
from heedful.metrics import entropy, jsd, tvd
from heedful.models import masked_softmax, probabilities
from heedful.randomness import example_keys, keyed_normal, keyed_uniform
from heedful.types import SiteSpec, Trace

_PERMUTATIONS = 64  # tried as starting points of the entropy-matched search

_PULLS = {torch.float64: (1e-6, 1e-4, 1e-2, 0.1, 1.0), torch.float32: (1e-4, 1e-2, 0.1, 1.0)}
"""Towards the original, by the precision of the model: the first is more than its rounding."""


def adversarial(
    evidence: Evidence,
    epsilon: float = 0.01,
    k: int = 1,
    search_steps: int = 500,
    search_candidates: int = 0,
    entropy_candidates: int = 1,
    entropy_within: float = 0.1,
    curve: Sequence[float] = (),
) -> Findings:
    """ε-max JSD: exact where it can be, searched otherwise.

    `k` > 1 adds that many diverse exact adversaries (a local optimum). `search_candidates`
    > 0 adds jain2019's own search beside the exact value. `curve` has more values of ε, for which
    the exact distance is measured where it can be.
    """
    for one in (epsilon, *curve):
        if not 0 < one < 1:
            raise HeedfulError(f"epsilon is {one}: it must lie between 0 and 1.")
    if k < 1 or search_steps < 1:
        raise HeedfulError("the probe 'adversarial' needs k and search_steps of at least 1.")
    if not 0 <= entropy_candidates <= _PERMUTATIONS:
        raise HeedfulError(f"entropy_candidates must lie between 0 and {_PERMUTATIONS}.")
    paper = SearchParams(epsilon, search_candidates or 5, search_steps)
    matched = SearchParams(epsilon, entropy_candidates, search_steps, entropy_within=entropy_within)
    collector = Collector(evidence.data.ids)
    for forward in evidence.passes("adversarial"):
        for site in evidence.sites:
            view = forward.rows(site)
            seen = evidence.doubled(forward) if site.linear else forward
            trial = _Trial(seen.with_states().rows(site), evidence.seed, epsilon)
            if trial.binary:
                trial.exact(k, curve)
            if not trial.binary or search_candidates:
                trial.search("search", paper)
            if entropy_candidates:
                trial.search("entropy_matched", matched)
            collector.add(forward, site, view, trial.measures)
            collector.add_maps(forward, site, view, trial.maps)
    return Findings(collector.rows(), collector.maps())


class _Trial:
    """All adversaries of one batch at one site."""

    def __init__(self, view: SiteRows, seed: int, epsilon: float) -> None:
        self.view, self.epsilon = view, epsilon
        weights = view.weights.double()
        self.attention = weights / weights.sum(-1, keepdim=True)
        self.keys = row_keys(view, seed, "adversarial")
        self.original = self._rerun(self.attention)
        self.measures: dict[str, Tensor] = {}
        self.maps: dict[str, Tensor] = {"attention": self.attention}

    @property
    def binary(self) -> bool:
        return self.view.site.linear and self.view.forward.probabilities.shape[-1] == 2

    def exact(self, k: int, curve: Sequence[float]) -> None:
        values, bias = one_logit(self.view.forward, self.view.site)
        z, mask = values[self.view.example], self.view.mask
        best, most, (low, high) = furthest_same_output(z, bias, self.attention, mask, self.epsilon)
        self.measures["jsd_exact"] = best.value
        self.measures["jsd_unconstrained"] = most
        self.measures["jsd_exact_ratio"] = share_of(best.value, most)
        self._report("adversary", best.weights)
        if k > 1:
            several = diverse(z, mask, low, high, self.attention, k)
            self.measures[f"jsd_diverse_{k}_local"] = jsd(several, self.attention[:, None]).mean(1)
        for one in curve:
            further, _, _ = furthest_same_output(z, bias, self.attention, mask, one)
            self.measures[f"jsd_epsilon:{one:g}"] = further.value

    def search(self, name: str, params: SearchParams) -> None:
        start = self._start(params)
        found = search(repeatedly(self.view), self.attention, self.view.mask, start, params)
        self._report(name, found.weights)
        if not self.binary and name == "search":
            self._report("adversary", found.weights)

    def _start(self, params: SearchParams) -> Tensor:
        """jain2019: log-uniform + 3·N(0, 1). Entropy-matched: the likeliest permutations of α̂,
        which have its entropy to begin with, a little off: where one equals α̂ itself, the
        slope is zero, and rounding would decide which way the search goes, if any."""
        shape = (params.candidates, self.attention.shape[1])
        noise = keyed_normal(self.keys, shape)
        if params.entropy_within is None:
            return 3 * noise
        draws = permuted_weights(self.view, self.keys, _PERMUTATIONS).double()
        with torch.no_grad():
            original = outputs(self.view, self.attention[:, None])
            moved = reduced(self.view, draws, partial(tvd, q=original))
        apart = jsd(draws, self.attention[:, None])
        best = worth(apart, moved, self.epsilon).topk(params.candidates, -1).indices
        chosen = draws.gather(1, best[..., None].expand(-1, -1, shape[1]))
        return chosen.clamp_min(1e-12).log() + 1e-3 * noise

    def _report(self, name: str, weights: Tensor) -> None:
        weights, moved = self._put_back(weights)
        self.measures[f"jsd_{name}"] = jsd(weights, self.attention)
        self.measures[f"tvd_{name}"] = moved
        self.measures[f"entropy_{name}"] = entropy(weights)
        self.maps[name if name == "adversary" else f"adversary_{name}"] = weights

    def _put_back(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Run the model with the weights; where rounding leaves ε, pull them towards α̂.

        An adversary lies on the edge of the band, where the last bit would decide; a first
        pull that is larger than rounding, for all, leaves that to nobody.
        """
        outside = torch.ones_like(weights[:, 0], dtype=torch.bool)
        for pull in _PULLS[self.view.weights.dtype]:
            nearer = weights + pull * (self.attention - weights)
            weights = torch.where(outside[:, None], nearer, weights)
            moved = tvd(self._rerun(weights), self.original)
            outside = moved > self.epsilon
            if not bool(outside.any()):
                break
        return weights, moved

    def _rerun(self, weights: Tensor) -> Tensor:
        with torch.no_grad():
            return rerun(self.view, weights)


# How far can attention move while the output stays (jain2019, experiment 5)?
#
# A search over the main site's weights at the queries the prediction is read from, for any
# model. What it finds is a lower bound: something further may exist. (For linear binary sites
# the exact answer is known; the probe `adversarial` has it.)


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
    forward: ForwardBatch, params: ExclusivityParams = ExclusivityParams()
) -> Exclusivity:
    """The best feasible weights of all steps, put back into the model once more; where they
    are outside ε then, they are pulled towards the original."""
    if params.steps < 1 or params.epsilon < 0:
        raise HeedfulError("a search needs at least 1 step and an epsilon of 0 or more.")
    trial = _Searched(forward, text_site(forward.model), params)
    with torch.no_grad():
        final = _confirmed(trial, _search(trial))
        seen, moved = trial.tried(final)
    apart = jsd(seen, trial.map)
    most = largest_jsd(trial.map, read_mask(trial.trace, trial.site))
    return Exclusivity(apart, share_of(apart, most), moved, final, seen)


@dataclass(frozen=True)
class Adversary:
    """The furthest attention with the same output, on tokens, and where it is `within` ε."""

    jsd: Float[Tensor, " b"]
    ratio: Float[Tensor, " b"]
    weights: Float[Tensor, "b k"]
    within: Bool[Tensor, " b"]
    exact: bool


def adversarial_attention(forward: ForwardBatch, params: ExclusivityParams) -> Adversary:
    """Exact for one logit after a linear site, or the difference of two; else searched."""
    site, trace = text_site(forward.model), forward.trace
    if not site.linear or trace.logits.shape[-1] > 2:
        found = exclusivity(forward, params)
        within = found.tvd <= params.epsilon
        return Adversary(found.jsd, found.ratio, found.map, within, exact=False)
    attention = trace.weights[site.name][:, 0, 0].double()
    mask = trace.masks[site.name][:, 0, 0]
    logit = one_logit(forward, site)
    best, most, _ = furthest_same_output(*logit, attention, mask, params.epsilon)
    ratio, within = share_of(best.value, most), best.value.isfinite()
    return Adversary(best.value, ratio, best.weights, within, exact=True)


def largest_jsd(weights: Float[Tensor, "b k"], mask: Bool[Tensor, "b k"]) -> Float[Tensor, " b"]:
    """The JSD is convex, so nothing is further than all weight on one key: the lightest."""
    lightest = weights.masked_fill(~mask, torch.inf).argmin(-1)
    one = torch.zeros_like(weights).scatter(1, lightest[:, None], 1.0) * mask
    return torch.where(mask.sum(-1) > 1, jsd(one, weights), 0.0)


@dataclass(frozen=True)
class _Searched:
    """A model and its base trace, on which other weights are tried."""

    forward: ForwardBatch
    site: SiteSpec
    params: ExclusivityParams

    @property
    def trace(self) -> Trace:
        return self.forward.trace

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
        after = resumed(self.forward, self.site, put)
        output = tvd(probabilities(after.logits), self.forward.probabilities)
        return one_map(readout_rows(put, readout_weights(after, self.site))), output


def _search(trial: _Searched) -> Tensor:
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


def _start(trial: _Searched) -> Tensor:
    """Not at the attention itself: there the divergence has no slope. A search that must keep
    the entropy begins at an order of the weights that keeps the output, or moves it least."""
    keys = example_keys(trial.params.seed, trial.forward.batch.ids, "exclusivity", trial.site.name)
    keys = keys.to(trial.weights.device)
    _, heads, _, width = trial.weights.shape
    shape = (1 if trial.params.same_in_all_heads else heads, width)
    noise = keyed_normal(keys, shape)
    if trial.params.entropy_within is None:
        return trial.params.spread * noise
    return _reordered(trial, keys)[:, : shape[0]] + 1e-3 * noise


def _reordered(trial: _Searched, keys: Tensor) -> Float[Tensor, "b h k"]:
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


def _confirmed(trial: _Searched, best: Tensor) -> Tensor:
    """Weights that the model itself, run again, finds feasible; the original if none are."""
    for pull in (0.01, 0.1, 0.5, 1.0):
        _, broken, _ = trial.measure(best)
        if not bool((broken > 0).any()):
            break
        pulled = pull * trial.weights + (1 - pull) * best
        best = torch.where((broken > 0)[:, None, None, None], pulled, best)
    return best


ENTRY = Experiment(
    name="adversarial",
    description="the furthest attention with the same output: exact, entropy-matched, searched",
    make=adversarial,
    bounds={
        "epsilon": SHARE,
        "k": (1, 1000),
        "search_steps": (1, 10**5),
        "search_candidates": (0, 1000),
        "entropy_candidates": (0, _PERMUTATIONS),
        "entropy_within": NOT_NEGATIVE,
    },
    by_text=True,
    version=3,
    paper="jain2019",
    needs=("normalised",),
    measures={
        "jsd_exact": Measure("ε-max JSD, the global optimum (linear binary decoder)", range=LN2),
        "jsd_exact_ratio": share("jsd_exact over its unconstrained maximum"),
        "jsd_unconstrained": Measure(
            "largest JSD any attention has, whatever the output", range=LN2
        ),
        "jsd_adversary": Measure(
            "JSD of the exact (else searched) adversary, model re-run", range=LN2
        ),
        "jsd_search": Measure("JSD found by jain2019's search: a lower bound", range=LN2),
        "jsd_entropy_matched": Measure(
            "JSD found at about the same entropy: a lower bound", range=LN2
        ),
        "tvd_adversary": share("output change of the adversary, model re-run"),
        "tvd_search": share("output change of the searched adversary, model re-run"),
        "tvd_entropy_matched": share("output change of the matched adversary, model re-run"),
        "entropy_adversary": Measure("entropy of the adversary", range=NOT_NEGATIVE),
        "entropy_search": Measure("entropy of the searched adversary", range=NOT_NEGATIVE),
        "jsd_epsilon:*": Measure("jsd_exact at another ε (`curve`)", range=LN2),
        "jsd_diverse_*": Measure("mean JSD of k diverse adversaries (`k` > 1)", range=LN2),
        "entropy_entropy_matched": Measure("entropy of the matched adversary", range=NOT_NEGATIVE),
    },
    formula="max_a JSD(a, α) subject to TVD(p(a), p(α)) ≤ ε, ε = 0.01",
    higher="an attention further away has the same output",
    cost="exact: the square of a text's length; searched: 500 steps of what follows attention",
    limits=(
        "That another attention exists does not refute this one. Searched values are lower "
        "bounds, and the exact one nears its maximum with length alone: read the ratio and the "
        "entropy-matched one."
    ),
)
