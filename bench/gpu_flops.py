"""Floating-point operations, counted: a multiplication and an addition are two.

torch has formulas for products of matrices and for convolutions. It has none for products in
place nor for cuDNN's recurrent layers; those are added here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


def counted(work: Callable[[], Any]) -> int:
    """Of all products while it runs, on any device, forwards and backwards."""
    counter = _Counter()
    with counter:
        work()
    return counter.total


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """torch's own counter follows modules too, and `autograd.grad` does not bear that."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        operation = func._overloadpacket
        if operation in OWN:
            self.total += OWN[operation](*args)
        elif operation in flop_registry:
            self.total += int(flop_registry[operation](*args, **(kwargs or {}), out_val=out))
        return out


def in_place(out: Tensor, a: Tensor, b: Tensor) -> int:
    return 2 * a.shape[0] * a.shape[1] * b.shape[1]


def recurrent(inputs: Tensor, weights: Sequence[Tensor], *rest: Any) -> int:
    """Every matrix of the layer is multiplied with something at every token that is not
    padding: they are packed away."""
    tokens = inputs.numel() // inputs.shape[-1]
    return 2 * tokens * sum(weight.numel() for weight in weights if weight.dim() > 1)


def recurrent_backward(inputs: Tensor, weights: Sequence[Tensor], *rest: Any) -> int:
    """As much again for the slopes of what came in, and, where they are asked for (the last of
    what is given says so), of the weights."""
    return recurrent(inputs, weights) * (2 if list(rest[-1])[3] else 1)


_aten = torch.ops.aten
OWN: dict[Any, Callable[..., int]] = {
    _aten.addmm_: lambda out, a, b, *rest: in_place(out, a, b),
    _aten._cudnn_rnn: recurrent,
    _aten._cudnn_rnn_backward: recurrent_backward,
}
