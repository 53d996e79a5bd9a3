"""Words switched on and off: what the model says to many subsets of a text's words."""

from __future__ import annotations

from jaxtyping import Bool, Int
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.randomness import keyed_uniform

MOST_SAMPLES = 100_000
"""Of a text: its subsets are held at once."""


def keyed_subsets(
    keys: Int[Tensor, " b"], sizes: Int[Tensor, "b m"], there: Bool[Tensor, "b w"]
) -> Bool[Tensor, "b m w"]:
    """Subsets of these sizes, each equally likely, of the words that are there."""
    order = keyed_uniform(keys, (sizes.shape[1], there.shape[1]))
    order = order.masked_fill(~there[:, None], 2.0)
    rank = order.argsort(dim=-1, stable=True).argsort(dim=-1, stable=True)
    return (rank < sizes[..., None]) & there[:, None]


def checked_samples(samples: int) -> int:
    if samples < 2:
        raise HeedfulError(f"samples is {samples}: choose 2 or more.")
    return samples
