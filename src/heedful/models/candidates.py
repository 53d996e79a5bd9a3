"""Where only some classes can be the answer, the others have no probability.

Their logit is one that a softmax makes exactly 0, and small enough that a sum of weights
which is 1 up to rounding leaves it there. In token logits every token has that logit, so
`weights @ values + bias` stays the model's for all weights that sum to 1. Weights that are
all zero (everything erased) leave the bias in the product, where the model still masks.
"""

from __future__ import annotations

from dataclasses import replace

from jaxtyping import Bool, Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.types import Batch, TokenLogits

IMPOSSIBLE = -1e4


def among_candidates(logits: Float[Tensor, "b c"], batch: Batch) -> Float[Tensor, "b c"]:
    allowed = _allowed(logits, batch)
    return logits if allowed is None else logits.masked_fill(~allowed, IMPOSSIBLE)


def token_candidates(linear: TokenLogits, batch: Batch) -> TokenLogits:
    """Less the bias, which is added later."""
    allowed = _allowed(linear.values[:, 0], batch)
    if allowed is None:
        return linear
    values = linear.values.where(allowed[:, None], IMPOSSIBLE - linear.bias)
    return replace(linear, values=values)


def _allowed(logits: Float[Tensor, "b c"], batch: Batch) -> Bool[Tensor, "b c"] | None:
    if batch.candidates is not None and batch.candidates.shape != logits.shape:
        raise HeedfulError(
            f"the corpus names candidates among {batch.candidates.shape[1]} classes and the model "
            f"has {logits.shape[1]} logits: train it on this corpus, of three classes or more."
        )
    return batch.candidates
