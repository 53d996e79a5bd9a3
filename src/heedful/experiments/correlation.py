"""Do attention and importance order the tokens alike? (jain2019, §4.1; mohankumar2020)"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import differentiable, gradient_input, integrated, leave_one_out
from heedful.entries import NOT_NEGATIVE, Experiment, Measure, share, signed_share
from heedful.errors import unknown_name
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.metrics import (
    TOLERANCE,
    KendallResult,
    kendall_tau_b,
    tied_ranks,
    top_k_overlap,
    top_k_tau,
)
from heedful.types import AttentionRows

SIGNIFICANT = 0.05

SHORT = {"gradient": "gradient", "leave_one_out": "loo", "integrated_gradients": "integrated"}
"""What measures call each kind of importance."""

ALSO = ("integrated_gradients",)


def correlation(evidence: Evidence, k: int = 5, also: str | Sequence[str] = ()) -> Findings:
    """τ-b of attention with gradient × input (attention detached) and with leave-one-out;
    `also` with the magnitude of integrated gradients (attention not detached)."""
    more = (also,) if isinstance(also, str) else tuple(also)
    for name in more:
        if name not in ALSO:
            raise unknown_name("importance", name, list(ALSO))
    collector = Collector(evidence.data.ids)
    for forward in evidence.passes("correlation"):
        importance, gap = _importance(forward), {}
        if more:  # magnitudes, as of the other two, and what their sum lacks to completeness
            found = integrated(forward.model, forward.batch, forward.predicted)
            importance["integrated_gradients"] = found.scores.abs()
            gap["gap_integrated"] = found.gap
        for site in evidence.sites:
            view = forward.rows(site)
            seen = {name: scores[view.example] for name, scores in importance.items()}
            gaps = {name: values[view.example] for name, values in gap.items()}
            collector.add(forward, site, view, _measures(view, seen, k) | gaps)
            maps = {"attention": view.weights, **seen}
            collector.add_maps(forward, site, view, maps)
    return Findings(collector.rows(), collector.maps())


def _importance(forward: ForwardBatch) -> dict[str, Tensor]:
    """Both from one encoding of the texts."""
    trace = differentiable(forward.model, forward.batch, through_attention=False)
    return {
        "gradient": gradient_input(
            forward.model, forward.batch, forward.predicted, magnitude=True, trace=trace
        ),
        "leave_one_out": leave_one_out(forward.model, forward.batch, trace),
    }


def _measures(view: AttentionRows, importance: dict[str, Tensor], k: int) -> dict[str, Tensor]:
    mask = view.mask
    named = {SHORT[name]: scores.abs() for name, scores in importance.items()}
    ranks = _ranked({**named, "attention": view.weights}, mask, ("attention",), view.weights.dtype)
    weights = ranks.pop("attention")
    measures: dict[str, Tensor] = {}
    for short, scores in ranks.items():
        tau = kendall_tau_b(weights, scores, mask)
        measures[f"tau_{short}"] = tau.tau
        measures[f"tau_{short}_significant"] = _significant(tau.p_value)
        measures[f"ties_{short}"] = tau.ties_y
        measures[f"tau_{short}_top{k}"] = top_k_tau(weights, scores, mask, k).tau
        measures[f"overlap_{short}_top{k}"] = top_k_overlap(weights, scores, mask, k)
        measures["ties_attention"] = tau.ties_x
    measures["tau_gradient_loo"] = kendall_tau_b(ranks["gradient"], ranks["loo"], mask).tau
    return measures


def _significant(p: Tensor) -> Tensor:
    """1 or 0, and undefined where τ is."""
    return torch.where(p.isnan(), p, (p <= SIGNIFICANT).to(p.dtype))


_OF = {
    "gradient": "gradient × input",
    "loo": "leave-one-out",
    "integrated": "|integrated gradients|",
}


def _described(short: str) -> dict[str, Measure]:
    """The measures of one kind of importance."""
    return {
        f"tau_{short}": signed_share(f"τ-b of attention and {_OF[short]}", True),
        f"tau_{short}_significant": share("1 where p ≤ 0.05; mostly a measure of length"),
        f"ties_{short}": share(f"share of tied pairs of {_OF[short]} scores"),
        f"tau_{short}_top5": signed_share("τ-b over the union of both top-5 sets", True),
        f"overlap_{short}_top5": share("share of the top 5 in common", True),
    }


# Do two explanations order the words of a text alike?
#
# Attention has no sign, so it is compared with the magnitude of an importance: a word that
# speaks against the decision is important too. Only two signed explanations are compared
# with their signs.


Scores = Float[Tensor, "b w"]


def agreement(
    explanations: Mapping[str, Scores],
    mask: Bool[Tensor, "b w"],
    signed: Collection[str] = (),
    weights: Collection[str] = ("attention",),
    precision: torch.dtype = torch.float32,
    others: Collection[str] | None = None,
) -> dict[tuple[str, str], KendallResult]:
    """τ-b over words of every pair, in the order given; `ties_x` and `ties_y` are the share of
    pairs of words that tie. With `others` only the pairs with one of these.

    `signed` names the explanations whose sign means something, `weights` those that come from
    a softmax (their rounding error is a share of each weight; otherwise of the text's largest
    score), `precision` what the model computed in: closer scores than it can tell tie.
    """
    sizes = {name: scores.abs() for name, scores in explanations.items()}
    by_size = _ranked(sizes, mask, weights, precision)
    as_signed = {name: scores for name, scores in explanations.items() if name in signed}
    by_sign = _ranked(as_signed, mask, weights, precision)
    pairs = [
        pair for pair in combinations(explanations, 2) if others is None or {*pair} & {*others}
    ]
    if not pairs:
        return {}
    ranks = [by_sign if {*pair} <= {*signed} else by_size for pair in pairs]
    x, y = (
        torch.cat([known[pair[side]] for known, pair in zip(ranks, pairs, strict=True)])
        for side in (0, 1)
    )
    found = kendall_tau_b(x, y, mask.repeat(len(pairs), 1))
    columns = [column.reshape(len(pairs), len(mask)) for column in vars(found).values()]
    return {pair: KendallResult(*parts) for pair, *parts in zip(pairs, *columns, strict=True)}


def _ranked(
    explanations: Mapping[str, Scores],
    mask: Bool[Tensor, "b w"],
    weights: Collection[str],
    precision: torch.dtype,
) -> dict[str, Scores]:
    """Ranks with ties by tolerance; a row with NaN keeps it, so that its τ is undefined."""
    ranks: dict[str, Scores] = {}
    for own_scale in (False, True):
        names = [name for name in explanations if (name in weights) == own_scale]
        if names:
            scores = torch.stack([explanations[name].double() for name in names])
            rows, masks = scores.flatten(0, 1), mask.repeat(len(names), 1)
            tied = tied_ranks(rows, masks, TOLERANCE[precision], own_scale).double()
            undefined = (rows.isnan() & masks).any(-1, keepdim=True)
            parts = torch.where(undefined, torch.nan, tied).reshape(scores.shape)
            ranks |= dict(zip(names, parts, strict=True))
    return ranks


ENTRY = Experiment(
    name="correlation",
    description="Kendall τ-b of attention with gradient × input and with leave-one-out",
    make=correlation,
    bounds={"k": (1, 10**6)},
    by_text=True,
    version=3,
    paper="jain2019",
    needs=("tokens",),
    sites="sites over tokens of text a",
    measures={
        **_described("gradient"),
        **_described("loo"),
        "tau_gradient_loo": signed_share("τ-b of the two importance measures"),
        "ties_attention": share("share of tied pairs of attention weights"),
        **_described("integrated"),
        "gap_integrated": Measure(
            "what integrated gradients lack to completeness", False, range=NOT_NEGATIVE
        ),
    },
    formula=(
        "τ_b(α, |Σ_d ∂p/∂e_td · e_td|), α held constant in the derivative; τ_b(α, TVD(p(x), p(x "
        "without t)))"
    ),
    higher=(
        "attention orders tokens as importance does; `tau_gradient_loo` is how well the two "
        "importances agree with each other"
    ),
    cost=(
        "a gradient and a deletion of every token: at most the square of a text's length, less "
        "where an encoder has a shortcut"
    ),
    limits=(
        "Gradients and deletions measure importance, neither is the truth. All pairs of tokens "
        "count alike, and what is significant is mostly what is long."
    ),
)
