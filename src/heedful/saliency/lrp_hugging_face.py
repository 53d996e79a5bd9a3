"""LRP through a Hugging Face model, by watching what torch functions it calls.

Attention weights and the norms' standard deviations are constants (Ali et al. 2022), and
activations hand on what comes. Biases, positions and token types keep their share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.edits.detach import detach
from heedful.errors import HeedfulError
from heedful.models.hf.model import HuggingFace
from heedful.saliency.lrp_logits import lrp_logits
from heedful.saliency.lrp_rules import passing, stable
from heedful.types import Batch, Trace

FAMILIES = (
    "albert",
    "bert",
    "camembert",
    "distilbert",
    "electra",
    "gpt2",
    "roberta",
    "xlm-roberta",
)
"""Sums, layer norms, activations and attention are all they are made of."""


@lrp_logits.register
def hugging_face_logits(
    model: HuggingFace, batch: Batch, embedded: Tensor, epsilon: float
) -> Tensor:
    _check(model)
    edits = {site.name: detach() for site in model.sites}
    with rules(model.module, epsilon):
        trace: Trace = model(batch, edits, embeddings={"a": embedded})
    return trace.logits


@contextmanager
def rules(module: nn.Module, epsilon: float) -> Iterator[None]:
    """Inside, gradients follow LRP's rules; afterwards nothing is left of them."""
    with ExitStack() as stack:
        for each in module.modules():
            if isinstance(each, _activations()):
                stack.callback(each.register_forward_hook(_after_activation).remove)
        stack.enter_context(_Rules(epsilon))
        yield


class _Rules(TorchFunctionMode):
    """Linear layers under the ε-rule, norms, and activations that are called as functions."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.layer_norm:
            return _normalised(*args, **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        if func in _SUMS:
            return stable(result, self.epsilon)
        return passing(args[0], result) if func in _SQUASHINGS else result


_SUMS: tuple[Callable[..., Any], ...] = (F.linear, torch.addmm)
_SQUASHINGS: tuple[Callable[..., Any], ...] = (torch.tanh, torch.Tensor.tanh, F.gelu)


def _normalised(
    x: Tensor,
    shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """A layer norm whose standard deviation is a constant."""
    over = tuple(range(-len(shape), 0))
    centred = x - x.mean(over, keepdim=True)
    scale = (centred.detach().square().mean(over, keepdim=True) + eps).rsqrt()
    scaled = centred * scale if weight is None else centred * scale * weight
    return scaled if bias is None else scaled + bias


def _after_activation(module: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> Tensor:
    return passing(arguments[0], output)


def _activations() -> tuple[type[nn.Module], ...]:
    """Whole modules, as some are written out in products and powers."""
    from transformers.activations import ACT2CLS

    kinds: list[Any] = list(ACT2CLS.values())
    return tuple({kind[0] if isinstance(kind, tuple) else kind for kind in kinds})


def _check(model: HuggingFace) -> None:
    module: Any = model.module
    if module.config.model_type not in FAMILIES:
        raise HeedfulError(
            f"LRP has no rules for {module.config.model_type!r}: it knows {', '.join(FAMILIES)} "
            "and one-sequence models, so leave it out."
        )
