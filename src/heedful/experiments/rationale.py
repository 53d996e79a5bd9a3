"""How much of an explanation lies where people found the reason, or the generator put it?

By tokens of attention, by words of any explanation, and by ERASER's own definitions.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import SHARE, SIGNED, Experiment, Measure, share
from heedful.experiments.evidence import (
    Evidence,
    Findings,
    ForwardBatch,
    SiteRows,
    by_rows,
    place_of,
)
from heedful.experiments.faithfulness import (
    Curves,
    Grid,
    comprehensiveness,
    counts_of,
    ranking,
    sufficiency,
)
from heedful.metrics import (
    TOLERANCE,
    auprc,
    auprc_by_trapezoids,
    iou_f1,
    mass_inside,
    span_matches,
    tied_ranks,
    token_f1,
)


def rationale(evidence: Evidence) -> Findings:
    """Undefined where an example has no rationale. Even attention has `share_inside` of its
    mass there."""

    def measured(view: SiteRows) -> dict[str, Tensor]:
        inside, weights = marked(evidence, view.forward)[view.example], view.weights.double()
        return {
            "mass_inside": mass_inside(weights, inside, view.mask),
            "share_inside": mass_inside(view.mask.double(), inside, view.mask),
            "auprc": auprc(weights, inside, view.mask),
        }

    return by_rows(evidence, evidence.passes("rationale"), measured)


def marked(evidence: Evidence, forward: ForwardBatch) -> Bool[Tensor, "b t"]:
    """The tokens in a rationale; a mark is there for each real token."""
    place = place_of(evidence.data.ids)
    real = forward.batch.texts["a"].mask
    inside = torch.zeros_like(real)
    for row, example in enumerate(forward.batch.ids):
        marks = evidence.data.rationale(place[example])
        if marks is not None:
            inside[row, real[row]] = torch.from_numpy(np.array(marks, dtype=bool)).to(real.device)
    return inside


# Does an explanation point where people point? A question about readers, not about the model.
#
# Rationales are sets of words. Where a set of words is asked of an explanation, it gives its
# top k, with k the size of the rationale: no threshold is fitted. Texts whose rationale is
# empty or everything say nothing about an order of words and are NaN for every measure.


PLAUSIBILITY_MEASURES = {
    "auprc": share("average precision of the rationale's words", True),
    "token_f1": share("F1 of the top k words, k the rationale's size", True),
    "iou_f1": share("F1 of the top k words' spans, matched at IOU ≥ 0.5", True),
    "mass_inside": share("share of the scores' magnitude inside the rationale", True),
}

Values = dict[str, Float[Tensor, " b"]]


def plausibility(
    scores: Float[Tensor, "b w"],
    rationale: Bool[Tensor, "b w"],
    mask: Bool[Tensor, "b w"],
    ids: tuple[str, ...],
    seed: int = 0,
) -> Values:
    """Every measure of one explanation. Ties among the top k fall by chance, keyed by example."""
    rationale = rationale & mask
    size = rationale.sum(-1)
    top, ranks, numbers = _chosen(scores, mask, size[:, None], (ids, seed))
    values = {
        "auprc": auprc(ranks, rationale, mask),
        "token_f1": token_f1(top, rationale, mask),
        "iou_f1": iou_f1(top, rationale, mask),
        "mass_inside": mass_inside(scores, rationale, mask),
    }
    known = numbers & (size > 0) & (size < mask.sum(-1))
    return {name: torch.where(known, value, torch.nan) for name, value in values.items()}


def _chosen(
    scores: Tensor, mask: Tensor, size: Tensor, chance: tuple[tuple[str, ...], int]
) -> tuple[Bool[Tensor, "b w"], Int[Tensor, "b w"], Bool[Tensor, " b"]]:
    """The top words, as many as asked for; all ranks; and whether every score is a number."""
    top = (ranking(scores, mask, *chance) < size) & mask
    ranks = tied_ranks(scores, mask, TOLERANCE[torch.float32])
    return top, ranks, (scores.isfinite() | ~mask).all(-1)


# ERASER's measures as their authors define them (DeYoung et al. 2020, §4, and released code).
#
# Ours are near them and not the same: `erasure` has no bin of 1%, `auprc` is average precision, and
# `token_f1` and `iou_f1` take as many words as this text's rationale has. Here as many are taken as
# rationales have on average (k_d in the paper, as a share of a text's words).


BINS = Grid(shares=(0.01, 0.05, 0.1, 0.2, 0.5), points=0, single=0)

_SHARES = ", ".join(f"{share:.0%}" for share in BINS.shares)

_TOP = "the top words, as many as rationales have on average"


def _eraser_measure(
    description: str, formula: str, up: bool = True, signed: bool = False
) -> Measure:
    limits = SIGNED if signed else SHARE
    return Measure(description, up, range=limits, formula=formula, papers=("deyoung2020",))


ERASER_MEASURES = {
    "eraser_comprehensiveness": _eraser_measure(
        "ERASER's AOPC of comprehensiveness: mean fall of p when the top words go",
        f"mean over s = {_SHARES} of p(x) − p(x without the top s of its words)",
        signed=True,
    ),
    "eraser_sufficiency": _eraser_measure(
        "ERASER's AOPC of sufficiency: mean fall of p when only the top words stay",
        f"mean over s = {_SHARES} of p(x) − p(the top s of its words alone)",
        False,
        signed=True,
    ),
    "eraser_auprc": _eraser_measure(
        "ERASER's area under precision and recall of the rationale's words, by trapezoids",
        "Σ_i (R_i − R_{i−1}) (P_i + P_{i−1}) / 2 over the distinct scores; R_0 = 0, P_0 = 1",
    ),
    "eraser_token_precision": _eraser_measure(
        f"share of the chosen words that are marked; chosen are {_TOP}",
        "n(chosen ∩ rationale) / n(chosen)",
    ),
    "eraser_token_recall": _eraser_measure(
        "share of the marked words that are chosen", "n(chosen ∩ rationale) / n(rationale)"
    ),
    "eraser_token_f1": _eraser_measure(
        "F1 of precision and recall of each example; its mean is their instance_macro",
        "2 P R / (P + R) of eraser_token_precision and eraser_token_recall",
    ),
    "eraser_iou_precision": _eraser_measure(
        "share of the chosen words' spans that match a marked span at IOU ≥ 0.5",
        "M / S: M of S spans of chosen words have n(∩) / n(∪) ≥ ½ with a span of the rationale",
    ),
    "eraser_iou_recall": _eraser_measure(
        "matching spans as a share of the marked spans", "M / R: of R spans of the rationale"
    ),
}


def eraser_erasure(curves: Curves) -> Values:
    """Both measures of one explanation, of curves with ERASER's `BINS`."""
    return {
        "eraser_comprehensiveness": comprehensiveness(curves),
        "eraser_sufficiency": sufficiency(curves),
    }


def eraser_plausibility(
    scores: Float[Tensor, "b w"],
    rationale: Bool[Tensor, "b w"],
    mask: Bool[Tensor, "b w"],
    ids: tuple[str, ...],
    share: float,
    seed: int = 0,
) -> Values:
    """Every measure of one explanation against rationales, of which an average one has `share` of
    a text's words. NaN without a rationale, or where a score is no number. F1 of mean precision
    and mean recall is a number of the corpus: `heedful.metrics.f1_of_means`."""
    rationale = rationale & mask
    size = counts_of(mask.sum(-1), (share,))
    top, ranks, numbers = _chosen(scores, mask, size, (ids, seed))
    both = (top & rationale).sum(-1).double()
    spans = span_matches(top, rationale, mask)
    values = {
        "eraser_auprc": auprc_by_trapezoids(ranks, rationale, mask),
        "eraser_token_precision": both / top.sum(-1),
        "eraser_token_recall": both / rationale.sum(-1),
        "eraser_token_f1": token_f1(top, rationale, mask),
        "eraser_iou_precision": spans.matches / spans.chosen,
        "eraser_iou_recall": spans.matches / spans.marked,
    }
    defined = rationale.any(-1) & numbers
    return {name: torch.where(defined, value, torch.nan) for name, value in values.items()}


ENTRY = Experiment(
    name="rationale",
    description="attention inside the rationales that the corpus marks",
    make=rationale,
    by_text=True,
    version=2,
    needs=("tokens", "rationales"),
    measures={
        "mass_inside": share("share of attention on the rationale", True),
        "share_inside": share("share of the tokens in the rationale: what even attention has"),
        "auprc": share("area under the precision-recall curve of the rationale", True),
    },
    formula="mass_inside = Σ_{t in rationale} α_t / Σ_t α_t; AUPRC of α against the rationale",
    higher="attention lies more on what was marked; even attention has `share_inside`",
    cost="one pass over the texts",
    limits="Plausible is not faithful: what people marked need not be what the model used.",
)
