"""ERASER's measures as their authors define them (DeYoung et al. 2020, §4, and released code).

Ours are near them and not the same: `erasure` has no bin of 1%, `auprc` is average precision, and
`token_f1` and `iou_f1` take as many words as this text's rationale has. Here as many are taken as
rationales have on average (k_d in the paper, as a share of a text's words).
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import SHARE, SIGNED, Measure
from heedful.measures.curves import Curves, Grid, counts_of, ranking
from heedful.measures.erasure import comprehensiveness, sufficiency
from heedful.metrics import TOLERANCE, auprc_by_trapezoids, span_matches, tied_ranks, token_f1

BINS = Grid(shares=(0.01, 0.05, 0.1, 0.2, 0.5), points=0, single=0)
_SHARES = ", ".join(f"{share:.0%}" for share in BINS.shares)
_TOP = "the top words, as many as rationales have on average"


def _measure(description: str, formula: str, up: bool = True, signed: bool = False) -> Measure:
    limits = SIGNED if signed else SHARE
    return Measure(description, up, range=limits, formula=formula, papers=("deyoung2020",))


ERASER_MEASURES = {
    "eraser_comprehensiveness": _measure(
        "ERASER's AOPC of comprehensiveness: mean fall of p when the top words go",
        f"mean over s = {_SHARES} of p(x) − p(x without the top s of its words)",
        signed=True,
    ),
    "eraser_sufficiency": _measure(
        "ERASER's AOPC of sufficiency: mean fall of p when only the top words stay",
        f"mean over s = {_SHARES} of p(x) − p(the top s of its words alone)",
        False,
        signed=True,
    ),
    "eraser_auprc": _measure(
        "ERASER's area under precision and recall of the rationale's words, by trapezoids",
        "Σ_i (R_i − R_{i−1}) (P_i + P_{i−1}) / 2 over the distinct scores; R_0 = 0, P_0 = 1",
    ),
    "eraser_token_precision": _measure(
        f"share of the chosen words that are marked; chosen are {_TOP}",
        "n(chosen ∩ rationale) / n(chosen)",
    ),
    "eraser_token_recall": _measure(
        "share of the marked words that are chosen", "n(chosen ∩ rationale) / n(rationale)"
    ),
    "eraser_token_f1": _measure(
        "F1 of precision and recall of each example; its mean is their instance_macro",
        "2 P R / (P + R) of eraser_token_precision and eraser_token_recall",
    ),
    "eraser_iou_precision": _measure(
        "share of the chosen words' spans that match a marked span at IOU ≥ 0.5",
        "M / S: M of S spans of chosen words have n(∩) / n(∪) ≥ ½ with a span of the rationale",
    ),
    "eraser_iou_recall": _measure(
        "matching spans as a share of the marked spans", "M / R: of R spans of the rationale"
    ),
}

Values = dict[str, Float[Tensor, " b"]]


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
    and mean recall is a number of the corpus: `heedful.metrics.f1.f1_of_means`."""
    rationale = rationale & mask
    size = counts_of(mask.sum(-1), (share,))
    top = (ranking(scores, mask, ids, seed) < size) & mask
    ranks = tied_ranks(scores, mask, TOLERANCE[torch.float32])
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
    defined = rationale.any(-1) & (scores.isfinite() | ~mask).all(-1)
    return {name: torch.where(defined, value, torch.nan) for name, value in values.items()}
