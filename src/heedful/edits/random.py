"""Weights drawn from U(0, 1) and normalised (vashishth2019)."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.edits.registry import SEED
from heedful.randomness import example_keys, keyed_uniform
from heedful.types import Edit, SiteCall


def random(seed: int = 0) -> Edit:
    def edit(call: SiteCall) -> Tensor:
        keys = example_keys(seed, call.ids, "random", call.site.name, call.step)
        draws = keyed_uniform(keys.to(call.weights.device), tuple(call.weights.shape[1:]))
        draws = draws.to(call.weights.dtype) * call.mask
        return draws / draws.sum(-1, keepdim=True).clamp_min(1e-30)

    return edit


PIECE = Piece(
    name="random",
    description="weights from U(0, 1), normalised over the real tokens",
    make=random,
    bounds={"seed": SEED},
    paper="vashishth2019",
)
