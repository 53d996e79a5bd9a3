"""Where transformers lets us into its attention.

A model whose configuration says `heedful` calls `attention` below. The family's own eager
function still does the arithmetic, so nothing is restated and logits are equal to the last
bit; we only step in where it hands the weights on to dropout. The registration is global, so
who listens is a context variable that is set for the length of one forward pass. Families that
write their attention out in a module of their own are reached at their softmax (`written`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.errors import HeedfulError

NAME = "heedful"
Output = tuple[Tensor, Tensor | None]
Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Call:
    """One call of one attention module. `mask` is what is added to the scores."""

    module: nn.Module
    query: Tensor
    value: Tensor
    mask: Tensor | None
    eager: Callable[[Tensor | None], Output]

    def plain(self) -> Output:
        return self.eager(self.mask)

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
    eager = eager_of(type(module))  # type: ignore[arg-type]
    call = Call(
        module, query, value, attention_mask, partial(eager, module, query, key, value, **options)
    )
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
