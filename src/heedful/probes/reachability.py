"""Which outputs can attention reach at all?

Every attention gives logits in the convex hull of the tokens' own logits, so a decision
that every single token makes is one that no attention can change.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.models import class_logits, probabilities
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.types import AttentionRows, SiteSpec


def reachability(evidence: Evidence) -> Findings:
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("reachability"):
        for site in evidence.sites:
            view = each.rows(site)
            collector.add(each, site, view, _measures(each, site, view))
    return Findings(collector.rows())


def _measures(each: Pass, site: SiteSpec, view: AttentionRows) -> dict[str, Tensor]:
    logits = alone(each, site, view)
    measures = {"fixed": fixed(each, site, view)}
    if logits.shape[-1] == 1:
        p = probabilities(logits)[..., 1]
        measures["lowest"] = torch.where(view.mask, p, 2.0).amin(-1)
        measures["highest"] = torch.where(view.mask, p, -1.0).amax(-1)
    return measures


def fixed(each: Pass, site: SiteSpec, view: AttentionRows) -> Float[Tensor, " n"]:
    """1 where every item alone makes the decision that is made, else 0."""
    decision = class_logits(alone(each, site, view)).argmax(-1)
    same = decision == each.predicted[view.example][:, None]
    return (same | ~view.mask).all(-1).double()


def alone(each: Pass, site: SiteSpec, view: AttentionRows) -> Tensor:
    """The logits of each item, had it all the attention."""
    token_logits = each.trace.token_logits[site.name]
    return (token_logits.values.double() + token_logits.bias.double())[view.example]


PIECE = Piece(
    name="reachability",
    description="the outputs attention can reach, and the decisions no attention can change",
    make=reachability,
    by_text=True,
    version=2,
    needs=("linear", "normalised"),
    sites="linear",
    measures={
        "fixed": Measure("1 where no attention changes the decision", range=SHARE),
        "lowest": Measure("lowest probability of class 1 that some attention gives", range=SHARE),
        "highest": Measure("highest probability of class 1 that some attention gives", range=SHARE),
    },
    formula=(
        "fixed = [every token's own logits z_t + b make the model's decision]; lowest and "
        "highest: min and max over t of σ(z_t + b)"
    ),
    higher=(
        "of `fixed`: more decisions that no attention could change; of `lowest` and `highest`: "
        "that end of what it can reach is higher"
    ),
    cost="one pass over the texts",
    limits=(
        "Only where logits are a weighted mean of the tokens' own. Within what can be reached "
        "it does not say where attention should be."
    ),
)
