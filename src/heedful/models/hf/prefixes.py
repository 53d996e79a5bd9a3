"""Texts that begin alike: a decoder's keys and values of what they share are computed once.

Inside of `shared_prefixes`, a decoder that is asked about one text after the other keeps the keys
and values of the last one, as transformers does it for writing, and goes on from where the next
text parts from it. In a sorted order of texts this walks the tree of their beginnings, and never
holds more than one text's. A decoder whose cache forgets (sliding windows), holds something else
(state spaces) or depends on the length of its text (LongRoPE) is run as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from heedful.models.hf.inputs import Form, Inputs

TAKES = frozenset({"past_key_values", "use_cache", "logits_to_keep"})
FEW = 8
"""Tokens on which a decoder shows that it can go on from half of them."""


@dataclass
class Prefix:
    """The last text, and its keys and values."""

    cache: Any
    tokens: Int[Tensor, " t"]


@dataclass
class Prefixes:
    """By module: what is known of its last text (None: nothing yet); one that cannot go on has
    `refused`."""

    known: dict[Any, Prefix | None] = field(default_factory=dict)
    refused: set[Any] = field(default_factory=set)

    def serves(self, module: Any, form: Form, inputs: Inputs) -> bool:
        """Whether this text, which must be alone, can be asked about so."""
        side = inputs.sides["a"]
        if form.decodes or form.segments or not form.takes >= TAKES or len(side.real) != 1:
            return False
        if not bool(side.seen.all()) or module in self.refused:
            return False
        if module not in self.known:
            self.known[module] = None
            if _turns_by_length(module) or not goes_on(module, form, inputs):
                self.refused.add(module)
        return module not in self.refused

    def output(self, module: Any, inputs: Inputs) -> Any:
        """The module's output for the places that are asked about, `inputs.places`."""
        assert inputs.places is not None
        tokens, last = inputs.arguments["input_ids"][0], self.known[module]
        same = 0 if last is None else _alike(last.tokens, tokens, int(inputs.places.min()))
        cache = new_cache(module) if last is None or not same else last.cache
        self.known[module] = None  # a pass that fails leaves half a text
        if last is not None and 0 < same < len(last.tokens):
            cache.crop(same - len(last.tokens))
        output = run(module, inputs.arguments, cache, same)
        self.known[module] = Prefix(cache, tokens)
        return output


_SHARED: ContextVar[Prefixes | None] = ContextVar("heedful_prefixes", default=None)


@contextmanager
def shared_prefixes() -> Iterator[None]:
    token = _SHARED.set(Prefixes())
    try:
        yield
    finally:
        _SHARED.reset(token)


def prefixes() -> Prefixes | None:
    return _SHARED.get()


def run(module: Any, arguments: Mapping[str, Any], cache: Any, start: int) -> Any:
    """Of what comes after so many tokens, which the cache has."""
    own = dict(arguments)
    for name in ("input_ids", "position_ids"):
        if name in own:
            own[name] = own[name][:, start:]
    if "logits_to_keep" in own:
        own["logits_to_keep"] = own["logits_to_keep"] - start
    return module(**own, past_key_values=cache, use_cache=True)


def new_cache(module: Any) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=module.config)


def _turns_by_length(module: Any) -> bool:
    """Whether keys are turned otherwise in longer texts (dynamic NTK, LongRoPE): a few tokens do
    not show it."""
    kinds = [getattr(part, "rope_type", None) for part in module.modules()]
    names = {
        each for kind in kinds for each in (kind.values() if isinstance(kind, dict) else [kind])
    }
    return not names.isdisjoint({"dynamic", "longrope"})


def goes_on(module: Any, form: Form, inputs: Inputs) -> bool:
    """Whether all of the cache can be cut anywhere, and half of a few tokens is gone on from."""
    from transformers.cache_utils import DynamicLayer

    few = {
        name: value[:, :FEW] if isinstance(value, Tensor) and value.ndim == 2 else value
        for name, value in inputs.arguments.items()
        if name != "logits_to_keep"
    }
    half = {n: v[:, : FEW // 2] if isinstance(v, Tensor) else v for n, v in few.items()}
    try:
        cache = new_cache(module)
        run(module, half, cache, 0)
        if not all(type(layer) is DynamicLayer for layer in cache.layers):
            return False
        rest = run(module, few, cache, FEW // 2).logits[:, -1]
        whole = module(**few).logits[:, -1]
    except (ValueError, RuntimeError, LookupError, TypeError, AttributeError):
        return False
    return torch.allclose(rest, whole, rtol=1e-3, atol=1e-3 * float(whole.abs().max()))


def _alike(one: Tensor, other: Tensor, most: int) -> int:
    """How many tokens two texts have in common at their beginning, at most so many."""
    width = min(len(one), len(other), most)
    apart = (one[:width] != other[:width]).nonzero()
    return int(apart[0]) if len(apart) else width
