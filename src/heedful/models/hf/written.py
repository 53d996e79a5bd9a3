"""Attention that a family writes out in a module of its own.

Such a module does not ask transformers' interface, but it still takes a softmax over keys and
multiplies the weights with values. While the module runs, a mode of torch watches for these two
calls and hands them to whoever listens to the pass. The module's own arithmetic goes on with what
the listener gives back. Nothing is patched outside of the module, and modes belong to a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.models.hf.interface import Listener, Softmax, listener
from heedful.models.hf.windows import heard_in_windows, is_windowed

_SOFTMAXES = F.softmax, torch.softmax, Tensor.softmax
_PRODUCTS = torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm
Shape = tuple[int, int, int, int]


@contextmanager
def opened(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Inside, listeners hear the attention of these modules; one that is open stays so."""
    closed = [each for each in modules if not _is_open(each)]
    with replaced_forwards({each: partial(_heard, each, each.forward) for each in closed}):
        yield


@contextmanager
def replaced_forwards(forwards: Mapping[nn.Module, Callable[..., Any]]) -> Iterator[None]:
    """Inside, modules run these instead of their own `forward`. One that is a module's own alone
    (other tools put one there too) comes back afterwards."""
    own = {module: vars(module).get("forward") for module in forwards}
    try:
        for module, forward in forwards.items():
            vars(module)["forward"] = forward
        yield
    finally:
        for module, before in own.items():
            vars(module).pop("forward", None)
            if before is not None:
                vars(module)["forward"] = before


def _is_open(module: nn.Module) -> bool:
    forward = vars(module).get("forward")
    return isinstance(forward, partial) and forward.func is _heard


def _heard(module: nn.Module, forward: Callable[..., Any], *args: Any, **options: Any) -> Any:
    hears = listener()
    if hears is None:
        return forward(*args, **options)
    if is_windowed(module):
        return heard_in_windows(hears, module, forward, *args, **options)
    with _AtSoftmax(module, hears):
        return forward(*args, **options)


class _AtSoftmax(TorchFunctionMode):
    def __init__(self, module: nn.Module, hears: Listener) -> None:
        super().__init__()
        self.module, self.hears = module, hears
        self.shape: Shape | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        scores = scores_of(func, args, options, self.hears.batch)
        if scores is not None:
            run = partial(_softmax, func, args, options)
            weights = self.hears.softmax(Softmax(self.module, scores, run))
            if weights is not None:
                self.shape = shape_of(weights)
                return weights.reshape(args[0].shape)
        product = None if self.shape is None else product_of(func, args, options, self.shape)
        if product is None:
            return func(*args, **options)
        self.shape = None
        mixed = self.hears.product(product.mixed, product.values)
        return product.output if mixed is None else product.back(mixed)


def is_softmax(func: Any, args: Any) -> bool:
    return func in _SOFTMAXES and bool(args)


def scores_of(
    func: Any, args: Any, options: Mapping[str, Any], batch: int
) -> Float[Tensor, "b h q k"] | None:
    """What a softmax over the last dimension is given, where that may be the scores of heads."""
    if not is_softmax(func, args):
        return None
    scores, dim = args[0], options.get("dim", args[1] if len(args) > 1 else None)
    if dim not in (-1, scores.ndim - 1):
        return None
    return by_heads(scores, batch)


def by_heads(values: Tensor, batch: int) -> Float[Tensor, "b h s t"] | None:
    """Heads may be in a dimension of their own, or in one with the texts."""
    if values.ndim == 4 and values.shape[0] == batch:
        return values
    if values.ndim == 3 and batch and values.shape[0] % batch == 0:
        return values.reshape(batch, -1, *values.shape[1:])
    return None


def shape_of(weights: Float[Tensor, "b h q k"]) -> Shape:
    b, h, q, k = weights.shape
    return b, h, q, k


def _softmax(func: Any, args: Any, options: Mapping[str, Any], scores: Tensor) -> Tensor:
    weights: Tensor = func(scores.reshape(args[0].shape), *args[1:], **options)
    return weights.reshape(scores.shape)


@dataclass(frozen=True)
class Product:
    """Weights times values as a module gives it, and by heads; `back` undoes the latter."""

    output: Tensor
    mixed: Float[Tensor, "b q h d"]
    values: Float[Tensor, "b g k d"]
    back: Callable[[Tensor], Tensor]


def product_of(func: Any, args: Any, options: Mapping[str, Any], shape: Shape) -> Product | None:
    """The product, computed, where the call is one of weights of that shape with values."""
    if func is torch.functional.einsum and len(args) == 3 and isinstance(args[0], str):
        return _einsum(func, args, shape)
    if func not in _PRODUCTS or len(args) != 2:
        return None
    b, h, q, k = shape
    weights, values = args[0], by_heads(args[1], b)
    if weights.shape[-2:] != (q, k) or weights.numel() != b * h * q * k:
        return None
    if values is None or values.shape[2] != k:
        return None
    output: Tensor = func(*args, **options)
    mixed = by_heads(output, b)
    assert mixed is not None
    return Product(
        output, mixed.transpose(1, 2), values, lambda new: new.transpose(1, 2).reshape(output.shape)
    )


def _einsum(func: Any, args: tuple[str, Tensor, Tensor], shape: Shape) -> Product | None:
    """The letters of the weights say which of the others are which."""
    equation, weights, values = args
    given, out = equation.replace(" ", "").split("->")
    own, other = given.split(",")
    rest = set(other) - set(own)
    if weights.shape != shape or len(rest) != 1 or not {own[0], own[1], own[3]} <= set(other):
        return None
    b, h, q, k, d = (*own, *rest)
    if sorted(out) != sorted((b, q, h, d)):
        return None
    output: Tensor = func(*args)
    order = [out.index(letter) for letter in (b, q, h, d)]
    undone = [order.index(place) for place in range(4)]
    kept = values.permute([other.index(letter) for letter in (b, h, k, d)])
    return Product(output, output.permute(order), kept, lambda new: new.permute(undone))
