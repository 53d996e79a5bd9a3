"""The other mode of intervention: sites that are not edited keep their original weights.

By default what follows an edited site is recomputed, later attention included. Held, only the
edited weights differ, and the effect is the one that goes through the values alone.
"""

from __future__ import annotations

from torch import Tensor

from heedful.errors import HeedfulError
from heedful.types import Edit, Edits, Model, SiteCall, Trace


def held(model: Model, trace: Trace, edits: Edits) -> Edits:
    """The edits, and for every other site its weights in `trace` (of the same batch)."""
    rest = {site.name for site in model.sites} - set(edits)
    return {**edits, **{name: _same(trace.weights[name].detach()) for name in rest}}


def _same(weights: Tensor) -> Edit:
    def edit(call: SiteCall) -> Tensor:
        if weights.shape != call.weights.shape:
            raise HeedfulError("attention can only be held on the batch its trace was made from.")
        return weights

    return edit
