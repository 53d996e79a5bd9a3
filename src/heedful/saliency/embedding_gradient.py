"""The derivative of the explained quantity by each token's embedding."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.edits.detach import detach
from heedful.types import Batch, Keep, Model, Target


def embedding_gradient(
    model: Model, batch: Batch, target: Target, label: Int[Tensor, " b"], through_attention: bool
) -> tuple[Float[Tensor, "b t e"], Float[Tensor, "b t e"]]:
    """Gradients and embeddings of side `a`.

    With `through_attention=False` every site's weights are constants, as in jain2019.
    """
    edits = {} if through_attention else {site.name: detach() for site in model.sites}
    with torch.enable_grad():
        trace = model(batch, edits, Keep(embeddings=True))
        embedded = trace.embeddings["a"]
        (gradient,) = torch.autograd.grad(target(trace.logits, label).sum(), embedded)
    return gradient, embedded.detach()
