"""Attention within a window, as weights of each token by each other.

Longformer, and LED's encoder, never make that matrix: a row of their softmax has the keys of a
window, and the few that every token sees. Tokens that see all others have a softmax of their own.
Where somebody asks, the module runs once to hear both, and once more with the weights that come
back. Both are the module's own arithmetic. A weight that has no place in a window is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.errors import HeedfulError
from heedful.models.family import evaluating
from heedful.models.hf.interface import Listener, Softmax

_WINDOWED = "LongformerSelfAttention", "LEDEncoderSelfAttention"
Run = Callable[[Tensor], Tensor]


def is_windowed(module: nn.Module) -> bool:
    return any(kind.__name__ in _WINDOWED for kind in type(module).__mro__)


def heard_in_windows(
    hears: Listener, module: Any, forward: Callable[..., Any], *args: Any, **options: Any
) -> Any:
    """What the module gives, with the weights that the listener wants."""
    if hears.passes(module):
        return forward(*args, **options)
    first = _Softmaxes()
    with evaluating(module), first:  # dropout draws its numbers in the second run alone
        forward(*args, **options)
    given = signature(forward).bind(*args, **options).arguments
    windows = _Windows(first.heard, _places(module, given, hears.width), hears.width)
    weights = hears.softmax(Softmax(module, windows.scores(), windows.run))
    if weights is None:
        return forward(*args, **options)
    windows.check(weights, module)
    with _Softmaxes(windows.apart(weights)):
        output, *others = forward(*args, **options)
    # a token that sees all others mixes values of another kind, so there is no one value of a key
    values = None if given["is_global_attn"] else module.value(given["hidden_states"])
    return _mixed(hears, module, output, values), *others


def _mixed(
    hears: Listener, module: Any, output: Float[Tensor, "b n e"], values: Tensor | None
) -> Float[Tensor, "b n e"]:
    """What the heads put out; the module fills texts up to a multiple of its window."""
    t = hears.width
    heads = output.reshape(*output.shape[:2], module.num_heads, module.head_dim)
    if values is not None:
        values = values.reshape(heads.shape).transpose(1, 2)[:, :, :t]
    new = hears.product(heads[:, :t], values)
    if new is None:
        return output
    whole = torch.cat([new, heads[:, t:]], 1).flatten(-2)
    return whole.transpose(0, 1).contiguous().transpose(0, 1)  # as the module's own lies


# Where a window's weights are in the matrix.


def _places(module: Any, given: Any, t: int) -> Iterator[Int[Tensor, "b r c"]]:
    """Of each softmax that the module takes: the number of each score in the matrix, row by row, or
    −1 for one that is nowhere. Masked tokens have no row, and what fills a text up has neither row
    nor column."""
    masked, everywhere = given["is_index_masked"], given["is_index_global_attn"]
    queries = torch.arange(masked.shape[1], device=masked.device)
    side = module.one_sided_attn_window_size
    keys = queries[:, None] + torch.arange(-side, side + 1, device=masked.device)
    inside = (keys >= 0) & (keys < t)
    elsewhere = everywhere[:, keys.clamp(0, len(queries) - 1)]
    local = ((queries < t) & ~masked & ~everywhere)[..., None]
    window = torch.where(inside & ~elsewhere & local, queries[:, None] * t + keys, -1)
    if not given["is_global_attn"]:
        yield window
        return
    count = everywhere.sum(1)
    order = (~everywhere).long().argsort(stable=True, dim=1)[:, : int(count.max())]
    there = torch.arange(order.shape[1], device=order.device) < count[:, None]
    seen = torch.where(there[:, None] & local, queries[:, None] * t + order[:, None], -1)
    yield torch.cat([seen, window], -1)
    yield torch.where(there[..., None] & (queries < t), order[..., None] * t + queries, -1)


@dataclass(frozen=True)
class _Heard:
    """One softmax: what it was given, and how it is taken."""

    scores: Tensor
    run: Run


class _Softmaxes(TorchFunctionMode):
    """Hears the softmaxes of one run of a module; perhaps they give other weights, one by one."""

    def __init__(self, weights: Iterator[Tensor] | None = None) -> None:
        super().__init__()
        self.heard: list[_Heard] = []
        self._weights = weights

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if func is not F.softmax:
            return func(*args, **options)
        if self._weights is not None:
            return next(self._weights)
        self.heard.append(_Heard(args[0], partial(_softmax, args[1:], options)))
        return func(*args, **options)


def _softmax(args: Sequence[Any], options: dict[str, Any], scores: Tensor) -> Tensor:
    return F.softmax(scores, *args, **options)


class _Windows:
    """The softmaxes of one call as one matrix, and back."""

    def __init__(
        self, heard: Sequence[_Heard], places: Iterator[Int[Tensor, "b r c"]], t: int
    ) -> None:
        self.heard, self.places, self.t = heard, list(places), t

    def scores(self) -> Float[Tensor, "b h t t"]:
        """Nothing is seen outside of windows."""
        own = [each.scores for each in self.heard]
        return self._together(own, torch.finfo(own[0].dtype).min)

    def run(self, scores: Float[Tensor, "b h t t"]) -> Float[Tensor, "b h t t"]:
        """Weights of these scores."""
        own = [each.scores for each in self.heard]
        parts = zip(self.heard, self._apart(scores, own), strict=True)
        return self._together([each.run(part) for each, part in parts], 0.0)

    def apart(self, weights: Float[Tensor, "b h t t"]) -> Iterator[Tensor]:
        """As the softmaxes give them; rows that are not in the matrix are the module's own."""
        return self._apart(weights, [each.run(each.scores) for each in self.heard])

    def check(self, weights: Float[Tensor, "b h t t"], module: nn.Module) -> None:
        if bool(weights.flatten(2).masked_fill(self._reached()[:, None], 0.0).any()):
            raise HeedfulError(
                f"an edit put weight outside of the windows of {type(module).__name__}, which has "
                "no place for it: keep to the mask of the call."
            )

    def _reached(self) -> Bool[Tensor, "b tt"]:
        flat = torch.cat([each.flatten(1) for each in self.places], 1)
        reached = flat.new_zeros(len(flat), self.t**2 + 1, dtype=torch.bool)
        return reached.scatter(1, flat % (self.t**2 + 1), True)[:, :-1]  # −1 is the last

    def _together(self, parts: Sequence[Tensor], elsewhere: float) -> Float[Tensor, "b h t t"]:
        b, h = _by_rows(parts[0], self.places[0]).shape[:2]
        matrix = parts[0].new_full((b, h, self.t**2 + 1), elsewhere)
        for part, places in zip(parts, self.places, strict=True):
            index = places.flatten(1)[:, None].expand(b, h, -1) % (self.t**2 + 1)
            matrix = matrix.scatter(2, index, _by_rows(part, places).flatten(2))
        return matrix[..., :-1].reshape(b, h, self.t, self.t)

    def _apart(self, matrix: Float[Tensor, "b h t t"], own: Sequence[Tensor]) -> Iterator[Tensor]:
        flat = matrix.flatten(2)
        for part, places in zip(own, self.places, strict=True):
            rows = _by_rows(part, places)
            index = places.flatten(1)[:, None].expand(*flat.shape[:2], -1).clamp_min(0)
            new = torch.where(places[:, None] < 0, rows, flat.gather(2, index).view_as(rows))
            new = new.transpose(1, 2) if part.ndim == 4 else new
            yield new.reshape(part.shape).contiguous()  # sums round by how numbers lie


def _by_rows(part: Tensor, places: Int[Tensor, "b r c"]) -> Float[Tensor, "b h r c"]:
    """Longformer has heads after rows in its windows, and beside texts where all is seen."""
    if part.ndim == 4:
        return part.transpose(1, 2)
    return part.reshape(len(places), -1, *part.shape[1:])
