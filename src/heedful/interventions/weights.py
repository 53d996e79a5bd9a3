"""The interventions on attention, and the names they are chosen by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from heedful.entries import Entries, Range, WeightIntervention
from heedful.errors import HeedfulError
from heedful.parameters import check_parameters, parameters_of
from heedful.randomness import example_keys, keyed_uniform
from heedful.registry import Registry
from heedful.types import Edit, Edits, EditSpec, Model, OutputEdit, SiteCall, Trace

ENTRIES = Entries(WeightIntervention)

SEED: Range = (0, 2**63 - 1)
"""Probes draw theirs by hashes."""

_NAMES = ("uniform", "random", "permute", "erase", "frozen", "custom", "detach")
EDITS = Registry("edit", WeightIntervention, dict.fromkeys(_NAMES, f"{__name__}:ENTRIES"))


@ENTRIES.entry("equal weight on every real token", paper="wiegreffe2019")
def uniform() -> Edit:
    """Equal weight on every position that may be attended (wiegreffe2019's baseline)."""

    def edit(call: SiteCall) -> Tensor:
        return renormalised(call.mask.expand_as(call.weights).to(call.weights.dtype))

    return edit


@ENTRIES.entry(
    "weights from U(0, 1), normalised over the real tokens",
    bounds={"seed": SEED},
    paper="vashishth2019",
)
def random(seed: int = 0) -> Edit:
    """Weights drawn from U(0, 1) and normalised (vashishth2019)."""

    def edit(call: SiteCall) -> Tensor:
        return renormalised(_drawn(call, seed, "random").to(call.weights.dtype) * call.mask)

    return edit


@ENTRIES.entry(
    "the learned weights in a random order over the real tokens",
    bounds={"seed": SEED},
    paper="jain2019",
)
def permute(seed: int = 0) -> Edit:
    """The learned weights in another order (jain2019)."""

    def edit(call: SiteCall) -> Tensor:
        draws = _drawn(call, seed, "permute").masked_fill(~call.mask, torch.inf)
        return reordered(call.weights, call.mask, draws.argsort(-1))

    return edit


def _drawn(call: SiteCall, seed: int, edit: str) -> Float[Tensor, "b h q k"]:
    """A number from U(0, 1) for each weight."""
    keys = example_keys(seed, call.ids, edit, call.site.name, call.step)
    return keyed_uniform(keys.to(call.weights.device), tuple(call.weights.shape[1:]))


def reordered(
    weights: Float[Tensor, "*b k"], mask: Bool[Tensor, "*#b k"], order: Int[Tensor, "*b k"]
) -> Float[Tensor, "*b k"]:
    """Weights in an order that has the real tokens first: each takes the place of the next real
    token, and masked places stay zero."""
    place = (mask.cumsum(-1) - 1).clamp_min(0)
    return weights.gather(-1, order).gather(-1, place.expand_as(order)) * mask


def renormalised(weights: Float[Tensor, "*b k"]) -> Float[Tensor, "*b k"]:
    """To a sum of 1; a row of nothing stays so, and leaves a zero context."""
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)


@ENTRIES.entry(
    "zero on chosen tokens, the others renormalised",
    bounds={"top": (0, 10**6)},
    paper="serrano2019",
)
def erase(positions: Mapping[str, Sequence[int]] | None = None, top: int = 0) -> Edit:
    """Set weights to zero and renormalise the others (serrano2019).

    Erased are the key positions given per example id, or the `top` heaviest of each row. Erasing
    everything leaves a zero context.
    """
    if (positions is None) == (top <= 0):
        raise HeedfulError("the edit 'erase' wants either positions or top, and top above 0.")

    def edit(call: SiteCall) -> Tensor:
        gone = _heaviest(call, top) if positions is None else _listed(call, positions)
        return renormalised(call.weights.masked_fill(gone, 0.0))

    return edit


def _heaviest(call: SiteCall, top: int) -> Tensor:
    order = call.weights.masked_fill(~call.mask, -1.0).argsort(stable=True, dim=-1, descending=True)
    gone = torch.zeros_like(call.weights, dtype=torch.bool)
    return gone.scatter(-1, order[..., :top], True)


def _listed(call: SiteCall, positions: Mapping[str, Sequence[int]]) -> Tensor:
    gone = torch.zeros_like(call.weights, dtype=torch.bool)
    for row, name in enumerate(call.ids):
        chosen = list(positions.get(name, ()))
        inside = call.mask[row].any(0).any(0).nonzero().squeeze(-1).tolist()
        if not set(chosen) <= set(inside):
            raise HeedfulError(f"the edit 'erase' names a position outside of example {name!r}.")
        gone[row, ..., chosen] = True
    return gone


@ENTRIES.entry(
    "weights given per example id, checked against the tokenisation", paper="wiegreffe2019"
)
def frozen(weights: Mapping[str, Any]) -> Edit:
    """Weights brought from elsewhere (another model, an adversary), matched by example id.

    `weights[id]` has one number per attended position, `[keys]` or `[heads, queries, keys]`.
    An example that is missing, or whose number of positions differs, is an error: weights
    of another tokenisation must never be used by accident.
    """

    def edit(call: SiteCall) -> Tensor:
        out = torch.zeros_like(call.weights)
        for row, name in enumerate(call.ids):
            places = call.mask[row].any(0).any(0).nonzero().squeeze(-1)
            shape = (*call.weights.shape[1:3], len(places))
            out[row][..., places] = _given(weights, name, shape).to(out)
            if bool((out[row] * ~call.mask[row]).any()):
                raise HeedfulError(
                    f"the frozen weights of example {name!r} lie on masked positions."
                )
        return out

    return edit


def _given(weights: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Tensor:
    if name not in weights:
        raise HeedfulError(f"there are no frozen weights for example {name!r}.")
    given = torch.as_tensor(weights[name])
    if given.shape[-1:] != shape[-1:]:
        raise HeedfulError(
            f"the frozen weights of example {name!r} cover {given.shape[-1] if given.ndim else 0} "
            f"tokens, the text has {shape[-1]}: they come from another tokenisation."
        )
    if given.ndim > 1 and given.shape != shape:
        raise HeedfulError(
            f"the frozen weights of example {name!r} have shape {tuple(given.shape)} where "
            f"{shape} (heads, queries, keys) was needed."
        )
    return given


@ENTRIES.entry("any function of the site's call, with its shape and mask checked")
def custom(function: Callable[[SiteCall], Tensor]) -> Edit:
    """The weights of any function of a site's call; those of masked positions must stay zero."""

    def edit(call: SiteCall) -> Tensor:
        weights = function(call)
        if weights.shape != call.weights.shape:
            raise HeedfulError(
                f"a custom edit of {call.site.name!r} returned shape {tuple(weights.shape)} "
                f"where {tuple(call.weights.shape)} was needed."
            )
        if bool((weights.detach() * ~call.mask).any()):
            raise HeedfulError(f"a custom edit of {call.site.name!r} put weight on padding.")
        return weights

    return edit


@ENTRIES.entry(
    "the learned weights as constants: no gradient flows through attention", paper="jain2019"
)
def detach() -> Edit:
    """The learned weights, but no gradient flows through them (jain2019's gradients)."""
    return lambda call: call.weights.detach()


def held(model: Model, trace: Trace, edits: Edits) -> Edits:
    """The edits, with all later attention held at its weights in `trace` (of the same batch).

    By default what follows an edited site is recomputed, later attention included. Held, only the
    edited weights differ, and the effect is the one that goes through the values alone. Sites
    before the first edit are what they were anyway.
    """
    names = [site.name for site in model.sites]
    later = names[min((names.index(name) for name in edits), default=len(names)) :]
    return {name: _original(trace.weights[name].detach(), edits.get(name)) for name in later}


def _original(weights: Tensor, edit: Edit | None) -> Edit:
    def held_edit(call: SiteCall) -> Tensor:
        own = call.queries(weights)
        if own.shape != call.weights.shape:
            raise HeedfulError("attention can only be held on the batch its trace was made from.")
        return edit(replace(call, weights=own)) if edit else own

    return held_edit


def put_out(outputs: Float[Tensor, "b h s d"], heads: Sequence[int] | None = None) -> OutputEdit:
    """These outputs of the heads in place of their own: of all heads, or of some."""

    def change(call: SiteCall, own: Tensor) -> Tensor:
        new = call.queries(outputs).to(own)
        if new.shape != own.shape:
            raise HeedfulError("outputs can only be put back on the batch they were made from.")
        if heads is None:
            return new
        kept = own.clone()
        kept[:, list(heads)] = new[:, list(heads)]
        return kept

    return OutputEdit(change)


def build_edit(spec: EditSpec) -> Edit:
    """The edit a spec describes; wrong parameters are named."""
    piece, given = EDITS[spec.name], dict(spec.params)
    check_parameters(f"the edit {spec.name}", piece.make, given, piece.bounds)
    for name, parameter in parameters_of(piece.make).items():
        if parameter.default is parameter.empty and name not in given:
            raise HeedfulError(f"the edit {spec.name!r} needs the parameter {name!r}: give it.")
    edit: Edit = piece.make(**given)
    return edit
