"""The derivative of the explained quantity by each token's embedding."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.edits import detach
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
