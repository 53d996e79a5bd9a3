"""Whether an explanation finds the words that are known to decide (Bastings et al. 2022)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.catalogue import NOT_NEGATIVE, SHARE, Measure, Piece
from heedful.metrics.ties import TOLERANCE, tied_ranks


def precision_at_k(
    scores: Float[Tensor, "n w"], truth: Bool[Tensor, "n w"], mask: Bool[Tensor, "n w"]
) -> Float[Tensor, " n"]:
    """The share of the k words with the largest |score| that are among the k true ones. Of words
    that tie any is as likely to come first: the expectation. NaN where no word is true."""
    above, level = _standing(scores, mask)
    true = truth & mask
    k = true.sum(-1, keepdim=True)
    chance = ((k - above).double() / level.clamp_min(1)).clamp(0.0, 1.0)
    return (chance * true).sum(-1) / k[:, 0]


def mean_rank(
    scores: Float[Tensor, "n w"], truth: Bool[Tensor, "n w"], mask: Bool[Tensor, "n w"]
) -> Float[Tensor, " n"]:
    """The mean rank of the true words by |score|, 1 for the largest; words that tie share the
    mean of their ranks. The best is (k + 1) / 2. NaN where no word is true."""
    above, level = _standing(scores, mask)
    true = truth & mask
    return ((above + (level + 1).double() / 2) * true).sum(-1) / true.sum(-1)


def _standing(scores: Tensor, mask: Tensor) -> tuple[Int[Tensor, "n w"], Int[Tensor, "n w"]]:
    """For each word how many words score more, and how many as much, itself among them."""
    ranks = tied_ranks(scores.double().abs(), mask, TOLERANCE[torch.float32])
    there = mask[:, None, :]
    above = ((ranks[:, None, :] > ranks[:, :, None]) & there).sum(-1)
    return above, ((ranks[:, None, :] == ranks[:, :, None]) & there).sum(-1)


PIECE = Piece(
    name="precision_at_k",
    description="share of the k highest words that are among the k words known to decide",
    make=precision_at_k,
    paper="bastings2022",
    higher_is_better=True,
    measures={
        "precision": Measure("share of the top k that is true", True, range=SHARE),
        "rank": Measure("mean rank of the true words, 1 is the highest", False, range=NOT_NEGATIVE),
    },
    formula="|top_k(|s|) ∩ truth| / k, k = |truth|; rank = mean of the ranks of the true words",
    range=SHARE,
    higher="more of the words that decide are at the top",
    cost="comparing the words of each text with each other",
    limits="It needs to be known which words decide, as where a shortcut was planted.",
)
