"""Do attention and importance order the tokens alike? (jain2019, §4.1)"""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.catalogue import Measure, Piece
from heedful.metrics.kendall import kendall_tau_b
from heedful.metrics.ties import TOLERANCE, tied_ranks
from heedful.metrics.top_k import top_k_overlap, top_k_tau
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.saliency.embedding_gradient import differentiable
from heedful.saliency.gradient_input import gradient_input
from heedful.saliency.leave_one_out import leave_one_out
from heedful.types import AttentionRows

SIGNIFICANT = 0.05


def correlation(evidence: Evidence, k: int = 5) -> Findings:
    """τ-b of attention with gradient × input (attention detached) and with leave-one-out."""
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("correlation"):
        importance = _importance(each)
        for site in evidence.sites:
            view = each.rows(site)
            seen = {name: scores[view.example] for name, scores in importance.items()}
            collector.add(each, site, view, _measures(view, seen, k))
            maps = {"attention": view.weights, **seen}
            collector.add_maps(each, site, view, maps)
    return Findings(collector.rows(), collector.maps())


def _importance(each: Pass) -> dict[str, Tensor]:
    """Both from one encoding of the texts."""
    trace = differentiable(each.model, each.batch, through_attention=False)
    return {
        "gradient": gradient_input(
            each.model, each.batch, each.predicted, magnitude=True, trace=trace
        ),
        "leave_one_out": leave_one_out(each.model, each.batch, trace),
    }


def _measures(view: AttentionRows, importance: dict[str, Tensor], k: int) -> dict[str, Tensor]:
    mask, tolerance = view.mask, TOLERANCE[view.weights.dtype]
    weights = tied_ranks(view.weights, mask, tolerance, own_scale=True)
    gradient = tied_ranks(importance["gradient"], mask, tolerance)
    loo = tied_ranks(importance["leave_one_out"], mask, tolerance)
    measures: dict[str, Tensor] = {}
    for short, scores in (("gradient", gradient), ("loo", loo)):
        tau = kendall_tau_b(weights, scores, mask)
        measures[f"tau_{short}"] = tau.tau
        measures[f"tau_{short}_significant"] = _significant(tau.p_value)
        measures[f"ties_{short}"] = tau.ties_y
        measures[f"tau_{short}_top{k}"] = top_k_tau(weights, scores, mask, k).tau
        measures[f"overlap_{short}_top{k}"] = top_k_overlap(weights, scores, mask, k)
        measures["ties_attention"] = tau.ties_x
    measures["tau_gradient_loo"] = kendall_tau_b(gradient, loo, mask).tau
    return measures


def _significant(p: Tensor) -> Tensor:
    """1 or 0, and undefined where τ is."""
    return torch.where(p.isnan(), p, (p <= SIGNIFICANT).to(p.dtype))


PIECE = Piece(
    name="correlation",
    description="Kendall τ-b of attention with gradient × input and with leave-one-out",
    make=correlation,
    paper="jain2019",
    needs=("tokens",),
    sites="sites over tokens of text a",
    measures={
        "tau_gradient": Measure("τ-b of attention and gradient × input", True, signed=True),
        "tau_loo": Measure("τ-b of attention and leave-one-out", True, signed=True),
        "tau_gradient_loo": Measure("τ-b of the two importance measures", signed=True),
        "tau_gradient_significant": Measure("1 where p ≤ 0.05; mostly a measure of length"),
        "tau_loo_significant": Measure("1 where p ≤ 0.05; mostly a measure of length"),
        "ties_attention": Measure("share of tied pairs of attention weights"),
        "ties_gradient": Measure("share of tied pairs of gradient scores"),
        "ties_loo": Measure("share of tied pairs of leave-one-out scores"),
        "tau_gradient_top5": Measure("τ-b over the union of both top-5 sets", True, signed=True),
        "tau_loo_top5": Measure("τ-b over the union of both top-5 sets", True, signed=True),
        "overlap_gradient_top5": Measure("share of the top 5 in common", True),
        "overlap_loo_top5": Measure("share of the top 5 in common", True),
    },
)
