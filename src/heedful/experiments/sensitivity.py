"""Does the output feel the main site's weights: their order, and their heaviest item?

Distances between outputs are JSD in nats for erasures (serrano2019), TVD for permutations
(jain2019). Items are words: a word is erased with all its tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.edits import permute
from heedful.errors import HeedfulError
from heedful.experiments.outputs import (
    base_trace,
    original,
    outputs_of,
    product,
    read_map,
    reading,
    without_word,
    words_of,
)
from heedful.metrics import TOLERANCE, jsd, tied_ranks, tvd
from heedful.models import probabilities
from heedful.randomness import example_keys, keyed_bits, keyed_uniform, stable_hash
from heedful.saliency import text_site
from heedful.types import Batch, Model, SiteSpec, Trace
from heedful.words import to_words


@dataclass(frozen=True)
class Erasure:
    """How far the output moves when one word is erased from attention and the rest
    renormalised: JSD (serrano2019), or TVD.

    `top` has most attention, `random` is any other (NaN in a text of one word), `best` moves
    the output most; `each` has them all, zero where there is no word."""

    top: Float[Tensor, " b"]
    random: Float[Tensor, " b"]
    best: Float[Tensor, " b"]
    each: Float[Tensor, "b w"]


def erasure(model: Model, batch: Batch, seed: int = 0, trace: Trace | None = None) -> Erasure:
    """By JSD."""
    return erasures(model, batch, seed, trace)[0]


def erasures(
    model: Model, batch: Batch, seed: int = 0, trace: Trace | None = None
) -> tuple[Erasure, Erasure]:
    """By JSD and by TVD. Each word in turn: a product for linear sites, else one resumed pass
    per word."""
    trace = trace or base_trace(model, batch)
    site = text_site(model)
    there, tokens = words_of(batch)
    weights, rows = trace.weights[site.name].double(), reading(trace, site)
    tries = (without_word(weights, rows, gone) for gone in tokens.unbind(1))
    after, before = outputs_of(model, batch, trace, tries), original(trace, site)[:, None]
    top = top_word(trace, site, batch)
    other = other_item(there, top, example_keys(seed, batch.ids, "erasure").to(top.device))

    def by(distance: Callable[[Tensor, Tensor], Tensor]) -> Erasure:
        each = distance(after, before).masked_fill(~there, 0.0)
        return Erasure(_pick(each, top), _pick(each, other), each.amax(-1), each)

    return by(jsd), by(tvd)


def top_word(trace: Trace, site: SiteSpec, batch: Batch) -> Int[Tensor, " b"]:
    """The word with most attention; the first of those that tie but for rounding."""
    there, _ = words_of(batch)
    tolerance = TOLERANCE[trace.weights[site.name].dtype]
    words = to_words(read_map(trace, site), batch.texts["a"])
    return tied_ranks(words, there, tolerance, own_scale=True).argmax(-1)


def tvd_permuted(
    model: Model,
    batch: Batch,
    permutations: int | None = None,
    seed: int = 0,
    trace: Trace | None = None,
) -> Float[Tensor, " b"]:
    """The median TVD over random permutations of the main site's weights: by default 100 for
    a linear site, where they cost one product, and 20 elsewhere."""
    site = text_site(model)
    draws = permutations if permutations is not None else (100 if site.linear else 20)
    if draws < 1:
        raise HeedfulError("the measure 'tvd_permuted' needs at least 1 permutation.")
    trace = trace or base_trace(model, batch)
    sample = _by_product if site.linear else _by_resuming
    moved = tvd(sample(model, batch, trace, draws, seed), original(trace, site)[:, None])
    return moved.quantile(0.5, dim=-1)


def _by_product(model: Model, batch: Batch, trace: Trace, draws: int, seed: int) -> Tensor:
    """The same draws as the probe `permutation` makes."""
    site = text_site(model)
    weights, mask = trace.weights[site.name][:, 0, 0], trace.masks[site.name][:, 0, 0]
    keys = example_keys(seed, batch.ids, "permutation", site.name).to(weights.device)
    keys = keyed_bits(keys, (1, 1))[:, 0, 0]
    return product(trace, site, _permuted(weights.double(), mask, keys, draws))


def _permuted(
    weights: Float[Tensor, "b k"], mask: Bool[Tensor, "b k"], keys: Int[Tensor, " b"], draws: int
) -> Float[Tensor, "b m k"]:
    """Each row in random orders of its unmasked places."""
    last = torch.iinfo(torch.int64).max
    bits = keyed_bits(keys, (draws, weights.shape[1])).masked_fill(~mask[:, None], last)
    shuffled = weights[:, None].expand(-1, draws, -1).gather(-1, bits.argsort(-1))
    place = (mask.cumsum(-1) - 1).clamp_min(0)
    return shuffled.gather(-1, place[:, None].expand_as(shuffled)) * mask[:, None]


def _by_resuming(model: Model, batch: Batch, trace: Trace, draws: int, seed: int) -> Tensor:
    site = text_site(model)
    after = []
    for draw in range(draws):
        edit = permute(stable_hash(seed, "tvd_permuted", draw))
        with torch.no_grad():
            after.append(probabilities(model.resume(batch, trace, {site.name: edit}).logits))
    return torch.stack(after, 1)


def other_item(
    there: Bool[Tensor, "n k"], top: Int[Tensor, " n"], keys: Int[Tensor, " n"]
) -> Int[Tensor, " n"]:
    """Any item but the top one, each as likely as the others; −1 where there is none."""
    draws = keyed_uniform(keys, (there.shape[1],)).masked_fill(~there, -1.0)
    draws = draws.scatter(1, top[:, None], -1.0)
    return torch.where(draws.amax(-1) > 0, draws.argmax(-1), -1)


def _pick(each: Tensor, word: Tensor) -> Tensor:
    found = each.gather(1, word.clamp_min(0)[:, None]).squeeze(1)
    return torch.where(word >= 0, found, torch.nan)
