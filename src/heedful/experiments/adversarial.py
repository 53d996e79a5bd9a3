"""Is there a very different attention with the same output? (jain2019, §4.2.2)

For one logit after a linear site the answer is exact. Its vertices are one- or two-token
distributions that no training produces, and they near their unconstrained maximum with
length alone; so the ratio to that maximum and a searched adversary of about the same
entropy stand beside it. Every attention that is reported has been put back into the model.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from heedful.catalogue import LN2, NOT_NEGATIVE, SHARE, Measure, Piece
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, Pass
from heedful.experiments.furthest import diverse, furthest_same_output, share_of
from heedful.experiments.outputs import one_logit, outputs, reduced, repeatedly, rerun
from heedful.experiments.permutation import permuted_weights, row_keys
from heedful.experiments.search import SearchParams, search, worth
from heedful.metrics import entropy, jsd, tvd
from heedful.randomness import keyed_normal
from heedful.types import AttentionRows, SiteSpec

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
) -> Findings:
    """ε-max JSD: exact where it can be, searched otherwise.

    `k` > 1 adds that many diverse exact adversaries (a local optimum). `search_candidates`
    > 0 adds jain2019's own search beside the exact value.
    """
    _check(epsilon, k, search_steps)
    if not 0 <= entropy_candidates <= _PERMUTATIONS:
        raise HeedfulError(f"entropy_candidates must lie between 0 and {_PERMUTATIONS}.")
    paper = SearchParams(epsilon, search_candidates or 5, search_steps)
    matched = SearchParams(epsilon, entropy_candidates, search_steps, entropy_within=entropy_within)
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("adversarial"):
        for site in evidence.sites:
            view = each.rows(site)
            seen = evidence.doubled(each) if site.linear else each
            trial = _Trial(seen, site, seen.rows(site), evidence.seed, epsilon)
            if trial.binary:
                trial.exact(k)
            if not trial.binary or search_candidates:
                trial.search("search", paper)
            if entropy_candidates:
                trial.search("entropy_matched", matched)
            collector.add(each, site, view, trial.measures)
            collector.add_maps(each, site, view, trial.maps)
    return Findings(collector.rows(), collector.maps())


class _Trial:
    """All adversaries of one batch at one site."""

    def __init__(
        self, each: Pass, site: SiteSpec, view: AttentionRows, seed: int, epsilon: float
    ) -> None:
        self.each, self.site, self.view, self.epsilon = each.with_states(), site, view, epsilon
        weights = view.weights.double()
        self.attention = weights / weights.sum(-1, keepdim=True)
        self.keys = row_keys(each, site, view, seed, "adversarial")
        self.original = self._rerun(self.attention)
        self.measures: dict[str, Tensor] = {}
        self.maps: dict[str, Tensor] = {"attention": self.attention}

    @property
    def binary(self) -> bool:
        return self.site.linear and self.each.trace.logits.shape[-1] <= 2

    def exact(self, k: int) -> None:
        values, bias = one_logit(self.each, self.site)
        z, mask = values[self.view.example], self.view.mask
        best, most, (low, high) = furthest_same_output(z, bias, self.attention, mask, self.epsilon)
        self.measures["jsd_exact"] = best.value
        self.measures["jsd_unconstrained"] = most
        self.measures["jsd_exact_ratio"] = share_of(best.value, most)
        self._report("adversary", best.weights)
        if k > 1:
            several = diverse(z, mask, low, high, self.attention, k)
            self.measures[f"jsd_diverse_{k}_local"] = jsd(several, self.attention[:, None]).mean(1)

    def search(self, name: str, params: SearchParams) -> None:
        start = self._start(params)
        outputs_of = repeatedly(self.each, self.site, self.view)
        found = search(outputs_of, self.attention, self.view.mask, start, params)
        self._report(name, found.weights)
        if not self.binary and name == "search":
            self._report("adversary", found.weights)

    def _outputs(self, weights: Tensor) -> Tensor:
        return outputs(self.each, self.site, self.view, weights)

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
            original = self._outputs(self.attention[:, None])
            distance = partial(tvd, q=original)
            moved = reduced(self.each, self.site, self.view, draws, distance)
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
            return rerun(self.each, self.site, self.view, weights)


def _check(epsilon: float, k: int, steps: int) -> None:
    if not 0 < epsilon < 1:
        raise HeedfulError(f"epsilon is {epsilon}: it must lie between 0 and 1.")
    if k < 1 or steps < 1:
        raise HeedfulError("the probe 'adversarial' needs k and search_steps of at least 1.")


PIECE = Piece(
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
        "jsd_exact_ratio": Measure("jsd_exact over its unconstrained maximum", range=SHARE),
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
        "tvd_adversary": Measure("output change of the adversary, model re-run", range=SHARE),
        "tvd_search": Measure("output change of the searched adversary, model re-run", range=SHARE),
        "tvd_entropy_matched": Measure(
            "output change of the matched adversary, model re-run", range=SHARE
        ),
        "entropy_adversary": Measure("entropy of the adversary", range=NOT_NEGATIVE),
        "entropy_search": Measure("entropy of the searched adversary", range=NOT_NEGATIVE),
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
