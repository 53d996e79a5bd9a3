"""A model whose parameters mean nothing, for a while, and then are what they were.

The entries of each tensor are shuffled: every tensor keeps its scale and shape, and nothing
that was learned is left (Adebayo et al. 2018). A constant tensor stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn

from heedful.errors import HeedfulError
from heedful.randomness import stable_hash
from heedful.types import Model

M = TypeVar("M", bound=Model)


@contextmanager
def randomised(model: M, seed: int = 0) -> Iterator[M]:
    """The same model with shuffled parameters; restored to the last bit afterwards, also
    where something is raised inside."""
    parameters = dict(torch_module(model).named_parameters())
    saved = {name: parameter.detach().clone() for name, parameter in parameters.items()}
    try:
        for name, parameter in parameters.items():
            _write(parameter, _shuffled(saved[name], stable_hash(seed, "randomised", name)))
        yield model
    finally:
        for name, parameter in parameters.items():
            _write(parameter, saved[name])


def torch_module(model: Model) -> nn.Module:
    """The torch module a model is, or wraps as its `module`."""
    inner = model if isinstance(model, nn.Module) else getattr(model, "module", None)
    if not isinstance(inner, nn.Module):
        raise HeedfulError(
            f"{type(model).__name__} has no parameters to randomise: give a torch module, or "
            "wrap one as `module`."
        )
    return inner


def _shuffled(values: Tensor, key: int) -> Tensor:
    """Drawn on the CPU, so that every device gets the same."""
    order = torch.randperm(values.numel(), generator=torch.Generator().manual_seed(key))
    return values.flatten()[order.to(values.device)].reshape(values.shape)


def _write(parameter: Tensor, values: Tensor) -> None:
    with torch.no_grad():
        parameter.copy_(values)
