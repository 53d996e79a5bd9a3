"""Any function of a site's call, checked: the way to try an intervention of your own."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.types import Edit, SiteCall


def custom(function: Callable[[SiteCall], Tensor]) -> Edit:
    """The function's weights; positions that may not be attended must stay at zero."""

    def edit(call: SiteCall) -> Tensor:
        weights = function(call)
        if weights.shape != call.weights.shape:
            raise HeedfulError(
                f"a custom edit of {call.site.name!r} returned shape {tuple(weights.shape)} "
                f"where {tuple(call.weights.shape)} was needed."
            )
        if bool((weights.detach() * ~call.mask).any()):
            raise HeedfulError(f"a custom edit of {call.site.name!r} put weight on padding.")
        return weights

    return edit


PIECE = Piece(
    name="custom",
    description="any function of the site's call, with its shape and mask checked",
    make=custom,
)
