"""Total variation distance between output distributions."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import SHARE, Piece


def tvd(p: Float[Tensor, "*#b c"], q: Float[Tensor, "*#b c"]) -> Float[Tensor, "*#b"]:
    """½ Σ_c |p_c − q_c| (jain2019, §4.1), over whole distributions.

    A binary output is given as both classes, (1 − ŷ, ŷ), so that TVD = |Δŷ|. Halving the
    difference of a lone sigmoid instead is a mistake of wiegreffe2019's released code.
    """
    return (p - q).abs().sum(-1) / 2


PIECE = Piece(
    name="tvd",
    description="total variation distance of two output distributions",
    make=tvd,
    version=1,
    paper="jain2019",
    higher_is_better=None,
    signed=False,
    formula="TVD(p, q) = ½ Σ_c |p_c − q_c|",
    range=SHARE,
    higher="the two outputs differ more: 0 the same, 1 nothing in common",
    cost="the number of classes",
    limits=(
        "It says how far an output moved: not towards which class, nor whether the decision "
        "changed."
    ),
)
