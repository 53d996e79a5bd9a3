"""Hard links of attention against gold alignments (Och & Ney 2003), all gold links sure."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece


def link_counts(
    weights: Float[Tensor, "n s t"],
    gold: Bool[Tensor, "n s t"],
    there: Bool[Tensor, "n s"],
    real: Bool[Tensor, "n t"],
) -> Float[Tensor, "n 5"]:
    """|A ∩ S|, |A|, |S|, the attention on gold links, and the target tokens that have one.

    A links each target token that is `there` to its heaviest `real` source token, the first
    of equals. Of weights that sum to less over the real tokens, the share among them counts.
    """
    there = there & real.any(-1, keepdim=True)
    gold = gold & there[..., None] & real[:, None]
    shown = weights.double().masked_fill(~real[:, None], -1.0)
    hit = gold.gather(-1, shown.argmax(-1, keepdim=True)).squeeze(-1)
    mass = shown.clamp_min(0.0)
    share = (mass * gold).sum(-1) / mass.sum(-1).clamp_min(1e-300)
    linked = gold.any(-1)
    parts = (hit, there, gold.flatten(1), share, linked)
    return torch.stack([part.double().sum(-1) for part in parts], -1)


def error_rate(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    """AER = 1 − 2|A ∩ S| / (|A| + |S|); NaN for no link at all."""
    return 1 - 2 * counts[..., 0] / (counts[..., 1] + counts[..., 2])


def precision(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    return counts[..., 0] / counts[..., 1]


def recall(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    return counts[..., 0] / counts[..., 2]


def mass(counts: Float[Tensor, "*n 5"]) -> Float[Tensor, "*n"]:
    """Mean attention on the gold links, over the target tokens that have one."""
    return counts[..., 3] / counts[..., 4]


SCORES = {"aer": error_rate, "precision": precision, "recall": recall, "mass": mass}

PIECE = Piece(
    name="aligned",
    description="alignment error rate, precision and recall of attention's hard links",
    make=link_counts,
    paper="och2003",
    measures={
        "aer": Measure("alignment error rate, all gold links sure", False, range=SHARE),
        "precision": Measure("share of the hard links that are gold", True, range=SHARE),
        "recall": Measure("share of the gold links that are hard links", True, range=SHARE),
        "mass": Measure(
            "attention on the gold links, mean over linked target tokens", True, range=SHARE
        ),
    },
    formula=(
        "AER = 1 − 2 |A ∩ S| / (|A| + |S|): links A from each target token to its heaviest "
        "source token, gold links S"
    ),
    range=SHARE,
    higher="of `aer`: fewer links are right; of the others: more are",
    cost="source tokens × target tokens",
    limits=(
        "All gold links count as sure, and a target token has one link. Attention may serve a "
        "translation and not align."
    ),
)
