"""Weights brought from elsewhere (another model, an adversary), matched by example id.

`weights[id]` has one number per attended position, `[keys]` or `[heads, queries, keys]`.
An example that is missing, or whose number of positions differs, is an error: weights
of another tokenisation must never be used by accident.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError
from heedful.types import Edit, SiteCall


def frozen(weights: Mapping[str, Any]) -> Edit:
    def edit(call: SiteCall) -> Tensor:
        out = torch.zeros_like(call.weights)
        for row, name in enumerate(call.ids):
            places = call.mask[row].any(0).any(0).nonzero().squeeze(-1)
            shape = (*call.weights.shape[1:3], len(places))
            out[row][..., places] = _given(weights, name, shape).to(out)
            if bool((out[row] * ~call.mask[row]).any()):
                raise HeedfulError(
                    f"the frozen weights of example {name!r} lie on masked positions."
                )
        return out

    return edit


def _given(weights: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Tensor:
    if name not in weights:
        raise HeedfulError(f"there are no frozen weights for example {name!r}.")
    given = torch.as_tensor(weights[name])
    if given.shape[-1:] != shape[-1:]:
        raise HeedfulError(
            f"the frozen weights of example {name!r} cover {given.shape[-1] if given.ndim else 0} "
            f"tokens, the text has {shape[-1]}: they come from another tokenisation."
        )
    if given.ndim > 1 and given.shape != shape:
        raise HeedfulError(
            f"the frozen weights of example {name!r} have shape {tuple(given.shape)} where "
            f"{shape} (heads, queries, keys) was needed."
        )
    return given


PIECE = Piece(
    name="frozen",
    description="weights given per example id, checked against the tokenisation",
    make=frozen,
    paper="wiegreffe2019",
)
