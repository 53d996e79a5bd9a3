"""Linear maps in single precision on CPUs, by oneDNN.

PyTorch multiplies matrices of single precision by MKL, which on an AMD processor reaches less than
half of what oneDNN does. PyTorch brings both. The numbers are the same but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.models.family import restored
from heedful.models.hf.written import replaced_forwards

FEWEST = 16
"""Rows: for fewer, preparing the weights takes longer than it saves."""
FEWEST_TURNED = 64
"""The same where the weights are turned, as a gradient needs them."""


@contextmanager
def fast_linear(module: nn.Module) -> Iterator[None]:
    """Inside, the linear layers of a module are computed by `linear`, and no parameter learns:
    gradients by the inputs then hold less, too."""
    from transformers.pytorch_utils import Conv1D

    layers = [part for part in module.modules() if type(part) in (nn.Linear, Conv1D)]
    known = [part for part in layers if "forward" not in vars(part)] if _has_both() else []
    with (
        restored(module.parameters(), "requires_grad"),
        replaced_forwards({part: partial(_mapped, part) for part in known}),
    ):
        module.requires_grad_(False)
        yield


def _mapped(layer: Any, x: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
    """GPT-2 has its weights turned."""
    weight = layer.weight if type(layer) is nn.Linear else layer.weight.T
    return linear(x, weight, layer.bias)


def linear(
    x: Float[Tensor, "*n d"], weight: Float[Tensor, "e d"], bias: Float[Tensor, " e"] | None = None
) -> Float[Tensor, "*n e"]:
    """`F.linear`, faster where that is known: of single precision, on a CPU, and where only the
    gradient by `x` may be asked for. Inside a mode of torch, which may look for `F.linear`, it is
    that."""
    learned = torch.is_grad_enabled() and any(
        each is not None and each.requires_grad for each in (weight, bias)
    )
    fewest = FEWEST if weight.is_contiguous() else FEWEST_TURNED
    if learned or not _is_known(x, weight, fewest):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and x.requires_grad:
        mapped: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return mapped
    return _product(x, weight, bias)


def _is_known(x: Tensor, weight: Tensor, fewest: int) -> bool:
    return (
        x.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and x.numel() >= fewest * weight.shape[1]
        and _has_both()
        and bool(torch.backends.mkldnn.enabled)
        and not torch.is_autocast_enabled("cpu")
        and not torch._C._len_torch_function_stack()
    )


@cache
def _has_both() -> bool:
    """Elsewhere PyTorch multiplies by other libraries."""
    both = bool(torch._C.has_mkl and torch._C._has_mkldnn)
    return both and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    mapped: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return mapped


class _Linear(torch.autograd.Function):
    """Weights are constants."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        (slope,), (weight,) = slopes, ctx.saved_tensors
        if slope.requires_grad or not _is_known(slope, weight.T, FEWEST_TURNED):
            return slope @ weight, None, None
        return _product(slope.contiguous(), weight.T, None), None, None
