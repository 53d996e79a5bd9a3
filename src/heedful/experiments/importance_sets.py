"""How much must go until the decision flips, in which order? (serrano2019, §5)

The orders in which items are removed go from the most important on.

∂p/∂α is that of the predicted class's probability, signed. The published product with α
leaves out that the rest is renormalised; α_i (∂_i − Σ_j α_j ∂_j) is the first-order fall of
the probability when item i is erased and the rest renormalised, but for the factor
1/(1 − α_i): for two classes ∂ is ±p(1 − p) z, and this is the centred α_i (z_i − Σ α z).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import NOT_NEGATIVE, SHARE, Experiment, Measure, Range, share
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Collector, Evidence, Findings, SiteRows
from heedful.experiments.outputs import (
    linear_logits,
    remaining,
    rerun,
    rows_at_once,
    token_logits_of,
)
from heedful.experiments.permutation import row_keys
from heedful.experiments.reachability import fixed
from heedful.experiments.score import summary_line
from heedful.interventions import renormalised
from heedful.metrics import COLUMNS, TOLERANCE, restricted_mean, summarise, survival, tied_ranks
from heedful.models import class_logits, probabilities
from heedful.randomness import keyed_uniform
from heedful.types import AttentionRows

RANKINGS = {
    "attention": "attention descending",
    "gradient": "∂p/∂α descending",
    "gradient_attention": "∂p/∂α · α descending",
    "centred": "α (∂p/∂α − Σ α ∂p/∂α) descending",
    "random": "random order",
    "ascending": "attention ascending",
}


def rankings(view: SiteRows, seed: int) -> dict[str, Int[Tensor, "n k"]]:
    """Positions in the order of their removal, masked ones last. Where scores tie but for
    rounding, the earlier position goes first."""
    weights = view.weights.double()
    slope = slopes(view)
    mean = (weights * slope).sum(-1, keepdim=True)
    keys = row_keys(view, seed, "importance_sets")
    tolerance = TOLERANCE[view.weights.dtype]
    attention = tied_ranks(weights, view.mask, tolerance, own_scale=True)
    top = int(attention.max()) + 1
    ranks = {
        "attention": attention,
        "gradient": tied_ranks(slope, view.mask, tolerance),
        "gradient_attention": tied_ranks(slope * weights, view.mask, tolerance),
        "centred": tied_ranks(weights * (slope - mean), view.mask, tolerance),
        "random": tied_ranks(keyed_uniform(keys, (weights.shape[1],)), view.mask, 0.0),
        "ascending": (top - attention).masked_fill(~view.mask, -1),
    }
    return {
        name: rank.argsort(dim=-1, descending=True, stable=True) for name, rank in ranks.items()
    }


def slopes(view: SiteRows) -> Float[Tensor, "n k"]:
    """∂p/∂α of the predicted class: in closed form, or through the model. Where an example
    has several rows, its output depends on all of them, and each gets its own part."""
    return _closed(view) if view.site.linear else _derived(view)


def _closed(view: SiteRows) -> Tensor:
    """p_c (z_{i,c} − Σ_k p_k z_{i,k})."""
    z = class_logits(view.forward.trace.token_logits[view.site.name].values)[view.example]
    p = probabilities(linear_logits(view, view.weights[:, None].double())[:, 0])
    top, predicted = p.max(-1, keepdim=True)
    own = z.gather(2, predicted[:, None].expand(-1, z.shape[1], 1)).squeeze(2)
    return top * (own - torch.einsum("nkc,nc->nk", z, p))


def _derived(view: SiteRows) -> Tensor:
    with torch.enable_grad():
        weights = view.weights.detach().double().requires_grad_()
        p = rerun(view, weights).amax(-1)
        rows = torch.bincount(view.example)[view.example]  # the same p, once for each of them
        (slope,) = torch.autograd.grad((p / rows).sum(), weights)
    return slope


# The first step of an order of removal at which the decision flips.


def first_flip(view: SiteRows, order: Int[Tensor, "n k"], most_steps: int) -> Int[Tensor, " n"]:
    """How many items are gone then; 0 where no tried proper subset flips the decision."""
    if view.site.linear:
        return _at_once(view, order)
    with torch.no_grad():
        return _step_by_step(view, order, most_steps)


def _at_once(view: SiteRows, order: Tensor) -> Tensor:
    """Column s is what is left after s steps; past the last item no weight is left."""
    values, bias = token_logits_of(view)
    weights = view.weights.double().gather(1, order)
    values = values.gather(1, order[..., None].expand_as(values))
    left, mixed = remaining(weights), remaining(weights[..., None] * values)
    logits = mixed / torch.where(left > 0, left, 1.0)[..., None] + bias
    decision = class_logits(logits).argmax(-1)
    flipped = (decision != decision[:, :1]) & (left > 0)
    return flipped.long().argmax(-1)


def _step_by_step(view: SiteRows, order: Tensor, most_steps: int) -> Tensor:
    """All rows of an example lose their own first items together."""
    weights, items = view.weights.double(), view.mask.sum(-1)
    place = order.argsort(-1)
    before = rerun(view, weights).argmax(-1)
    count = torch.zeros_like(items)
    for step in range(1, min(most_steps, int(items.max()) - 1) + 1):
        kept = weights.masked_fill(place < step, 0.0)
        after = rerun(view, renormalised(kept)).argmax(-1)
        new = (after != before) & (count == 0) & (kept.sum(-1) > 0)
        count = torch.where(new, step, count)
        if bool(((count > 0) | (items <= step + 1)).all()):
            break
    return count


# Summaries of rows some of which never flip, every ranking on the same examples.


SOONER = "tried_"
"""Of a ranking whose weights are gone before its items are."""

_AT_THE_FLIP = ("count_", "fraction_", "mass_")

_NORMAL = 1.959963984540054  # 95% of a normal distribution lie within so many sd


def summary(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
    """What is measured at the flip is summarised over the examples that all rankings flip (as
    many as `n` says), the rest over all; `restricted_fraction_…` are Kaplan and Meier's mean
    and median with the never-flipping ones censored, over all examples."""
    wide = rows.pivot(index=["site", "example", "head", "query"], columns="measure", values="value")
    never = wide[[f"never_{name}" for name in RANKINGS]].max(axis=1)
    place = pd.MultiIndex.from_frame(rows[["site", "example", "head", "query"]])
    at_the_flip = rows["measure"].str.startswith(_AT_THE_FLIP)
    common = rows[~at_the_flip | (never.loc[place] == 0).to_numpy()]
    lines = [line for site, part in wide.groupby("site") for line in _survival(str(site), part)]
    restricted = pd.DataFrame(lines, columns=COLUMNS)
    table = pd.concat([summarise(common, seed), restricted], ignore_index=True)
    return table.sort_values(["site", "measure"], kind="stable", ignore_index=True)


def _survival(site: str, wide: pd.DataFrame) -> Iterator[dict[str, Any]]:
    # an example's heads flip together: one row each
    wide = wide[~wide.index.get_level_values("example").duplicated()]
    for name in RANKINGS:
        censored = wide[f"never_{name}"].to_numpy() > 0
        tried = wide.get(f"{SOONER}{name}", wide["tried"]).fillna(wide["tried"])
        shares = np.where(censored, tried, wide[f"fraction_{name}"])
        found = restricted_mean(shares, censored)
        ends = (found.mean - _NORMAL * found.error, found.mean + _NORMAL * found.error)
        place = (site, f"restricted_fraction_{name}", "all")
        median = survival(shares, censored).quantile(0.5)
        yield summary_line(place, found.n, found.mean, ends, median)


# Rows that no proper subset flips are kept and marked: to drop them for each ranking would
# compare rankings on different texts. Removing everything leaves a zero context, which is no
# decision of the model's, so it is not counted as a flip. Nor is it where sparse weights are all
# gone before the items are: such rows are censored there, for each ranking by itself.


_NUMBERS_AT_ONCE = 1 << 20  # bounds the memory


def importance_sets(evidence: Evidence, most_steps: int = 64) -> Findings:
    """Every ranking on the same rows. After a linear site all steps are known at once;
    elsewhere the model is resumed for each of the first `most_steps`, and rows that have not
    flipped by then are censored there (`tried` says which share of the items that was; where
    the weights of a ranking are gone sooner, `tried_…` does)."""
    if most_steps < 1:
        raise HeedfulError("the probe 'importance_sets' needs most_steps of at least 1.")
    collector = Collector(evidence.data.ids)
    for forward in evidence.resumable("importance_sets"):
        for site in evidence.sites:
            view = forward.rows(site)
            size = view.weights.shape[1] * forward.probabilities.shape[1]
            # a model is resumed for a whole batch, so its rows stay together
            parts = rows_at_once(view, _NUMBERS_AT_ONCE, size) if site.linear else [view]
            for part in parts:
                found = _measures(part, evidence.seed, most_steps)
                collector.add(forward, site, part, found)
    rows = collector.rows()
    # without lines that would say of a ranking what `tried` says of all
    needless = rows["measure"].str.startswith(SOONER) & rows["value"].isna()
    rows = rows[~needless].reset_index(drop=True)
    return Findings(rows, summary=summary(rows, evidence.seed))


def _measures(view: SiteRows, seed: int, most_steps: int) -> dict[str, Tensor]:
    items = view.mask.sum(-1).double()
    every = (items - 1 <= most_steps) | view.site.linear
    measures = {"tried": torch.where(every, 1.0, most_steps / items)}
    for name, order in rankings(view, seed).items():
        count = first_flip(view, order, most_steps)
        never, steps = count == 0, torch.where(count == 0, torch.nan, count.double())
        measures[f"count_{name}"] = steps
        measures[f"fraction_{name}"] = steps / items
        measures[f"mass_{name}"] = torch.where(never, torch.nan, _mass(view, order, count))
        measures[f"never_{name}"] = never.double()
        measures[f"{SOONER}{name}"] = _sooner(view, order, measures["tried"])
    if view.site.linear:
        measures["reachable"] = 1 - fixed(view)
    return measures


def _sooner(view: AttentionRows, order: Tensor, tried: Tensor) -> Tensor:
    """The share of items that can go before no weight is left; NaN where that is no sooner
    than `tried`, or all but the last one."""
    items = view.mask.sum(-1).double()
    steps = (remaining(view.weights.double().gather(1, order)) > 0).sum(-1) - 1
    share = steps.clamp_min(0) / items
    return torch.where((steps < items - 1) & (share < tried), share, torch.nan)


def _mass(view: AttentionRows, order: Tensor, count: Tensor) -> Tensor:
    weights = view.weights.double()
    gone = (weights / weights.sum(-1, keepdim=True)).gather(1, order).cumsum(1)
    return gone.gather(1, (count - 1).clamp_min(0)[:, None]).squeeze(1)


def _by_ranking(*kinds: tuple[str, str, bool | None, Range]) -> dict[str, Measure]:
    """Measures of each kind, one for each ranking."""
    return {
        f"{kind}{name}": Measure(f"{words}, {order}", better, range=limits)
        for kind, words, better, limits in kinds
        for name, order in RANKINGS.items()
    }


ENTRY = Experiment(
    name="importance_sets",
    description="items removed, by several rankings, until the decision flips",
    make=importance_sets,
    bounds={"most_steps": (1, 10**5)},
    version=3,
    paper="serrano2019",
    needs=("normalised",),
    measures={
        "tried": share("share of the items up to which steps were tried; 1 for all of them"),
        **_by_ranking((SOONER, "the same where no weight was left sooner", None, SHARE)),
        "reachable": share("1 where some attention changes the decision (linear sites)"),
        **_by_ranking(
            ("count_", "items removed at the flip", None, NOT_NEGATIVE),
            ("fraction_", "share of items removed at the flip", False, SHARE),
            ("mass_", "attention removed at the flip", None, SHARE),
            ("never_", "1 where no proper subset flips the decision", False, SHARE),
            (
                "restricted_fraction_",
                "share of items until the flip (Kaplan-Meier up to 1)",
                False,
                SHARE,
            ),
        ),
    },
    formula=(
        "min k: the decision flips when the first k of n items in an order are erased and the "
        "rest renormalised; fraction = k / n"
    ),
    higher="more must go before the decision flips: that order finds the decisive items later",
    cost=(
        "linear sites: sorting, for each of 6 orders; elsewhere up to 64 runs of what follows "
        "attention for each"
    ),
    limits=(
        "The smallest set in an order is not the smallest there is. Rows that never flip are "
        "censored, not dropped. States stay as they are."
    ),
)
