"""Equal weight on every position that may be attended (wiegreffe2019's baseline)."""

from __future__ import annotations

from torch import Tensor

from heedful.catalogue import Piece
from heedful.types import Edit, SiteCall


def uniform() -> Edit:
    def edit(call: SiteCall) -> Tensor:
        allowed = call.mask.expand_as(call.weights).to(call.weights.dtype)
        return allowed / allowed.sum(-1, keepdim=True).clamp_min(1)

    return edit


PIECE = Piece(
    name="uniform",
    description="equal weight on every real token",
    make=uniform,
    paper="wiegreffe2019",
)
