"""What each head of each layer does, and how far its weights can move unnoticed.

Statistics are from weights alone: cheap enough to look at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from scipy.optimize import linprog
from torch import Tensor

from heedful.attributions import (
    on_text,
    one_map,
    readout_rows,
    readout_weights,
    self_sites,
    text_site,
    text_sites,
    values_of,
)
from heedful.experiments.evidence import ForwardBatch, base_trace
from heedful.experiments.outputs import resumed
from heedful.metrics import entropy, jsd, tvd
from heedful.models import probabilities
from heedful.randomness import example_keys, keyed_normal
from heedful.types import Batch, Model, SiteSpec, Text, Trace
from heedful.words import to_words, word_numbers

STATISTICS = {
    "entropy": "entropy of a query's weights (nats), mean over queries",
    "special": "weight on tokens of no word, mean over queries",
    "first": "weight on the first token that can be attended, mean over queries",
    "self": "weight of a position on itself, mean over queries; self-attention only",
    "previous": "weight on the position before, mean over queries that have one",
    "next": "weight on the position after, mean over queries that have one",
    "reader_max": "largest weight of the row the prediction is read from",
}


Head = tuple[int, int]
"""A layer, counted as the explanation `attention` does, and a head of it."""


def head_statistics(forward: ForwardBatch) -> dict[Head, dict[str, Float[Tensor, " b"]]]:
    """Every statistic of every head; NaN where one has no meaning."""
    trace, text = forward.trace, forward.batch.texts["a"]
    within = self_sites(forward.model, trace)
    found: dict[Head, dict[str, Tensor]] = {}
    for layer, site in enumerate(text_sites(forward.model)):
        values = _statistics(trace, site, text, site in within)
        for head in range(trace.weights[site.name].shape[1]):
            found[layer, head] = {name: each[:, head] for name, each in values.items()}
    return found


def _statistics(
    trace: Trace, site: SiteSpec, text: Text, within: bool
) -> dict[str, Float[Tensor, "b h"]]:
    weights = trace.weights[site.name].double()
    queries = _queries(trace, site, text, within)
    special = word_numbers(text) < 0
    first = trace.masks[site.name].any(2).any(1).long().argmax(-1)
    place = first[:, None, None, None].expand(*weights.shape[:3], 1)
    shares = {
        "entropy": entropy(weights),
        "special": (weights * special[:, None, None]).sum(-1),
        "first": weights.gather(-1, place).squeeze(-1),
    }
    found = {name: _mean(share, queries) for name, share in shares.items()}
    nothing = torch.full(weights.shape[:2], torch.nan, dtype=torch.float64, device=weights.device)
    near = _neighbours(weights, queries) if within else dict.fromkeys(_OFFSETS, nothing)
    known = site.name in trace.readout_weights
    top = readout_rows(weights, trace.readout_weights[site.name]).amax(-1) if known else nothing
    return found | near | {"reader_max": top}


_OFFSETS = {"self": 0, "previous": -1, "next": 1}


def _queries(trace: Trace, site: SiteSpec, text: Text, within: bool) -> Bool[Tensor, "b q"]:
    """The queries that count: in self-attention every token, elsewhere those that are read."""
    if within or site.name not in trace.readout_weights:
        place = torch.arange(trace.weights[site.name].shape[2], device=text.lengths.device)
        return place < text.lengths[:, None]
    return trace.readout_weights[site.name] > 0


def _neighbours(
    weights: Float[Tensor, "b h q k"], queries: Bool[Tensor, "b q"]
) -> dict[str, Float[Tensor, "b h"]]:
    found = {}
    for name, offset in _OFFSETS.items():
        near = weights.diagonal(offset, -2, -1)
        start = max(0, -offset)
        both = queries[:, start : start + near.shape[-1]]
        if offset > 0:  # the last token has no next one
            both = both & queries[:, offset:]
        found[name] = _mean(near, both)
    return found


def _mean(shares: Float[Tensor, "b h q"], queries: Bool[Tensor, "b q"]) -> Float[Tensor, "b h"]:
    """NaN where there is no query."""
    chosen = shares.masked_fill(~queries[:, None], 0.0)
    return chosen.sum(-1) / queries.sum(-1).double()[:, None]


def head_maps(
    forward: ForwardBatch, most: int
) -> tuple[dict[tuple[int, int | None], Float[Tensor, "b w"]], int]:
    """The attention of every other layer (mean over heads, the head being None) and of every head,
    by word: what the explanation `attention` would give, all from one pass. Only the first `most`
    of them; and how many there are."""
    trace, batch = forward.trace, forward.batch
    rows = {
        layer: readout_rows(trace.weights[site.name], readout_weights(trace, site))
        for layer, site in enumerate(text_sites(forward.model))
        if site.name in trace.readout_weights
    }
    last = len(text_sites(forward.model)) - 1
    places: list[tuple[int, int | None]] = [(layer, None) for layer in rows if layer != last]
    for layer, weights in rows.items():
        heads = weights.shape[1]
        places += [(layer, head) for head in range(heads) if heads > 1]
    maps = {
        (layer, head): to_words(on_text(one_map(rows[layer], head), batch), batch.texts["a"])
        for layer, head in places[:most]
    }
    return maps, len(places)


# How far a head's weights can move without changing what the head puts out.
#
# A head gives α·V with Σα = 1. Where more keys can be attended than the rank of [V, 1], weights
# can move along a null space and nothing after the head can notice. That is a theorem about
# shapes, so measured is how far they really get before a weight would turn negative: vertices
# of {α ≥ 0, α·[V, 1] as before}, found by linear programmes. Vertices that were not tried may
# lie further: a lower bound. Short texts have no such freedom.


Array = NDArray[np.float64]


@dataclass(frozen=True)
class NullSpaceParams:
    """A linear programme for each of so many random directions, and one away from the
    heaviest key. (Climbing on from a vertex is of no use: each is a local optimum, since the
    divergence's slope is −∞ at a weight of zero.)"""

    directions: int = 8
    layer: int = -1
    seed: int = 0


@dataclass(frozen=True)
class NullSpace:
    """By example and head: how many `keys` can be attended, the `rank` of [V, 1], and the `jsd`
    reached at the reading rows; by example the `tvd`, how far the model's output moved with all
    heads at their new weights. Where several rows of a head are read, keys and rank are those of
    the freest one."""

    keys: Int[Tensor, "b h"]
    rank: Int[Tensor, "b h"]
    jsd: Float[Tensor, "b h"]
    tvd: Float[Tensor, " b"]

    @property
    def freedom(self) -> Int[Tensor, "b h"]:
        """0 means that weights cannot move, and `jsd` is 0."""
        return (self.keys - self.rank).clamp(min=0)


def null_space(
    model: Model, batch: Batch, params: NullSpaceParams = NullSpaceParams()
) -> NullSpace:
    """How far the weights of every head of a layer can move while what it puts out stays."""
    forward = ForwardBatch(model, batch, base_trace(model, batch, values=True))
    site, trace = text_site(model, params.layer), forward.trace
    readout = readout_weights(trace, site)
    weights = trace.weights[site.name].double().clone()
    keys, rank = torch.zeros(2, *weights.shape[:2], dtype=torch.int64, device=weights.device)
    for row in _rows(trace, site, readout):
        new = row.furthest(_directions(batch, row, params))
        weights[row.example, row.head, row.query, row.seen] = torch.from_numpy(new).to(weights)
        place = row.example, row.head
        if keys[place] == 0 or len(row.alpha) - row.rank > keys[place] - rank[place]:
            keys[place], rank[place] = len(row.alpha), row.rank
    with torch.no_grad():
        after = probabilities(resumed(forward, site, weights).logits)
    apart = jsd(weights, trace.weights[site.name].double())
    apart = torch.einsum("bq,bhq->bh", readout, apart)
    return NullSpace(keys, rank, apart, tvd(after, forward.probabilities))


@dataclass(frozen=True)
class _Row:
    """One reading row of one head: its weights on the seen keys, and [V, 1] there."""

    example: int
    head: int
    query: int
    seen: Tensor
    alpha: Array
    constraints: Array
    rank: int

    def furthest(self, directions: Array) -> Array:
        """The furthest vertex found; the weights themselves where there is no freedom."""
        if len(self.alpha) <= self.rank:
            return self.alpha
        found = [self._vertex(direction) for direction in directions]
        vertices = [self.alpha, *(each for each in found if each is not None)]
        alpha = torch.from_numpy(self.alpha)
        return max(vertices, key=lambda vertex: float(jsd(torch.from_numpy(vertex), alpha)))

    def _vertex(self, direction: Array) -> Array | None:
        """The weights that go furthest in a direction; None if the solver finds none."""
        held = self.constraints.T
        found = linprog(-direction, A_eq=held, b_eq=held @ self.alpha, bounds=(0, None))
        if found.x is None:
            return None
        kept = np.maximum(found.x, 0.0)
        return np.asarray(kept / kept.sum() * self.alpha.sum())


def _rows(trace: Trace, site: SiteSpec, readout: Tensor) -> Iterator[_Row]:
    weights, values = trace.weights[site.name], values_of(trace, site)
    masks = trace.masks[site.name].expand_as(weights)
    for example, query in (readout > 0).nonzero().tolist():
        for head in range(weights.shape[1]):
            seen = masks[example, head, query].nonzero().squeeze(-1)
            if not len(seen):
                continue
            alpha = weights[example, head, query, seen].double().cpu().numpy()
            v = values[example, head, seen].double().cpu().numpy()
            full = np.concatenate([v, np.ones((len(v), 1))], axis=1)
            yield _Row(example, head, query, seen, alpha, full, _rank(full, values.dtype))


def _rank(matrix: Array, computed_in: torch.dtype) -> int:
    """Singular values below the precision of the values count as zero."""
    share = max(matrix.shape) * torch.finfo(computed_in).eps
    return int(np.linalg.matrix_rank(matrix, rtol=share))


def _directions(batch: Batch, row: _Row, params: NullSpaceParams) -> Array:
    """Away from the heaviest key, then at random; keyed by the keys' own positions."""
    away = -np.eye(len(row.alpha))[[int(row.alpha.argmax())]]
    ids = (batch.ids[row.example],)
    keys = example_keys(params.seed, ids, "null_space", row.head, row.query)
    width = int(row.seen.max()) + 1
    random = keyed_normal(keys, (params.directions, width))[0][:, row.seen.cpu()]
    return np.concatenate([away, random.numpy()])
