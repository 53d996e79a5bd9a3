"""Heads taken away by plain hooks on the output projections, one text at a time.

The input of an output projection is what the heads put out, side by side (Wang et al. 2023 and
Goldowsky-Dill et al. 2023 patch there)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from heedful.types import Batch

Patch = Callable[[Tensor], Tensor]


def logits(model: Any, batch: Batch, patches: Mapping[nn.Module, Patch]) -> Tensor:
    """Those of one text, with the inputs of some projections patched."""
    hooks = [
        module.register_forward_pre_hook(lambda _, given, patch=patch: (patch(given[0]),))
        for module, patch in patches.items()
    ]
    try:
        with torch.no_grad():
            return model(batch).logits
    finally:
        for hook in hooks:
            hook.remove()


def inputs(model: Any, batch: Batch, projections: Sequence[nn.Module]) -> list[Tensor]:
    """What the heads of each layer put out, [1, q, h·d]."""
    found: dict[nn.Module, Tensor] = {}

    def keep(module: nn.Module) -> Patch:
        def patch(given: Tensor) -> Tensor:
            found[module] = given.clone()
            return given

        return patch

    logits(model, batch, {module: keep(module) for module in projections})
    return [found[module] for module in projections]


def means(
    model: Any, texts: Sequence[Batch], projections: Sequence[nn.Module], read: Sequence[int]
) -> list[tuple[Tensor, Tensor]]:
    """By layer: the mean over texts of the row that is read, and of the mean of the other rows."""
    sums: list[list[Tensor]] = [[] for _ in projections]
    others: list[list[Tensor]] = [[] for _ in projections]
    for text, row in zip(texts, read, strict=True):
        for layer, given in enumerate(inputs(model, text, projections)):
            rows = list(given[0])
            sums[layer].append(rows.pop(row))
            if rows:
                others[layer].append(sum(rows) / len(rows))
    return [
        (sum(one) / len(one), sum(rest) / len(rest)) for one, rest in zip(sums, others, strict=True)
    ]


def zeroed(head: int, size: int) -> Patch:
    def patch(given: Tensor) -> Tensor:
        new = given.clone()
        new[..., head * size : (head + 1) * size] = 0.0
        return new

    return patch


def at_mean(head: int, size: int, mean: tuple[Tensor, Tensor], row: int) -> Patch:
    part = slice(head * size, (head + 1) * size)

    def patch(given: Tensor) -> Tensor:
        new = given.clone()
        for place in range(given.shape[1]):
            new[0, place, part] = mean[0 if place == row else 1][part]
        return new

    return patch


def held(value: Tensor) -> Patch:
    return lambda given: value
