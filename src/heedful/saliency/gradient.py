"""Sensitivity: the norm of the gradient at each token's embedding."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from heedful.catalogue import NOT_NEGATIVE, Piece
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.saliency.embedding_gradient import differentiable, embedding_gradient
from heedful.types import Batch, Model, Target


def gradient(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    through_attention: bool = True,
    norm: int = 2,
) -> Float[Tensor, "b t"]:
    """‖∂f/∂e_t‖, L1 or L2; zero where no token is."""
    if norm not in (1, 2):
        raise HeedfulError(f"the gradient's norm is {norm}: choose 1 or 2.")
    slopes, _ = embedding_gradient(differentiable(model, batch, through_attention), target, label)
    scores: Tensor = slopes.double().norm(p=norm, dim=-1) * batch.texts["a"].mask
    return scores


PIECE = Piece(
    name="gradient",
    description="norm of the gradient at each token's embedding; attention is not detached",
    make=gradient,
    uses=(),
    bounds={"norm": (1, 2)},
    paper="bastings2020",
    formula="‖∂f/∂e_t‖₂",
    range=NOT_NEGATIVE,
    higher="a small change of the token's embedding changes the explained number more",
    cost="one forward and one backward pass",
    limits=(
        "It tells how sensitive the model is, not what the token contributes, and of small "
        "changes only."
    ),
)
