"""The other mode of intervention: later attention keeps its original weights.

By default what follows an edited site is recomputed, later attention included. Held, only the
edited weights differ, and the effect is the one that goes through the values alone.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from heedful.errors import HeedfulError
from heedful.types import Edit, Edits, Model, SiteCall, Trace


def held(model: Model, trace: Trace, edits: Edits) -> Edits:
    """The edits, made to the weights in `trace` (of the same batch), which every later site
    gets back. Sites before the first edit are what they were anyway."""
    names = [site.name for site in model.sites]
    later = names[min((names.index(name) for name in edits), default=len(names)) :]
    return {name: _original(trace.weights[name].detach(), edits.get(name)) for name in later}


def _original(weights: Tensor, edit: Edit | None) -> Edit:
    def held_edit(call: SiteCall) -> Tensor:
        own = call.queries(weights)
        if own.shape != call.weights.shape:
            raise HeedfulError("attention can only be held on the batch its trace was made from.")
        return edit(replace(call, weights=own)) if edit else own

    return held_edit
