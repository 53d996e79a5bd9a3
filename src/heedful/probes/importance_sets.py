"""How much must go until the decision flips, in which order? (serrano2019, §5)

Rows that no proper subset flips are kept and marked: to drop them for each ranking would
compare rankings on different texts. Removing everything leaves a zero context, which is no
decision of the model's, so it is not counted as a flip. Nor is it where sparse weights are all
gone before the items are: such rows are censored there, for each ranking by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import torch
from torch import Tensor

from heedful.catalogue import NOT_NEGATIVE, SHARE, Measure, Piece
from heedful.errors import HeedfulError
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.probes.importance_sets_rankings import RANKINGS, rankings
from heedful.probes.importance_sets_steps import first_flip
from heedful.probes.importance_sets_summary import SOONER, summary
from heedful.probes.reachability import fixed
from heedful.probes.suffix_sums import remaining
from heedful.types import AttentionRows, SiteSpec

_NUMBERS_AT_ONCE = 1 << 20  # bounds the memory


def importance_sets(evidence: Evidence, most_steps: int = 64) -> Findings:
    """Every ranking on the same rows. After a linear site all steps are known at once;
    elsewhere the model is resumed for each of the first `most_steps`, and rows that have not
    flipped by then are censored there (`tried` says which share of the items that was; where
    the weights of a ranking are gone sooner, `tried_…` does)."""
    if most_steps < 1:
        raise HeedfulError("the probe 'importance_sets' needs most_steps of at least 1.")
    collector = Collector(evidence.data.ids)
    for each in evidence.resumable("importance_sets"):
        for site in evidence.sites:
            for view in _parts(each, site, each.rows(site)):
                found = _measures(each, site, view, evidence.seed, most_steps)
                collector.add(each, site, view, found)
    rows = _told(collector.rows())
    return Findings(rows, summary=summary(rows, evidence.seed))


def _parts(each: Pass, site: SiteSpec, view: AttentionRows) -> Iterator[AttentionRows]:
    """A model is resumed for a whole batch, so its rows stay together."""
    if not site.linear:
        yield view
        return
    size = view.weights.shape[1] * each.probabilities.shape[1]
    every = torch.arange(len(view.example), device=view.example.device)
    for rows in torch.split(every, max(1, _NUMBERS_AT_ONCE // size)):
        yield view.take(rows)


def _measures(
    each: Pass, site: SiteSpec, view: AttentionRows, seed: int, most_steps: int
) -> dict[str, Tensor]:
    items = view.mask.sum(-1).double()
    every = (items - 1 <= most_steps) | site.linear
    measures = {"tried": torch.where(every, 1.0, most_steps / items)}
    for name, order in rankings(each, site, view, seed).items():
        count = first_flip(each, site, view, order, most_steps)
        never, steps = count == 0, torch.where(count == 0, torch.nan, count.double())
        measures[f"count_{name}"] = steps
        measures[f"fraction_{name}"] = steps / items
        measures[f"mass_{name}"] = torch.where(never, torch.nan, _mass(view, order, count))
        measures[f"never_{name}"] = never.double()
        measures[f"{SOONER}{name}"] = _sooner(view, order, measures["tried"])
    if site.linear:
        measures["reachable"] = 1 - fixed(each, site, view)
    return measures


def _sooner(view: AttentionRows, order: Tensor, tried: Tensor) -> Tensor:
    """The share of items that can go before no weight is left; NaN where that is no sooner
    than `tried`, or all but the last one."""
    items = view.mask.sum(-1).double()
    steps = (remaining(view.weights.double().gather(1, order)) > 0).sum(-1) - 1
    share = steps.clamp_min(0) / items
    return torch.where((steps < items - 1) & (share < tried), share, torch.nan)


def _told(rows: pd.DataFrame) -> pd.DataFrame:
    """Without lines that would say of a ranking what `tried` says of all."""
    needless = rows["measure"].str.startswith(SOONER) & rows["value"].isna()
    return rows[~needless].reset_index(drop=True)


def _mass(view: AttentionRows, order: Tensor, count: Tensor) -> Tensor:
    weights = view.weights.double()
    gone = (weights / weights.sum(-1, keepdim=True)).gather(1, order).cumsum(1)
    return gone.gather(1, (count - 1).clamp_min(0)[:, None]).squeeze(1)


PIECE = Piece(
    name="importance_sets",
    description="items removed, by several rankings, until the decision flips",
    make=importance_sets,
    bounds={"most_steps": (1, 10**5)},
    version=3,
    paper="serrano2019",
    needs=("normalised",),
    measures={
        "tried": Measure(
            "share of the items up to which steps were tried; 1 for all of them", range=SHARE
        ),
        **{
            f"{SOONER}{n}": Measure(f"the same where no weight was left sooner, {m}", range=SHARE)
            for n, m in RANKINGS.items()
        },
        "reachable": Measure(
            "1 where some attention changes the decision (linear sites)", range=SHARE
        ),
        **{
            f"count_{n}": Measure(f"items removed at the flip, {m}", range=NOT_NEGATIVE)
            for n, m in RANKINGS.items()
        },
        **{
            f"fraction_{n}": Measure(f"share of items removed at the flip, {m}", False, range=SHARE)
            for n, m in RANKINGS.items()
        },
        **{
            f"mass_{n}": Measure(f"attention removed at the flip, {m}", range=SHARE)
            for n, m in RANKINGS.items()
        },
        **{
            f"never_{n}": Measure(
                f"1 where no proper subset flips the decision, {m}", False, range=SHARE
            )
            for n, m in RANKINGS.items()
        },
        **{
            f"restricted_fraction_{n}": Measure(
                f"share of items until the flip (Kaplan-Meier up to 1), {m}", False, range=SHARE
            )
            for n, m in RANKINGS.items()
        },
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
