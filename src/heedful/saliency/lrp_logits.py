"""One function for all families: logits whose gradient × input is LRP."""

from __future__ import annotations

from functools import singledispatch

from torch import Tensor

from heedful.errors import HeedfulError
from heedful.types import Batch


@singledispatch
def lrp_logits(model: object, batch: Batch, embedded: Tensor, epsilon: float) -> Tensor:
    """The model's own logits for side `a` given as embeddings, but every gate, squashing and
    norm a constant factor to the gradient. Each family registers its own."""
    raise HeedfulError(
        f"LRP has no rules for {type(model).__name__}: it knows one-sequence models and "
        "Hugging Face models like BERT, so leave it out."
    )
