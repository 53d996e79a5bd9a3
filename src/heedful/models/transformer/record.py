"""Where edits step in at every site of a pass, and what the pass leaves behind."""

from __future__ import annotations

from torch import Tensor

from heedful.models.transformer.attention import Use
from heedful.types import Edits, SiteCall, SiteSpec


class Record:
    """The sites of one pass or, while writing, of one step."""

    def __init__(self, ids: tuple[str, ...], edits: Edits, step: int = 0) -> None:
        self._ids, self._edits, self._step = ids, edits, step
        self.weights: dict[str, Tensor] = {}
        self.masks: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}

    def at(self, site: SiteSpec) -> Use:
        def use(weights: Tensor, mask: Tensor, values: Tensor) -> Tensor:
            if site.name in self._edits:
                call = SiteCall(site, weights, mask, self._ids, self._step)
                weights = self._edits[site.name](call)
            self.weights[site.name], self.masks[site.name] = weights, mask
            self.values[site.name] = values
            return weights

        return use
