"""Sanity checks of maps: does a map look at the model, and only at the model?

A map that survives random parameters does not explain what was learned (Adebayo et al.
2018). One that moves when nothing but the origin of the inputs moves explains more than the
function (Kindermans et al. 2019). Infidelity: do a set's scores add up to what removing the set
does? Sensitivity: does the explanation change when the input hardly does (Yeh et al. 2019)?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from heedful.attributions import lrp_logits
from heedful.errors import HeedfulError
from heedful.experiments.correlation import agreement
from heedful.hashing import stable_hash
from heedful.models import Around
from heedful.perturbations import WordRemoval
from heedful.randomness import example_keys, keyed_normal, keyed_uniform
from heedful.types import (
    Batch,
    Deleted,
    Edits,
    Embeddings,
    Keep,
    Model,
    Trace,
)
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
    mask, both = word_mask(batch.texts["a"]), ("before", "after")
    return {
        name: agreement(
            {"before": before[name], "after": after[name]}, mask, signed=both, weights=()
        )[both].tau
        for name in maps
    }


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


def _moved(one: Tensor, two: Tensor) -> Tensor:
    distance, size = (two - one).double().abs().sum(-1), one.double().abs().sum(-1)
    return torch.where(size > 0, distance / size, torch.nan)


# The same model for embeddings that all carry the same extra vector.
#
# It takes the vector off again, so its outputs are what they were; whatever an explanation
# makes of it is the explanation's own doing (Kindermans et al. 2019).


class Reembedded(Around):
    """A model seen through other embeddings of its texts."""

    def embedded(self, batch: Batch, keep: Keep, given: Embeddings | None) -> dict[str, Tensor]:
        if given is not None:
            return dict(given)
        leaves = keep.embeddings and torch.is_grad_enabled()
        own = self.embed(batch).items()
        return {side: x.detach().clone().requires_grad_(leaves) for side, x in own}

    def run(self, batch: Batch, embedded: Embeddings, edits: Edits, keep: Keep) -> Trace:
        return self.model(batch, edits, keep, self._put(embedded))

    def _put(self, given: Embeddings) -> Embeddings:
        """What the model inside is given for these embeddings."""
        return given

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        return self.model.leave_one_out_logits(batch, trace)


class OtherOrigin(Reembedded):
    """With `shift` added to each embedding."""

    def __init__(self, model: Model, shift: Float[Tensor, " e"]) -> None:
        super().__init__(model)
        self.shift = shift

    def embed(self, batch: Batch) -> Embeddings:
        return {side: x + self.shift for side, x in self.model.embed(batch).items()}

    def _put(self, given: Embeddings) -> Embeddings:
        return {side: x - self.shift for side, x in given.items()}


@lrp_logits.register
def other_origin_logits(
    model: OtherOrigin, batch: Batch, embedded: Tensor, epsilon: float
) -> Tensor:
    """The shift is a bias of the first layer, and keeps its share as biases do."""
    return lrp_logits(model.model, batch, embedded - model.shift, epsilon)


# A model whose parameters mean nothing, for a while, and then are what they were.
#
# The entries of each tensor are shuffled: every tensor keeps its scale and shape, and nothing
# that was learned is left (Adebayo et al. 2018). A constant tensor stays as it is.


M = TypeVar("M", bound=Model)


@contextmanager
def randomised(model: M, seed: int = 0, drawn: dict[str, Tensor] | None = None) -> Iterator[M]:
    """The same model with shuffled parameters; restored to the last bit afterwards, also
    where something is raised inside. What was `drawn` before, for this model and seed, is not drawn
    again: whoever asks several times keeps it."""
    parameters = dict(torch_module(model).named_parameters())
    drawn = {} if drawn is None else drawn
    for name, parameter in parameters.items():
        if name not in drawn:
            drawn[name] = _shuffled(parameter.detach(), stable_hash(seed, "randomised", name))
    exchanged: list[str] = []
    try:
        for name, parameter in parameters.items():
            _exchange(parameter, drawn[name])
            exchanged.append(name)
        yield model
    finally:
        for name in reversed(exchanged):  # some may be views of others
            _exchange(parameters[name], drawn[name])


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


def _exchange(one: Tensor, other: Tensor) -> None:
    """In place: nothing else is held for longer than this takes."""
    with torch.no_grad():
        kept = one.clone()
        one.copy_(other)
        other.copy_(kept)


# Infidelity and sensitivity of an explanation (Yeh et al. 2019), and interactions of words.


def infidelity(
    removal: WordRemoval,
    explanations: Mapping[str, Float[Tensor, "b w"]],
    draws: int = 32,
    seed: int = 0,
    normalise: bool = True,
) -> dict[str, Float[Tensor, " b"]]:
    """E[(Σ_{w∈S} score_w − (f(x) − f(x without S)))²] over random sets S of words.

    With `normalise`, scores are first multiplied by the best factor for the text (theirs, and
    Captum's): attention weights and differences of p have no common unit otherwise. A map that
    predicts nothing then gets the mean square of the falls themselves.
    """
    mask = removal.mask
    sets = random_sets(mask, removal.batch.ids, draws, seed)
    gone = torch.cat([torch.zeros_like(sets[:, :1]), sets], 1)
    values = removal.answers(gone).value
    falls = values[:, :1] - values[:, 1:]
    return {
        name: _gap(scores.to(mask.device), sets, falls, normalise).masked_fill(
            ~mask.any(-1), torch.nan
        )
        for name, scores in explanations.items()
    }


def random_sets(
    mask: Bool[Tensor, "b w"], ids: tuple[str, ...], draws: int, seed: int
) -> Bool[Tensor, "b m w"]:
    """Sets of all sizes alike: each draw has a share of its own, and takes each word with it."""
    keys = example_keys(seed, ids, "infidelity").to(mask.device)
    numbers = keyed_uniform(keys, (draws, mask.shape[1] + 1))
    return (numbers[..., 1:] < numbers[..., :1]) & mask[:, None]


def _gap(scores: Tensor, sets: Tensor, falls: Tensor, normalise: bool) -> Tensor:
    sums = torch.where(sets, scores.double()[:, None], 0.0).sum(-1)
    if normalise:
        square = sums.square().sum(-1, keepdim=True)
        factor = (sums * falls).sum(-1, keepdim=True) / square
        sums = sums * torch.where(square == 0, 1.0, factor)
    return (sums - falls).square().mean(-1)


Explain = Callable[[Model, Batch, Int[Tensor, " b"]], Float[Tensor, "b w"]]
"""From a model, a batch and the explained class to word scores."""


@dataclass(frozen=True)
class Noise:
    """Uniform noise on every embedding of the text's own tokens: at most `radius` times the
    root mean square of the text's embeddings."""

    radius: float = 0.02
    draws: int = 10
    seed: int = 0


def max_sensitivity(
    model: Model, batch: Batch, label: Int[Tensor, " b"], explain: Explain, noise: Noise = Noise()
) -> Float[Tensor, " b"]:
    """max over draws of ‖Φ(x + δ) − Φ(x)‖ / ‖Φ(x)‖, by word scores Φ; NaN where Φ(x) is 0.

    The explanation is asked of a model whose embeddings are shifted. Only explanations that
    take the text as it is can be (gradients, attention): one that removes words would need the
    noise of words that moved, and `Shifted` refuses.
    """
    if noise.draws < 1:
        raise HeedfulError(f"sensitivity was asked for {noise.draws} draws: choose 1 or more.")
    plain = explain(model, batch, label)
    size = plain.norm(dim=-1)
    largest = torch.zeros_like(size)
    for draw in range(noise.draws):
        shifted = Shifted(model, batch, noise.radius, noise.seed, draw)
        change = (explain(shifted, batch, label) - plain).norm(dim=-1)
        largest = torch.maximum(largest, change)
    return torch.where(size > 0, largest / size, torch.nan)


# A model whose embeddings of one batch are moved a little: what a sensitivity test explains.


class Shifted(Reembedded):
    """Side `a` of `batch` is seen with noise, keyed by example, token and dimension, so that batch
    size and padding do not change it."""

    def __init__(self, model: Model, batch: Batch, radius: float, seed: int, draw: int) -> None:
        super().__init__(model)
        own, self._batch = model.embed(batch), batch
        noise = _noise(own["a"], batch, radius, seed, draw)
        self._moved: Embeddings = {**own, "a": own["a"] + noise}

    def embed(self, batch: Batch) -> Embeddings:
        if not _same(batch, self._batch):
            raise HeedfulError(
                "this explanation changes the text, so its sensitivity to noise cannot be "
                "measured: choose one that reads gradients or attention."
            )
        return self._moved

    def leave_one_out_logits(self, batch: Batch, trace: Trace | None = None) -> Deleted:
        raise HeedfulError(
            "leaving words out cannot be combined with noise on their embeddings: "
            "choose an explanation that reads gradients or attention."
        )


def _noise(own: Tensor, batch: Batch, radius: float, seed: int, draw: int) -> Tensor:
    mask = batch.texts["a"].mask
    keys = example_keys(seed, batch.ids, "sensitivity", draw).to(own.device)
    sides = 2 * keyed_uniform(keys, tuple(own.shape[1:])) - 1
    squares = own.double().square().mean(-1).masked_fill(~mask, 0.0).sum(-1)
    scale = (squares / mask.sum(-1).clamp(min=1)).sqrt()
    return (radius * scale[:, None, None] * sides * mask[..., None]).to(own.dtype)


def _same(one: Batch, other: Batch) -> bool:
    a, b = one.texts["a"], other.texts["a"]
    alike = a.hidden is b.hidden and one.ids == other.ids and torch.equal(a.tokens, b.tokens)
    return one is other or alike
