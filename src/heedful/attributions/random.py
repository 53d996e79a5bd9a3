"""A floor: uniform noise, keyed by example and word."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import SHARE, Attribution
from heedful.models import probability
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Batch, Model, Target
from heedful.words import word_mask


def random(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    seed: int = 0,
) -> Float[Tensor, "b w"]:
    """Numbers in (0, 1); only the seed, the example's id and the word's place decide."""
    there = word_mask(batch.texts["a"])
    keys = example_keys(seed, batch.ids, "random explanation").to(there.device)
    return keyed_uniform(keys, (there.shape[1],)) * there


ENTRY = Attribution(
    name="random",
    description="uniform noise: what an explanation that knows nothing reaches",
    make=random,
    uses=(),
    signed=False,
    level="words",
    formula="U(0, 1), drawn by example and word",
    range=SHARE,
    higher="nothing",
    cost="nothing",
    limits="It knows nothing: it is what an explanation has to beat.",
)
