"""Leave one out: how far the output moves when a token is deleted (jain2019, experiment 2)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import SHARE, Piece
from heedful.metrics.tvd import tvd
from heedful.models.output import probabilities
from heedful.types import Batch, Model, Trace


def leave_one_out(model: Model, batch: Batch, trace: Trace | None = None) -> Float[Tensor, "b t"]:
    """TVD between the outputs with and without each token; zero where no token is."""
    with torch.no_grad():
        deleted = model.without_each(batch, trace)
        whole, less = probabilities(deleted.whole), probabilities(deleted.less)
    return tvd(less, whole[:, None]).masked_fill(~batch.texts["a"].mask, 0.0)


PIECE = Piece(
    name="leave_one_out",
    description="change of the output (TVD) when a token is deleted; the text gets shorter",
    make=leave_one_out,
    paper="jain2019",
    formula="TVD(p(x), p(x without t))",
    range=SHARE,
    higher="the output moves further without the token",
    cost="a run for each token, less where an encoder has a shortcut",
    limits=(
        "Words that say the same thing twice both get little; the text without a word is out of "
        "the training distribution."
    ),
)
