"""Convolutions beside attention, kept off padding.

Half of ConvBERT's heads are a convolution, which reads what stands beside a token: at the end of a
short text that is padding. Inside our passes it reads zeros there, as it does where a text ends
alone, and of tokens that are hidden. Nothing else of it is changed or shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn

from heedful.models.hf.interface import listener
from heedful.models.hf.written import replaced_forwards

_HOMES = ("ConvBertSelfAttention",)


@contextmanager
def kept_off_padding(module: nn.Module) -> Iterator[None]:
    """Inside, an answer to a text does not depend on the length of others in its batch."""
    forwards: dict[nn.Module, Callable[..., Any]] = {}
    for part in module.modules():
        if any(kind.__name__ in _HOMES for kind in type(part).__mro__):
            home: Any = part
            read, given = home.key_conv_attn_layer, home.conv_out_layer
            forwards[read] = partial(_reads, read.forward)
            forwards[given] = partial(_gives, given.forward)
    with replaced_forwards(forwards):
        yield


def _reads(forward: Callable[..., Tensor], states: Float[Tensor, "b d t"]) -> Tensor:
    seen = _seen()
    return forward(states if seen is None else states * seen[:, None])


def _gives(forward: Callable[..., Tensor], states: Float[Tensor, "b t d"]) -> Tensor:
    seen = _seen()
    return forward(states) if seen is None else forward(states) * seen[..., None]


def _seen() -> Bool[Tensor, "b t"] | None:
    hears = listener()
    return None if hears is None else hears.seen
