"""Sanity checks of maps: does a map look at the model, and only at the model?

A map that survives random parameters does not explain what was learned (Adebayo et al.
2018). One that moves when nothing but the origin of the inputs moves explains more than the
function (Kindermans et al. 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.attributions import lrp_logits
from heedful.errors import HeedfulError
from heedful.experiments.correlation import agreement
from heedful.randomness import example_keys, keyed_normal, stable_hash
from heedful.types import Batch, Deleted, Edits, Embeddings, Keep, Model, SiteSpec, Trace
from heedful.words import word_mask

WordMap = Callable[[Model, Batch], Float[Tensor, "b w"]]
"""An explanation by words of side `a`, its class and parameters settled."""


def tau_with_randomised(
    model: Model, batch: Batch, maps: Mapping[str, WordMap], seed: int = 0
) -> dict[str, Float[Tensor, " b"]]:
    """τ-b over words between each map of the model and of the same with random parameters.

    Should be near 0; NaN where undefined: fewer than two words, or a constant map.
    """
    before = {name: make(model, batch) for name, make in maps.items()}
    with randomised(model, seed) as other:
        after = {name: make(other, batch) for name, make in maps.items()}
    return {name: _tau(before[name], after[name], batch) for name in maps}


def moved_by_shift(
    model: Model, batch: Batch, maps: Mapping[str, WordMap], scale: float = 0.5, seed: int = 0
) -> dict[str, Float[Tensor, " b"]]:
    """How far each map moves when one vector is added to all embeddings and taken off again
    inside the model: ‖moved − map‖₁ / ‖map‖₁. Should be 0; NaN where the map is all zeros.

    The vector is normal noise times `scale`: a layer norm would not see equal numbers.
    """
    if not scale:
        raise HeedfulError("the shift's scale is 0, which moves nothing: choose another number.")
    own = model.embed(batch)["a"]
    noise = keyed_normal(example_keys(seed, ("shift",), "origin"), (own.shape[-1],))[0]
    other = OtherOrigin(model, (scale * noise).to(own))
    return {name: _moved(make(model, batch), make(other, batch)) for name, make in maps.items()}


def _tau(one: Tensor, two: Tensor, batch: Batch) -> Tensor:
    both = {"one": one, "two": two}
    found = agreement(both, word_mask(batch.texts["a"]), signed=tuple(both), weights=())
    return found["one", "two"].tau


def _moved(one: Tensor, two: Tensor) -> Tensor:
    distance, size = (two - one).double().abs().sum(-1), one.double().abs().sum(-1)
    return torch.where(size > 0, distance / size, torch.nan)


# The same model for embeddings that all carry the same extra vector.
#
# It takes the vector off again, so its outputs are what they were; whatever an explanation
# makes of it is the explanation's own doing (Kindermans et al. 2019).


class Reembedded:
    """A model seen through other embeddings of its texts; all else is the `inner` one's."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    @property
    def sites(self) -> tuple[SiteSpec, ...]:
        return self.inner.sites

    @property
    def fillers(self) -> Mapping[str, int]:
        return self.inner.fillers

    def resume(self, batch: Batch, trace: Trace, edits: Edits) -> Trace:
        return self.inner.resume(batch, trace, edits)

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return self.inner.leave_one_out_logits(batch, trace)


class OtherOrigin(Reembedded):
    """With `shift` added to each embedding."""

    def __init__(self, inner: Model, shift: Float[Tensor, " e"]) -> None:
        super().__init__(inner)
        self.shift = shift

    def embed(self, batch: Batch) -> Embeddings:
        return {side: x + self.shift for side, x in self.inner.embed(batch).items()}

    def __call__(
        self,
        batch: Batch,
        edits: Edits | None = None,
        keep: Keep = Keep(),
        embeddings: Embeddings | None = None,
    ) -> Trace:
        given = embeddings
        if given is None:
            leaves = keep.embeddings and torch.is_grad_enabled()
            given = {side: x.requires_grad_(leaves) for side, x in self.embed(batch).items()}
        back = {side: x - self.shift for side, x in given.items()}
        trace = self.inner(batch, edits, keep, back)
        return replace(trace, embeddings=given if keep.embeddings else {})


@lrp_logits.register
def other_origin_logits(
    model: OtherOrigin, batch: Batch, embedded: Tensor, epsilon: float
) -> Tensor:
    """The shift is a bias of the first layer, and keeps its share as biases do."""
    return lrp_logits(model.inner, batch, embedded - model.shift, epsilon)


# A model whose parameters mean nothing, for a while, and then are what they were.
#
# The entries of each tensor are shuffled: every tensor keeps its scale and shape, and nothing
# that was learned is left (Adebayo et al. 2018). A constant tensor stays as it is.


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
