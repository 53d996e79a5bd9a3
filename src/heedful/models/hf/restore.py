"""Changes to a caller's module that end with the `with` block, whatever happens in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from heedful.models.evaluating import evaluating
from heedful.models.hf.interface import NAME


@contextmanager
def borrowed(module: nn.Module) -> Iterator[None]:
    """Attention goes through us and nothing is computed twice; afterwards all is as before.

    Checkpointing would run attention again during the backward pass, when nobody listens.
    """
    modes = {each: each.training for each in module.modules()}
    learns = {each: each.requires_grad for each in module.parameters()}
    checkpointed: list[Any] = [
        each for each in modes if getattr(each, "gradient_checkpointing", False)
    ]
    attentions = [(each, each._attn_implementation_internal) for each in _configs(module)]
    try:
        for config, _ in attentions:
            config._attn_implementation_internal = NAME
        for each in checkpointed:
            each.gradient_checkpointing = False
        yield
    finally:
        for config, name in attentions:
            config._attn_implementation_internal = name
        for each in checkpointed:
            each.gradient_checkpointing = True
        for each, mode in modes.items():
            each.training = mode
        for parameter, flag in learns.items():
            parameter.requires_grad_(flag)


@contextmanager
def still(module: nn.Module) -> Iterator[None]:
    """No dropout and no gradients; the training mode comes back."""
    with evaluating(module), torch.no_grad():
        yield


def _configs(module: nn.Module) -> list[Any]:
    """Every configuration that some part of the module may ask for its attention."""
    from transformers import PretrainedConfig

    found: dict[int, Any] = {}
    waiting = [getattr(each, "config", None) for each in module.modules()]
    while waiting:
        config = waiting.pop()
        if isinstance(config, PretrainedConfig) and id(config) not in found:
            found[id(config)] = config
            waiting.extend(getattr(config, name, None) for name in config.sub_configs)
    return list(found.values())
