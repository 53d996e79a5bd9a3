"""Does the heaviest item matter more than another one? (serrano2019, §4.1)

An item is erased by a weight of 0 and renormalising; the states stay, and what follows is
run again. Items are tokens, of which all rows of an example (its heads) lose their own together,
or words with all their tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.attributions import text_site
from heedful.entries import LN2, Experiment, Measure, share
from heedful.experiments.evidence import Evidence, Findings, ForwardBatch, SiteRows, by_rows
from heedful.experiments.outputs import (
    less,
    original,
    others,
    outputs,
    outputs_by_example,
    read_map,
    rows_at_once,
    token_logits_of,
    words_of,
)
from heedful.experiments.permutation import row_keys
from heedful.metrics import TOLERANCE, jsd, tied_ranks, tvd
from heedful.models import probabilities
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import AttentionRows, Batch, SiteSpec, Trace
from heedful.words import to_words

_NUMBERS_AT_ONCE = 1 << 22  # bounds the memory
_ROUNDING = 1e-12  # a divergence below it is none


def erasure(evidence: Evidence) -> Findings:
    """ΔJS = JS(p, q of the heaviest) − JS(p, q of a random other), and their weights'
    difference. Undefined for rows of one item, and where all weight is on one: without it there
    is no context left to decide by."""

    def measured(view: SiteRows) -> dict[str, Tensor]:
        found = erased(view, evidence.seed)
        best = {"js_best": _best(view)} if view.site.linear else {}
        return _where_known(found, _measures(view, found) | best)

    return by_rows(evidence, evidence.resumable("erasure"), measured)


def _where_known(found: Erased, measures: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n: torch.where(found.known, values, torch.nan) for n, values in measures.items()}


@dataclass(frozen=True)
class Erased:
    """Outputs as they are, less each row's heaviest item, and less a random other one, which
    is −1 where there is none. `known` are the rows where either erasure leaves some weight."""

    top: Int[Tensor, " n"]
    other: Int[Tensor, " n"]
    whole: Float[Tensor, "n c"]
    less_top: Float[Tensor, "n c"]
    less_other: Float[Tensor, "n c"]
    known: Bool[Tensor, " n"]


def erased(view: SiteRows, seed: int) -> Erased:
    """Of the tokens of each row."""
    top = heaviest(view.weights, view.mask, view.weights.dtype)
    other = other_item(view.mask, top, row_keys(view, seed, "erasure"))
    weights = view.weights.double()
    place = torch.arange(weights.shape[1], device=weights.device)
    chosen = (item.clamp_min(0)[:, None] for item in (top, other))
    tries = [weights, *(less(weights, place == item) for item in chosen)]
    known = (other >= 0) & (tries[1].sum(-1) > 0)
    with torch.no_grad():
        whole, less_top, less_other = outputs(view, torch.stack(tries, 1)).unbind(1)
    return Erased(top, other, whole, less_top, less_other, known)


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


def erasures(forward: ForwardBatch, seed: int = 0) -> tuple[Erasure, Erasure]:
    """Of the words of each text, with all their tokens, by JSD and by TVD. Each word in turn: a
    product for linear sites, else one resumed pass per word."""
    batch, site = forward.batch, text_site(forward.model)
    view, (there, tokens) = forward.rows(site), words_of(batch)
    weights = view.weights.double()
    tries = (less(weights, gone[view.example]) for gone in tokens.unbind(1))
    after = outputs_by_example(view, tries)
    before = original(view)[:, None]
    top = top_word(forward.trace, site, batch)
    other = other_item(there, top, example_keys(seed, batch.ids, "erasure").to(top.device))

    def by(distance: Callable[[Tensor, Tensor], Tensor]) -> Erasure:
        moved = distance(after, before).masked_fill(~there, 0.0)
        return Erasure(_pick(moved, top), _pick(moved, other), moved.amax(-1), moved)

    return by(jsd), by(tvd)


def top_word(trace: Trace, site: SiteSpec, batch: Batch) -> Int[Tensor, " b"]:
    """The word with most attention."""
    words = to_words(read_map(trace, site), batch.texts["a"])
    return heaviest(words, words_of(batch)[0], trace.weights[site.name].dtype)


def heaviest(
    scores: Float[Tensor, "n k"], there: Bool[Tensor, "n k"], computed_in: torch.dtype
) -> Int[Tensor, " n"]:
    """The item with most attention; the first of those that tie but for rounding."""
    return tied_ranks(scores, there, TOLERANCE[computed_in], own_scale=True).argmax(-1)


def other_item(
    there: Bool[Tensor, "n k"], top: Int[Tensor, " n"], keys: Int[Tensor, " n"]
) -> Int[Tensor, " n"]:
    """Any item but the top one, each as likely as the others; −1 where there is none."""
    draws = keyed_uniform(keys, (there.shape[1],)).masked_fill(~there, -1.0)
    draws = draws.scatter(1, top[:, None], -1.0)
    return torch.where(draws.amax(-1) > 0, draws.argmax(-1), -1)


def _pick(moved: Tensor, item: Tensor) -> Tensor:
    found = moved.gather(1, item.clamp_min(0)[:, None]).squeeze(1)
    return torch.where(item >= 0, found, torch.nan)


def _measures(view: AttentionRows, found: Erased) -> dict[str, Tensor]:
    top, other = jsd(found.less_top, found.whole), jsd(found.less_other, found.whole)
    # the same word may be there twice: rounding must not say which matters more
    tied = TOLERANCE[view.weights.dtype] * torch.maximum(top, other) + _ROUNDING
    weights = view.weights.double()
    return {
        "js_top": top,
        "js_random": other,
        "js_difference": top - other,
        "weight_difference": _pick(weights, found.top) - _pick(weights, found.other),
        "negative": (top - other < -tied).double(),
    }


def _best(view: SiteRows) -> Tensor:
    """The largest divergence that erasing one item makes, over all items."""
    size = view.weights.shape[1] * view.forward.probabilities.shape[1]
    parts = rows_at_once(view, _NUMBERS_AT_ONCE, size)
    return torch.cat([_each_erased(part).amax(-1) for part in parts])


def _each_erased(view: SiteRows) -> Tensor:
    weights, (values, bias) = view.weights.double(), token_logits_of(view)
    mixed = weights[..., None] * values
    left = others(weights)[..., None]
    after = probabilities(others(mixed) / torch.where(left > 0, left, 1.0) + bias)
    before = probabilities(mixed.sum(1, keepdim=True) + bias)
    return jsd(after, before).masked_fill(~view.mask, 0.0)


ERASURE = Experiment(
    name="erasure",
    description="change of the output without the heaviest item, and without a random other one",
    make=erasure,
    by_text=True,
    version=3,
    paper="serrano2019",
    needs=("normalised",),
    measures={
        "js_top": Measure("JS divergence of the output without the heaviest item", True, range=LN2),
        "js_random": Measure("JS divergence of the output without a random other item", range=LN2),
        "js_difference": Measure("js_top − js_random", True, signed=True, range=(-LN2[1], LN2[1])),
        "weight_difference": share("weight of the heaviest item less that of the random one"),
        "negative": share("1 where the random item matters more than the heaviest", False),
        "js_best": Measure(
            "largest JS divergence that erasing one item makes (linear sites)", range=LN2
        ),
    },
    formula=(
        "js_difference = JSD(p, p without the heaviest item) − JSD(p, p without a random other "
        "one), the rest renormalised"
    ),
    higher="the heaviest item matters more than another one",
    cost="two runs of what follows attention; after a linear site all single erasures at once",
    limits=(
        "One item at a time: what two do together is not seen. States stay, so what an erased "
        "token left in its neighbours is still read."
    ),
)


# Which erasure flips the decision: that of the heaviest item, or of a random one?
# (serrano2019, §4.2)


def flips(evidence: Evidence) -> Findings:
    """A table of two by two, one cell a measure, so that means are its shares. The random
    item is the one of the probe `erasure`, and undefined are the same rows: of one item, or
    with all weight on one."""

    def measured(view: SiteRows) -> dict[str, Tensor]:
        found = erased(view, evidence.seed)
        before = found.whole.argmax(-1)
        top, other = found.less_top.argmax(-1) != before, found.less_other.argmax(-1) != before
        cells = {
            "flip_both": top & other,
            "flip_top_only": top & ~other,
            "flip_random_only": ~top & other,
            "flip_neither": ~top & ~other,
        }
        return _where_known(found, {name: cell.double() for name, cell in cells.items()})

    return by_rows(evidence, evidence.resumable("flips"), measured)


FLIPS = Experiment(
    name="flips",
    description="does erasing the heaviest item flip the decision, does erasing a random one",
    make=flips,
    by_text=True,
    version=3,
    paper="serrano2019",
    needs=("normalised",),
    measures={
        "flip_both": share("1 where either erasure flips the decision"),
        "flip_top_only": share("1 where only erasing the heaviest item flips it", True),
        "flip_random_only": share("1 where only erasing the random item flips it", False),
        "flip_neither": share("1 where neither does"),
    },
    formula=(
        "[the decision flips without the heaviest item] × [it flips without a random other "
        "one]: four cells that sum to 1"
    ),
    higher=(
        "of `flip_top_only`: decisions hang on the heaviest item; of `flip_random_only`: on "
        "another one"
    ),
    cost="two runs of what follows attention",
    limits="Most decisions do not hang on one item, and those say nothing about attention.",
)
