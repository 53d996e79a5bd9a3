"""How much must go until the decision flips, in which order? (serrano2019, §5)

Rows that no proper subset flips are kept and marked: to drop them for each ranking would
compare rankings on different texts. Removing everything leaves a zero context, which is no
decision of the model's, so it is not counted as a flip.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from heedful.catalogue import Measure, Piece
from heedful.errors import HeedfulError
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.probes.importance_sets_rankings import RANKINGS, rankings
from heedful.probes.importance_sets_steps import first_flip
from heedful.probes.importance_sets_summary import summary
from heedful.probes.reachability import fixed
from heedful.types import AttentionRows, SiteSpec

_NUMBERS_AT_ONCE = 1 << 20  # bounds the memory


def importance_sets(evidence: Evidence, most_steps: int = 64) -> Findings:
    """Every ranking on the same rows. After a linear site all steps are known at once;
    elsewhere the model is resumed for each of the first `most_steps`, and rows that have not
    flipped by then are censored there (`tried` says which share of the items that was)."""
    if most_steps < 1:
        raise HeedfulError("the probe 'importance_sets' needs most_steps of at least 1.")
    collector = Collector(evidence.data.ids)
    for each in evidence.resumable("importance_sets"):
        for site in evidence.sites:
            for view in _parts(each, site, each.rows(site)):
                found = _measures(each, site, view, evidence.seed, most_steps)
                collector.add(each, site, view, found)
    rows = collector.rows()
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
    if site.linear:
        measures["reachable"] = 1 - fixed(each, site, view)
    return measures


def _mass(view: AttentionRows, order: Tensor, count: Tensor) -> Tensor:
    weights = view.weights.double()
    gone = (weights / weights.sum(-1, keepdim=True)).gather(1, order).cumsum(1)
    return gone.gather(1, (count - 1).clamp_min(0)[:, None]).squeeze(1)


PIECE = Piece(
    name="importance_sets",
    description="items removed, by several rankings, until the decision flips",
    make=importance_sets,
    version=2,
    paper="serrano2019",
    needs=("normalised",),
    measures={
        "tried": Measure("share of the items up to which steps were tried; 1 for all of them"),
        "reachable": Measure("1 where some attention changes the decision (linear sites)"),
        **{f"count_{n}": Measure(f"items removed at the flip, {m}") for n, m in RANKINGS.items()},
        **{
            f"fraction_{n}": Measure(f"share of items removed at the flip, {m}", False)
            for n, m in RANKINGS.items()
        },
        **{
            f"mass_{n}": Measure(f"attention removed at the flip, {m}") for n, m in RANKINGS.items()
        },
        **{
            f"never_{n}": Measure(f"1 where no proper subset flips the decision, {m}", False)
            for n, m in RANKINGS.items()
        },
        **{
            f"restricted_fraction_{n}": Measure(
                f"share of items until the flip (Kaplan-Meier up to 1), {m}", False
            )
            for n, m in RANKINGS.items()
        },
    },
)
