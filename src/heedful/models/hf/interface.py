"""Where transformers lets us into its attention.

A model whose configuration says `heedful` calls `attention` below. The family's own eager
function still does the arithmetic, so nothing is restated and logits are equal to the last
bit; we only step in where it hands the weights on to dropout. The registration is global, so
who listens is a context variable that is set for the length of one forward pass. Families that
write their attention out in a module of their own are reached at their softmax (`written`).

Weights grow with the square of a text. Where a text is long, a call whose weights nobody changes
is made of some queries at a time: the same function, of fewer rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.errors import HeedfulError

NAME = "heedful"
Output = tuple[Tensor, Tensor | None]
Change = Callable[[Tensor], Tensor]


LONG = 1 << 21
"""Pairs of a query and a key, over the texts of a batch, that are weighed at once: with more, a
text is long. One of 1,448 tokens has as many."""


def is_long(texts: int, queries: int, keys: int) -> bool:
    return texts * queries * keys > LONG


@dataclass(frozen=True)
class Call:
    """One call of one attention module. `mask` is what is added to the scores."""

    module: nn.Module
    query: Float[Tensor, "b h q d"]
    key: Float[Tensor, "b g k d"]
    value: Float[Tensor, "b g k e"]
    mask: Tensor | None
    options: Mapping[str, Any]

    def eager(self, mask: Tensor | None) -> Output:
        """The family's own arithmetic."""
        eager = eager_of(type(self.module))  # type: ignore[arg-type]
        return eager(self.module, self.query, self.key, self.value, mask, **self.options)

    @property
    def long(self) -> bool:
        return is_long(len(self.query), self.query.shape[2], self.key.shape[2])

    def plain(self) -> Output:
        """Without weights where the text is long."""
        return self.in_blocks(self.mask) if self.long else self.eager(self.mask)

    def run(self, change: Change, mask: Tensor | None) -> Output:
        """The family's own arithmetic, under another mask, with the weights changed after
        softmax and before dropout."""
        with _AtDropout(change) as at:
            output = self.eager(mask)
        if not at.reached:
            raise HeedfulError(
                f"the weights of {type(self.module).__name__} cannot be reached: "
                "choose a model whose eager attention passes them through dropout."
            )
        return output

    def in_blocks(self, mask: Tensor | None, keep: bool = False) -> Output:
        """The same for some queries at a time, and the keys that any of them may see: weights are
        made of one block after the other, and left behind only to `keep` them."""
        b, h, q, _ = self.query.shape
        k = self.key.shape[2]
        kept = self.query.new_zeros(b, h, q, k) if keep else None
        size, outputs = max(1, LONG // (4 * b * k)), []
        for start in range(0, q, size):
            rows = slice(start, start + size)
            keys = slice(0, k) if mask is None else _seen(_part(mask, rows, slice(0, k)))
            part = self._block(rows, keys)
            masked = None if mask is None else _part(mask, rows, keys)
            if kept is not None:
                outputs.append(part.run(partial(_put, kept[:, :, rows, keys]), masked)[0])
            else:
                outputs.append(part.eager(masked)[0])
        return torch.cat(outputs, 1), kept

    def _block(self, rows: slice, keys: slice) -> Call:
        """What a family adds to scores by itself (T5) is cut as they are."""
        q, k = self.query.shape[2], self.key.shape[2]
        options = {
            name: _part(option, rows, keys) if _of_scores(option, q, k) else option
            for name, option in self.options.items()
        }
        key, value = self.key[:, :, keys], self.value[:, :, keys]
        return replace(self, query=self.query[:, :, rows], key=key, value=value, options=options)


def _part(values: Tensor, rows: slice, keys: slice) -> Tensor:
    """Of scores, or of what is added to them; one row may stand for all."""
    return values[..., rows if values.shape[-2] > 1 else slice(None), keys]


def _of_scores(option: Any, q: int, k: int) -> bool:
    return isinstance(option, Tensor) and option.ndim == 4 and option.shape[-2:] in {(q, k), (1, k)}


def _seen(mask: Tensor) -> slice:
    """The first to the last key that some row may see; a softmax gives the others nothing."""
    seen = (mask > torch.finfo(mask.dtype).min / 2).flatten(0, -2).any(0).nonzero()
    return slice(int(seen[0]), int(seen[-1]) + 1) if len(seen) else slice(0, mask.shape[-1])


def _put(place: Tensor, weights: Tensor) -> Tensor:
    place.copy_(weights)
    return weights


@dataclass(frozen=True)
class Softmax:
    """One softmax over keys in a module that writes its attention out; `run` is the module's own,
    of these scores or of others."""

    module: nn.Module
    scores: Float[Tensor, "b h q k"]
    run: Change


@runtime_checkable
class Listener(Protocol):
    """Hears every call of attention during one forward pass of so many texts: a call of the
    interface as a whole; in a module that writes its attention out, the softmax and then the
    product of weights and values, which may not be known. None leaves what was heard as it is."""

    @property
    def batch(self) -> int: ...

    @property
    def width(self) -> int:
        """Tokens of the longest text, before a module fills it up."""

    @property
    def seen(self) -> Bool[Tensor, "b t"]:
        """The tokens of the texts that are neither padding nor hidden, as the module has them."""

    def passes(self, module: nn.Module) -> bool:
        """Whether the next call of the module is left as it is, and counts as heard."""

    def __call__(self, call: Call) -> Output: ...

    def softmax(self, call: Softmax) -> Float[Tensor, "b h q k"] | None: ...

    def product(
        self, mixed: Float[Tensor, "b q h d"], values: Float[Tensor, "b g k d"] | None
    ) -> Float[Tensor, "b q h d"] | None: ...


_LISTENER: ContextVar[Listener | None] = ContextVar("heedful_listener", default=None)


@contextmanager
def listening(hears: Listener | None) -> Iterator[None]:
    token = _LISTENER.set(hears)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Listener | None:
    """Who listens to this pass."""
    return _LISTENER.get()


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> Output:
    """What transformers calls. Outside of our own passes it is eager attention."""
    call = Call(module, query, key, value, attention_mask, options)
    hears = listener()
    return call.plain() if hears is None else hears(call)


@cache
def eager_of(kind: type[nn.Module]) -> Callable[..., Output]:
    """The eager attention of the file the module's class (or one it inherits from) is in."""
    for base in kind.__mro__:
        found = vars(sys.modules[base.__module__]).get("eager_attention_forward")
        if found is not None:
            eager: Callable[..., Output] = found
            return eager
    raise HeedfulError(
        f"{kind.__name__} has no eager attention: choose a model of transformers' own."
    )


def register() -> None:
    """Make the name known to transformers; doing it again changes nothing."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, eager_mask)


class _AtDropout(TorchFunctionMode):
    """Changes what the first dropout is given: attention weights, straight after softmax."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change, self.reached = change, False

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.dropout and not self.reached:
            self.reached = True
            args = (self.change(args[0]), *args[1:])
        return func(*args, **(kwargs or {}))
