"""Gradients at each token's embedding, and sensitivity: their norm."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError
from heedful.interventions import detach
from heedful.models import probability
from heedful.types import Batch, Keep, Model, Target, Trace


def differentiable(model: Model, batch: Batch, through_attention: bool) -> Trace:
    """A trace that can be differentiated by its embeddings, and deletions can go on from.

    With `through_attention=False` every site's weights are constants, as in jain2019.
    """
    edits = {} if through_attention else {site.name: detach() for site in model.sites}
    with torch.enable_grad():
        keep = Keep(embeddings=True, encoding=True, weights=not through_attention)
        return model(batch, edits, keep)


def embedding_gradient(
    trace: Trace, target: Target, label: Int[Tensor, " b"]
) -> tuple[Float[Tensor, "b t e"], Float[Tensor, "b t e"]]:
    """Gradients and embeddings of side `a`."""
    embedded = trace.embeddings["a"]
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(target(trace.logits, label).sum(), embedded)
    return gradient, embedded.detach()


def gradient_at(
    model: Model,
    batch: Batch,
    embedded: Float[Tensor, "b t e"],
    label: Int[Tensor, " b"],
    target: Target,
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b t e"]]:
    """Value and gradient at other embeddings of side `a` than the tokens' own; attention is
    not detached."""
    x = embedded.detach().requires_grad_()
    with torch.enable_grad():
        keep = Keep(weights=False)
        value = target(model(batch, keep=keep, embeddings={"a": x}).logits, label)
        (gradient,) = torch.autograd.grad(value.sum(), x)
    return value.detach(), gradient


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


ENTRY = Attribution(
    name="gradient",
    description="norm of the gradient at each token's embedding; attention is not detached",
    make=gradient,
    uses=(),
    signed=False,
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
