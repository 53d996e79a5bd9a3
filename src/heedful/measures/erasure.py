"""How faithful an explanation is to the model, by erasing what it calls important.

All of it hangs on the removal operator: erasure leaves the data the model was trained on,
so numbers of different operators are never mixed. Every measure reads the same curves.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import SHARE, SIGNED, Measure
from heedful.measures.curves import Curves, Grid

_BINS = ", ".join(f"{share:.0%}" for share in Grid().shares)
_STEPS = f"trapezoids at {Grid().points + 1} points"

ERASURE_MEASURES = {
    "comprehensiveness": Measure(
        "mean fall of p when the top words go",
        True,
        range=SIGNED,
        formula=f"mean over s = {_BINS} of f(x) − f(x without the top s of its words)",
        papers=("deyoung2020",),
    ),
    "sufficiency": Measure(
        "mean fall of p when only the top words stay",
        False,
        range=SIGNED,
        formula=f"mean over s = {_BINS} of f(x) − f(the top s of its words alone)",
        papers=("deyoung2020",),
    ),
    "deletion_auc": Measure(
        "area under p as words go, the top ones first",
        False,
        range=SHARE,
        formula=f"∫ f(x without the top s of its words) ds from 0 to 1, {_STEPS}",
        papers=("petsiuk2018",),
    ),
    "insertion_auc": Measure(
        "area under p as words come, the top ones first",
        True,
        range=SHARE,
        formula=f"∫ f(the top s of its words alone) ds from 0 to 1, {_STEPS}",
        papers=("petsiuk2018",),
    ),
    "flip_share": Measure(
        "share of words gone when the decision flips; NaN: never",
        False,
        range=SHARE,
        formula="(least k < n for which x without its top k words is decided otherwise) / n",
        papers=("serrano2019", "kaplan1958"),
    ),
    "flip_censored": Measure(
        "1 where no number of words flips the decision",
        False,
        range=SHARE,
        formula="[no k < n flips the decision]",
    ),
}


def erasure(curves: Curves) -> dict[str, Float[Tensor, " b"]]:
    """Every measure of one explanation."""
    return {
        "comprehensiveness": comprehensiveness(curves),
        "sufficiency": sufficiency(curves),
        "deletion_auc": deletion_auc(curves),
        "insertion_auc": insertion_auc(curves),
        "flip_share": flip_share(curves),
        "flip_censored": flip_censored(curves),
    }


def comprehensiveness(curves: Curves) -> Float[Tensor, " b"]:
    """Mean over the shares of p(text) − p(text without the top words), after DeYoung et al. 2020,
    whose own has a share of 1% too (`measures/eraser.py`).

    Shares that come to the same number of words in a short text count once each, as there.
    """
    return (curves.whole[:, None] - curves.bins.removed).mean(-1)


def sufficiency(curves: Curves) -> Float[Tensor, " b"]:
    """Mean over the shares of p(text) − p(the top words alone); the lower the better."""
    return (curves.whole[:, None] - curves.bins.kept).mean(-1)


def deletion_auc(curves: Curves) -> Float[Tensor, " b"]:
    """Trapezoids under p(text without the top words), by the share of words that are gone."""
    return torch.trapezoid(curves.curve.removed, curves.shares, dim=-1)


def insertion_auc(curves: Curves) -> Float[Tensor, " b"]:
    """Trapezoids under p(the top words alone), by the share of words that are there."""
    return torch.trapezoid(curves.curve.kept, curves.shares, dim=-1)


def flip_share(curves: Curves) -> Float[Tensor, " b"]:
    """The share of words gone at the first flip. NaN where the decision never flips: such
    texts are censored, not dropped (`metrics/flips.py`)."""
    share = curves.first_flip / curves.words
    return torch.where(share.isfinite(), share, torch.nan)


def flip_censored(curves: Curves) -> Float[Tensor, " b"]:
    """1 where the decision never flips, 0 where it does, NaN where there is no explanation."""
    return torch.where(curves.first_flip.isnan(), torch.nan, curves.first_flip.isinf().double())
