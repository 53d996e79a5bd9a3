"""Which attention sites a module has, found by running it on two short texts.

A site is a call of transformers' attention interface. Or it is a softmax over keys, whose weights
then multiply values, in a module that writes its attention out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.errors import HeedfulError
from heedful.models.family import evaluating
from heedful.models.hf.folder import first_sentence
from heedful.models.hf.inputs import Form, Inputs, Side, inputs_of
from heedful.models.hf.interface import Call, Output, Softmax, listening
from heedful.models.hf.recorder import MASKED, Site
from heedful.models.hf.windows import is_windowed
from heedful.models.hf.written import (
    Product,
    Shape,
    is_softmax,
    opened,
    product_of,
    scores_of,
    shape_of,
)
from heedful.types import Batch, SiteSpec


def find_sites(module: Any, form: Form, batch: Batch) -> tuple[tuple[Site, ...], Any]:
    """The sites in the order they are called, and the module's output. The texts of the batch
    must be unlike in length."""
    inputs = inputs_of(batch, form)
    parts = list(module.modules())
    search, output = _searched(module, inputs)
    if list(module.modules()) != parts:  # BigBird puts others in their places for short texts
        search, output = _searched(module, inputs)
    _check(module, search)
    return _named(module, search.calls, inputs.sides), output


@dataclass(frozen=True)
class AttentionCall:
    """One call of attention: its module, how many keys, does a query see only the past, and is it
    written out in the module?"""

    module: nn.Module
    keys: int
    causal: bool
    written: bool = False


_FAILURES = (
    ValueError, RuntimeError, IndexError, TypeError, AttributeError,
    AssertionError,  # Longformer wants three separators around a question
)  # fmt: skip


def _searched(module: Any, inputs: Inputs) -> tuple[_Search, Any]:
    search = _Search(inputs.sides)
    try:
        with (
            evaluating(module),
            torch.no_grad(),
            listening(search),
            opened(part for part in module.modules() if is_windowed(part)),
            search.following(module),
            search,
        ):
            output = module(**inputs.arguments)
    except _FAILURES as error:
        raise HeedfulError(
            f"{type(module).__name__} cannot run on two short texts ({first_sentence(error)}): "
            "fix its configuration (often pad_token_id) before attaching it."
        ) from error
    return search, output


def _check(module: Any, search: _Search) -> None:
    name = type(module).__name__
    search.end()
    if search.unlike:  # Funnel, for one
        raise HeedfulError(
            f"{name} does not weigh each token against each other in {search.unlike}, which "
            "attends by blocks, landmarks or pools, or to padding: choose a model with full "
            "attention."
        )
    if not search.calls and search.fused:
        raise HeedfulError(
            f"{name} computes attention without its weights: load it with "
            "attn_implementation='eager'."
        )
    if not search.calls:  # FNet, for one
        raise HeedfulError(
            f"{name} has no softmax over tokens that could be reached: choose a model with "
            "attention, such as BERT."
        )


class _Search(TorchFunctionMode):
    """Listens to the interface, and watches all else that a module computes."""

    def __init__(self, sides: Mapping[str, Side]) -> None:
        super().__init__()
        self.calls: list[AttentionCall] = []
        self.unlike, self.fused = "", False
        self._sides, self._running = sides, list[nn.Module]()
        self._asked = False
        self._open: _Open | None = None

    @property
    def batch(self) -> int:
        return len(self._sides["a"].real)

    def __call__(self, call: Call) -> Output:
        mask = call.mask
        causal = mask is not None and mask.shape[-1] > 1 and bool(mask[0, 0, 0, -1] < 0)
        self.calls.append(AttentionCall(call.module, call.value.shape[2], causal))
        self._asked = True
        try:
            return call.run(lambda weights: weights, mask)
        finally:
            self._asked = False

    @property
    def width(self) -> int:
        return self._sides["a"].real.shape[1]

    @property
    def seen(self) -> Tensor:
        return self._sides["a"].seen

    def passes(self, module: nn.Module) -> bool:
        return False

    def softmax(self, call: Softmax) -> None:
        """Of windows, whose softmaxes are no matrices; others are watched below."""
        if not is_windowed(call.module):
            return
        self.end()
        weights = call.run(call.scores)
        if any(_spares_padding(weights, *pair) for pair in self._sides_of(weights)):
            self.calls.append(AttentionCall(call.module, weights.shape[3], False, True))
        else:
            self._refuse(self._running)

    def product(self, mixed: Tensor, values: Tensor | None) -> None:
        return None

    def _left(self, part: nn.Module, args: Any, output: Any) -> None:
        self._running.pop()

    @contextmanager
    def following(self, module: nn.Module) -> Iterator[None]:
        """Inside, the search knows which parts of the module are running."""
        with ExitStack() as stack:
            for part in module.modules():
                for hook in (
                    part.register_forward_pre_hook(lambda part, _: self._running.append(part)),
                    part.register_forward_hook(self._left),
                ):
                    stack.callback(hook.remove)
            yield

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if self._asked or (self._running and is_windowed(self._running[-1])):
            return func(*args, **options)
        self.fused = self.fused or func is F.scaled_dot_product_attention
        product = None
        if self._open is not None:
            product = product_of(func, args, options, self._open.shape)
        if product is not None:
            self._weighed(product)
            return product.output
        output = func(*args, **options)
        if is_softmax(func, args):
            self._softened(scores_of(func, args, options, self.batch), args[0], output)
        return output

    def _softened(self, scores: Tensor | None, given: Tensor, output: Tensor) -> None:
        """A softmax of each query over keys, with nothing on padding, may be attention. One of
        other sizes and fewer dimensions may be anything, such as a choice between experts."""
        self.end()
        weights = None if scores is None else output.reshape(scores.shape)
        sides = [] if weights is None else self._sides_of(weights)
        if scores is not None and any(_spares_padding(weights, *pair) for pair in sides):
            causal = scores.shape[3] > 1 and bool((scores[0, :, 0, -1] <= MASKED).all())
            self._open = _Open(shape_of(scores), causal, tuple(self._running))
        elif sides or given.ndim > 3:
            self._refuse(self._running)

    def _sides_of(self, weights: Tensor) -> list[tuple[Side, Side]]:
        """Whose weights these may be, by their sizes: queries and keys."""
        return [
            (queries, keys)
            for queries in self._sides.values()
            for keys in self._sides.values()
            if weights.shape[2:] == (queries.real.shape[1], keys.real.shape[1])
        ]

    def _weighed(self, product: Product) -> None:
        """Home is the innermost module that both weighs and mixes."""
        assert self._open is not None
        both = zip(self._open.running, self._running, strict=False)
        *_, (home, _) = takewhile(lambda pair: pair[0] is pair[1], both)
        self.calls.append(AttentionCall(home, self._open.shape[3], self._open.causal, True))
        self._open = None

    def end(self) -> None:
        """Weights that weighed no values are none that could be changed."""
        if self._open is not None:
            self._refuse(self._open.running)
        self._open = None

    def _refuse(self, running: Sequence[nn.Module]) -> None:
        """A softmax may be a module, but no name that tells where it is."""
        inner = [part for part in running if not isinstance(part, nn.Softmax)]
        self.unlike = self.unlike or type(inner[-1]).__name__


@dataclass(frozen=True)
class _Open:
    """A softmax whose weights have not met values yet, and the modules it is in."""

    shape: Shape
    causal: bool
    running: tuple[nn.Module, ...]


def _spares_padding(weights: Any, queries: Side, keys: Side) -> bool:
    """No token has a weight on padding, in any head."""
    unseen = queries.real[:, None, :, None] & ~keys.real[:, None, None, :]
    return not (weights * unseen).any()


def _named(module: Any, calls: list[AttentionCall], sides: Mapping[str, Side]) -> tuple[Site, ...]:
    """Names are those of modules, without that of the base model unless two would be the same."""
    names = {part: name for name, part in module.named_modules()}
    short = [name.removeprefix(f"{module.base_model_prefix}.") for name in names.values()]
    if len(set(short)) == len(short):
        names = dict(zip(names, short, strict=True))
    often, seen, decoding = Counter(call.module for call in calls), Counter[nn.Module](), False
    sites = []
    for call in calls:
        past = "target" in sides and (call.causal or call.keys != sides["a"].real.shape[1])
        decoding = decoding or past
        nth = seen[call.module]
        name = names[call.module] + (f"#{nth}" if often[call.module] > 1 else "")
        keys, queries = ("target" if side else "a" for side in (past, decoding))
        spec = SiteSpec(name, keys, "tokens", False, queries=queries)
        sites.append(Site(spec, call.module, nth, call.written))
        seen[call.module] += 1
    return tuple(sites)
