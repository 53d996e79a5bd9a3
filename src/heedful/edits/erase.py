"""Set chosen weights to zero and renormalise the others (serrano2019).

Erasing everything leaves a zero context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.types import Edit, SiteCall


def erase(positions: Mapping[str, Sequence[int]] | None = None, top: int = 0) -> Edit:
    """Erase the key positions given per example id, or the `top` heaviest of each row."""
    if (positions is None) == (top <= 0):
        raise HeedfulError("the edit 'erase' wants either positions or top, and top above 0.")

    def edit(call: SiteCall) -> Tensor:
        gone = _heaviest(call, top) if positions is None else _listed(call, positions)
        kept = call.weights.masked_fill(gone, 0.0)
        total = kept.sum(-1, keepdim=True)
        return kept / torch.where(total > 0, total, 1.0)

    return edit


def _heaviest(call: SiteCall, top: int) -> Tensor:
    order = call.weights.masked_fill(~call.mask, -1.0).argsort(stable=True, dim=-1, descending=True)
    gone = torch.zeros_like(call.weights, dtype=torch.bool)
    return gone.scatter(-1, order[..., :top], True)


def _listed(call: SiteCall, positions: Mapping[str, Sequence[int]]) -> Tensor:
    gone = torch.zeros_like(call.weights, dtype=torch.bool)
    for row, name in enumerate(call.ids):
        chosen = list(positions.get(name, ()))
        inside = call.mask[row].any(0).any(0).nonzero().squeeze(-1).tolist()
        if not set(chosen) <= set(inside):
            raise HeedfulError(f"the edit 'erase' names a position outside of example {name!r}.")
        gone[row, ..., chosen] = True
    return gone


PIECE = Piece(
    name="erase",
    description="zero on chosen tokens, the others renormalised",
    make=erase,
    bounds={"top": (0, 10**6)},
    paper="serrano2019",
)
