"""The learned weights in another order (jain2019)."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.edits.registry import SEED
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Edit, SiteCall


def permute(seed: int = 0) -> Edit:
    def edit(call: SiteCall) -> Tensor:
        keys = example_keys(seed, call.ids, "permute", call.site.name, call.step)
        draws = keyed_uniform(keys.to(call.weights.device), tuple(call.weights.shape[1:]))
        mask = call.mask.expand_as(call.weights)
        # the real tokens' places, in their own order and in a random one; the rest goes last
        shuffled = draws.masked_fill(~mask, 2.0).argsort(-1)
        ordered = (~mask).to(draws.dtype).argsort(stable=True, dim=-1)
        permuted = call.weights.gather(-1, shuffled)
        return call.weights.new_zeros(call.weights.shape).scatter(-1, ordered, permuted) * mask

    return edit


PIECE = Piece(
    name="permute",
    description="the learned weights in a random order over the real tokens",
    make=permute,
    bounds={"seed": SEED},
    paper="jain2019",
)
