"""Layer-wise relevance propagation: the explained number handed down by shares to the tokens.

A sum hands relevance to its terms by their shares (ε-rule), gate ⊙ signal gives everything to
the signal, attention is a gate (Arras et al. 2017; for transformers Ali et al. 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

# each registers its family's rules
import heedful.saliency.lrp_hugging_face
import heedful.saliency.lrp_one_sequence  # noqa: F401
from heedful.catalogue import ANY, NOT_NEGATIVE, Piece
from heedful.models.output import logit
from heedful.saliency.lrp_logits import lrp_logits
from heedful.types import Batch, Model, Target


class Relevance(NamedTuple):
    """Scores, and what of the explained number reached no token of the text."""

    scores: Float[Tensor, "b t"]
    gap: Float[Tensor, " b"]


def lrp(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = logit,
    epsilon: float = 1e-6,
) -> Float[Tensor, "b t"]:
    """The relevance of each token, signed; zero where no token is."""
    return lrp_relevance(model, batch, label, target, epsilon).scores


def lrp_relevance(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = logit,
    epsilon: float = 1e-6,
) -> Relevance:
    """Scores and gap add up to Σ_c z_c · ∂f/∂z_c over the logits z, which is f for a logit.

    The gap is the share of biases (position and type embeddings and the shift of a norm among
    them), of start, end and separator tokens, and what ε swallowed. Without all those it is 0.
    """
    embedded = model.embed(batch)["a"].detach().requires_grad_()
    with torch.enable_grad():
        logits = lrp_logits(model, batch, embedded, epsilon)
        # a view of its own: hooks on the logits belong to the pass below them
        start = logits.detach().requires_grad_()
        (seed,) = torch.autograd.grad(target(start, label).sum(), start)
        (slope,) = torch.autograd.grad(logits, embedded, seed)
    scores = (slope.double() * embedded.detach().double()).sum(-1) * batch.texts["a"].mask
    whole = (seed.double() * start.detach().double()).sum(-1)
    return Relevance(scores, whole - scores.sum(-1))


PIECE = Piece(
    name="lrp",
    description="layer-wise relevance propagation: the logit shared out among the tokens, ε-rule",
    make=lrp,
    uses=(),
    bounds={"epsilon": NOT_NEGATIVE},
    paper="bastings2020",
    signed=True,
    citation="Bach et al. 2015; Arras et al. 2017; Ali et al. 2022",
    formula=(
        "R_i = Σ_j z_ij / (z_j + ε sign z_j) · R_j from the logit down; gates and attention "
        "hand all to their signal"
    ),
    range=ANY,
    higher="more of the logit was handed down to the token; below 0: it speaks against it",
    cost="one forward and one backward pass",
    limits=(
        "Rules are a choice, and attention is taken for a constant: that it chose the token "
        "counts nothing. Biases keep a part for themselves."
    ),
)
