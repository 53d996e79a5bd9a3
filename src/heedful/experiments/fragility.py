"""How far does an explanation move while the prediction stays? (Ghorbani et al. 2019)

Two small changes of a text: its embeddings move within a norm, along the gradient that takes scores
off the words on top; or one word becomes its nearest neighbour among the embeddings. Beside each
stands a change of the same size at random: only what moves further is fragile to a search, and not
to any change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions import on_text, one_map, readout_rows, readout_weights, text_site
from heedful.entries import Experiment, share, signed_share
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.hashing import stable_hash
from heedful.metrics import TOLERANCE, kendall_tau_b, tied_ranks, top_k, top_k_overlap
from heedful.models import class_logits, probability
from heedful.randomness import example_keys, keyed_normal, keyed_uniform
from heedful.types import Batch, Keep, Model, Text

EXPLAINED = {
    "attention": "attention",
    "gradient": "the gradient's norm",
    "gradient_input": "gradient × input",
}
CHANGES = {
    "attack": "embeddings moved by a search",
    "noise": "embeddings moved as far at random",
    "swap": "the one word swapped for its neighbour that changes most",
    "any_swap": "one word at random swapped for its neighbour",
}


NEAR = 1e-5
"""The way along which a second derivative is taken, as a share of the norm of all embeddings."""


@dataclass(frozen=True)
class Bounds:
    """Each embedding moves by at most `radius` times the mean norm of the text's embeddings, in
    `steps` steps; at most `swaps` words of a text are tried; `k` words are on top."""

    radius: float
    steps: int
    swaps: int
    k: int
    seed: int


@dataclass(frozen=True)
class Explained:
    """Magnitudes of one explanation by token, and the class decided for."""

    scores: Float[Tensor, "b t"]
    decision: Int[Tensor, " b"]


def fragility(
    evidence: Evidence,
    radius: float = 0.1,
    steps: int = 10,
    swaps: int = 10,
    k: int = 5,
    limit: int = 200,
) -> Findings:
    """Of at most `limit` texts, drawn by the seed."""
    if not 0 < radius < math.inf or min(steps, swaps, k, limit) < 1:
        raise HeedfulError("the probe 'fragility' needs radius, steps, swaps, k, limit above 0.")
    bounds = Bounds(radius, steps, swaps, k, evidence.seed)
    ids = evidence.data.ids
    worded = [ids[i] for i in evidence.data.lengths.nonzero()[0]]
    chosen = set(sorted(worded, key=lambda name: stable_hash(evidence.seed, name))[:limit])
    passes = list(evidence.passes("fragility"))
    near = neighbours(passes)
    collector = Collector(ids)
    for forward in passes:
        rows = [row for row, name in enumerate(forward.batch.ids) if name in chosen]
        if rows:
            index = torch.tensor(rows, device=forward.batch.labels.device)
            some = evidence.doubled(replace(forward, batch=forward.batch.take(index)))
            site = evidence.sites[0]
            view = some.rows(site).first()
            found = measured(some, near, bounds).items()
            collector.add(some, site, view, {name: each[view.example] for name, each in found})
    return Findings(collector.rows())


def measured(
    forward: ForwardBatch, near: Int[Tensor, " v"], bounds: Bounds
) -> dict[str, Float[Tensor, " b"]]:
    """Each explanation before and after each change; NaN where every change that was tried would
    change the prediction."""
    model, batch, label = forward.model, forward.batch, forward.predicted
    mask, own = batch.texts["a"].mask, model.embed(batch)["a"]
    measures: dict[str, Tensor] = {}
    for name in EXPLAINED:
        before = explained_at(name, model, batch, label, own).scores
        moved = attacked(name, forward, own, bounds)
        noisy = explained_at(name, model, batch, label, own + _noise(own, batch, bounds))
        worst, some = swapped(name, forward, near, bounds)
        after = {
            "attack": moved,
            "noise": _kept(noisy, label),
            "swap": worst,
            "any_swap": some,
        }
        for change, scores in after.items():
            for measure, values in compared(before, scores, mask, bounds.k).items():
                measures[f"{measure}_{change}_{name}"] = values
    return measures


def explained_at(
    name: str, model: Model, batch: Batch, label: Int[Tensor, " b"], at: Float[Tensor, "b t e"]
) -> Explained:
    """An explanation at these embeddings of side `a`."""
    if name == "attention":
        return _attended(model, batch, at.detach())
    slope, decision = _gradient(model, batch, label, at)
    return Explained(on_text(_magnitude(name, slope, at.detach()), batch), decision)


def _attended(model: Model, batch: Batch, at: Float[Tensor, "b t e"]) -> Explained:
    """It can be differentiated by the embeddings, where they ask for it."""
    with torch.set_grad_enabled(at.requires_grad):
        trace = model(batch, keep=Keep(readout_weights=True), embeddings={"a": at})
        site = text_site(model)
        rows = readout_rows(trace.weights[site.name], readout_weights(trace, site))
        return Explained(on_text(one_map(rows), batch), class_logits(trace.logits).argmax(-1))


def _gradient(
    model: Model, batch: Batch, label: Tensor, at: Tensor
) -> tuple[Float[Tensor, "b t e"], Int[Tensor, " b"]]:
    x = at.detach().requires_grad_()
    with torch.enable_grad():
        logits = model(batch, keep=Keep(weights=False), embeddings={"a": x}).logits
        (slope,) = torch.autograd.grad(probability(logits, label).sum(), x)
    return slope, class_logits(logits).argmax(-1)


def _magnitude(name: str, slope: Tensor, at: Tensor) -> Float[Tensor, "b t"]:
    return _norm(slope) if name == "gradient" else (slope * at).sum(-1).abs()


def attacked(
    name: str, forward: ForwardBatch, own: Float[Tensor, "b t e"], bounds: Bounds
) -> Float[Tensor, "b t"]:
    """Scores with the least share on the words that were on top, of all steps at which the
    prediction is as it was (Ghorbani et al. 2019, top-k attack). The first is no step at all."""
    model, batch, label = forward.model, forward.batch, forward.predicted
    mask, reach = batch.texts["a"].mask, _reach(own, batch, bounds)
    best = explained_at(name, model, batch, label, own).scores
    top, at = top_k(best, mask, bounds.k), own
    least = _share(best, top)
    for _ in range(bounds.steps):
        slope = slope_of_share(name, forward, at, top)
        delta = _stepped(at - own, slope, reach, bounds.steps)
        at = own + delta * mask[..., None]
        found = explained_at(name, model, batch, label, at)
        share = _share(found.scores, top)
        better = (found.decision == label) & (share < least)
        best = torch.where(better[:, None], found.scores, best)
        least = torch.where(better, share, least)
    return best


def slope_of_share(
    name: str, forward: ForwardBatch, at: Float[Tensor, "b t e"], top: Bool[Tensor, "b t"]
) -> Float[Tensor, "b t e"]:
    """The derivative of the share of the scores on top by the embeddings.

    Of a gradient that is a second derivative of the output in one direction v, which is taken from
    the gradients a little way along v and against it: recurrent layers need not have it."""
    model, batch, label = forward.model, forward.batch, forward.predicted
    x = at.detach().requires_grad_()
    if name == "attention":
        share = _share(_attended(model, batch, x).scores, top)
        (slope,) = torch.autograd.grad(share.sum(), x, allow_unused=True)
        return torch.zeros_like(at) if slope is None else slope
    gradient = _gradient(model, batch, label, at)[0].requires_grad_()
    share = _share(on_text(_magnitude(name, gradient, x), batch), top)
    v, direct = torch.autograd.grad(share.sum(), (gradient, x), allow_unused=True)
    size = v.flatten(1).norm(dim=1)[:, None, None]
    little = NEAR * at.flatten(1).norm(dim=1)[:, None, None]
    way = little * v / torch.where(size > 0, size, 1.0)
    ends = [_gradient(model, batch, label, at + side * way)[0] for side in (1.0, -1.0)]
    curved: Tensor = size * (ends[0] - ends[1]) / (2 * torch.where(little > 0, little, 1.0))
    return curved if direct is None else curved + direct


def _stepped(delta: Tensor, slope: Tensor, reach: Tensor, steps: int) -> Tensor:
    """Against the slope of each token, all of them as far, and back into the ball."""
    direction = slope / _norm(slope)[..., None].clamp_min(torch.finfo(slope.dtype).tiny)
    delta = delta - 2.5 / steps * reach * direction
    size = _norm(delta)[..., None]
    return torch.where(size > reach, delta * reach / size.clamp_min(1e-300), delta)


def _reach(own: Tensor, batch: Batch, bounds: Bounds) -> Float[Tensor, "b 1 1"]:
    mask = batch.texts["a"].mask
    mean = (_norm(own) * mask).sum(-1) / mask.sum(-1).clamp_min(1)
    return bounds.radius * mean[:, None, None]


def _noise(own: Tensor, batch: Batch, bounds: Bounds) -> Tensor:
    """In any direction, as far as the search may go."""
    keys = example_keys(bounds.seed, batch.ids, "fragility").to(own.device)
    drawn = keyed_normal(keys, tuple(own.shape[1:])).to(own)
    unit = drawn / _norm(drawn)[..., None]
    return _reach(own, batch, bounds) * unit * batch.texts["a"].mask[..., None]


def _norm(x: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(x, dim=-1)
    return norm


def _share(scores: Tensor, top: Tensor) -> Tensor:
    """Of all scores, what is on these words; 0 where there are no scores."""
    total = scores.sum(-1)
    return (scores * top).sum(-1) / torch.where(total > 0, total, 1.0)


def _kept(found: Explained, label: Tensor) -> Tensor:
    """NaN where the prediction is another."""
    return torch.where((found.decision == label)[:, None], found.scores, torch.nan)


# One word swapped for its nearest neighbour.


def neighbours(passes: list[ForwardBatch]) -> Int[Tensor, " v"]:
    """For each token of the texts, by its number, the nearest other one of them by the Euclidean
    distance of their embeddings (the lowest of several as near); itself where there is none."""
    texts = [forward.batch.texts["a"] for forward in passes]
    there = torch.unique(torch.cat([text.tokens[text.mask] for text in texts]))
    near = torch.arange(int(there.max()) + 1, device=there.device)
    if len(there) > 1:
        vectors = _vectors(passes[0].model, there, passes[0].batch.texts)
        near[there] = torch.cat([_nearest(vectors, there, part) for part in there.split(1024)])
    return near


def _vectors(model: Model, tokens: Int[Tensor, " v"], sides: Iterable[str]) -> Float[Tensor, "v e"]:
    """Each token read as a text of its own, on every side."""
    one = torch.ones_like(tokens)
    text = Text(tokens[:, None], one, one[:, None].bool())
    alone = Batch(tuple(map(str, tokens.tolist())), dict.fromkeys(sides, text), one * 0)
    return model.embed(alone)["a"][:, 0]


def _nearest(vectors: Tensor, there: Tensor, part: Tensor) -> Tensor:
    rows = torch.searchsorted(there, part)
    distance = torch.cdist(vectors[rows].double(), vectors.double())
    distance[torch.arange(len(rows), device=rows.device), rows] = torch.inf
    return there[distance.argmin(-1)]


def swapped(
    name: str, forward: ForwardBatch, near: Int[Tensor, " v"], bounds: Bounds
) -> tuple[Float[Tensor, "b t"], Float[Tensor, "b t"]]:
    """Scores after the swap with the lowest τ, and after the first one drawn, of those swaps that
    keep the prediction."""
    model, batch, label = forward.model, forward.batch, forward.predicted
    mask = batch.texts["a"].mask
    before = explained_at(name, model, batch, label, model.embed(batch)["a"]).scores
    worst, first = (torch.full_like(before, torch.nan) for _ in range(2))
    lowest = torch.full_like(before[:, 0], torch.inf)
    for place in _places(batch, bounds).unbind(1):
        other = _with_neighbour(batch, place, near)
        found = explained_at(name, model, other, label, model.embed(other)["a"])
        kept = (found.decision == label) & (place >= 0)
        tau = compared(before, found.scores, mask, bounds.k)["tau"].nan_to_num(1.0)
        fresh = kept & first[:, 0].isnan()
        first = torch.where(fresh[:, None], found.scores, first)
        lower = kept & (tau < lowest)
        worst = torch.where(lower[:, None], found.scores, worst)
        lowest = torch.where(lower, tau, lowest)
    return worst, first


def _places(batch: Batch, bounds: Bounds) -> Int[Tensor, "b s"]:
    """Some positions of each text in an order of its own; −1 where it has no more."""
    mask = batch.texts["a"].mask
    keys = example_keys(bounds.seed, batch.ids, "fragility", "swap").to(mask.device)
    drawn = keyed_uniform(keys, (mask.shape[1],)).masked_fill(~mask, 2.0)
    order = drawn.argsort(-1)[:, : bounds.swaps]
    return torch.where(mask.gather(1, order), order, -1)


def _with_neighbour(batch: Batch, place: Int[Tensor, " b"], near: Int[Tensor, " v"]) -> Batch:
    text = batch.texts["a"]
    here = torch.arange(text.tokens.shape[1], device=place.device) == place[:, None]
    known = text.tokens.clamp_max(len(near) - 1)
    tokens = torch.where(here, near.to(place.device)[known], text.tokens)
    return replace(batch, texts={**batch.texts, "a": replace(text, tokens=tokens)})


# Two maps of one explanation.


def compared(
    before: Float[Tensor, "b t"],
    after: Float[Tensor, "b t"],
    mask: Bool[Tensor, "b t"],
    k: int,
) -> dict[str, Float[Tensor, " b"]]:
    """Do the same words come on top, and in the same order? NaN where there is no second map."""
    tolerance = TOLERANCE[torch.float64]
    ranks = [tied_ranks(scores.nan_to_num(0.0), mask, tolerance) for scores in (before, after)]
    there = ~(after.isnan() & mask).any(-1)
    found = {
        "overlap": top_k_overlap(ranks[0], ranks[1], mask, k),
        "tau": kendall_tau_b(ranks[0], ranks[1], mask).tau,
    }
    return {name: torch.where(there, values, torch.nan) for name, values in found.items()}


ENTRY = Experiment(
    name="fragility",
    description="how far explanations move while the prediction stays",
    make=fragility,
    bounds={
        "radius": (0, 100),
        "steps": (1, 1000),
        "swaps": (1, 10_000),
        "k": (1, 10**6),
        "limit": (1, 10**6),
    },
    paper="ghorbani2019",
    needs=("tokens", "classes"),
    sites="sites over tokens of text a",
    measures={
        f"{measure}_{change}_{name}": kind(f"{words} of {said}: {how}", True)
        for measure, kind, words in (
            ("overlap", share, "share of the top words in common"),
            ("tau", signed_share, "τ-b of magnitudes"),
        )
        for change, how in CHANGES.items()
        for name, said in EXPLAINED.items()
    },
    formula=(
        "min over δ with ‖δ_t‖ ≤ radius · mean ‖e‖ of the share of I(e + δ) on the top k of I(e), "
        "while argmax p stays; then τ_b(I(e), I(e + δ)) and |top k ∩ top k| / k"
    ),
    higher="the explanation stays as it was",
    cost="for each of 3 explanations up to 40 gradients and 10 swaps, of up to 200 texts",
    limits=(
        "A lower bound of what can be moved: a search of few steps, and single swaps. Moved "
        "embeddings are no words; a neighbour may mean the opposite. A short text's top words are "
        "all its words."
    ),
)
