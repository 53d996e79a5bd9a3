"""What changing attention does to the output.

Changing one layer's weights changes the input of every later one. So there are two modes:
later sites are `recomputed`, or `held` at their original weights. Neither is surgical
(Grimsley et al. 2020): what later layers mix has changed in both.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.edits import held, permute, uniform
from heedful.errors import unknown_name
from heedful.measures.replaced import base_trace
from heedful.metrics import tvd
from heedful.models import probabilities
from heedful.randomness import stable_hash
from heedful.saliency import text_site
from heedful.types import Batch, Edit, Edits, Model, Trace

EDITS = ("uniform", "permute")
MODES = ("recomputed", "held")


@dataclass(frozen=True)
class Intervention:
    """An edit at a `place` (`main`, `all`, the name of a site, or those of several); `draw`
    numbers the permutations."""

    edit: str
    place: str | tuple[str, ...] = "main"
    mode: str = "recomputed"
    draw: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Effect:
    """How far each output moved, and the class predicted then."""

    tvd: Float[Tensor, " b"]
    predicted: Int[Tensor, " b"]


def effect(
    model: Model, batch: Batch, intervention: Intervention, trace: Trace | None = None
) -> Effect:
    """A base trace of the batch saves making it again."""
    trace = trace or base_trace(model, batch)
    with torch.no_grad():
        changed = model.resume(batch, trace, edits_of(model, trace, intervention)).logits
    after = probabilities(changed)
    return Effect(tvd(after, probabilities(trace.logits)), after.argmax(-1))


def edits_of(model: Model, trace: Trace, intervention: Intervention) -> Edits:
    """The edits that make an intervention."""
    if intervention.mode not in MODES:
        raise unknown_name("mode", intervention.mode, list(MODES))
    edits = edits_at(model, intervention)
    return edits if intervention.mode == "recomputed" else held(model, trace, edits)


def edits_at(model: Model, intervention: Intervention) -> Edits:
    """Those at the place itself, whatever becomes of later sites."""
    names = [site.name for site in model.sites]
    return dict.fromkeys(_chosen(model, names, intervention.place), _edit(intervention))


def _chosen(model: Model, names: list[str], place: str | tuple[str, ...]) -> list[str]:
    if isinstance(place, tuple):
        return [name for each in place for name in _chosen(model, names, each)]
    if place == "main":
        return [text_site(model).name]
    if place == "all":
        return names
    if place not in names:
        raise unknown_name("place", place, ["main", "all", *names])
    return [place]


def _edit(intervention: Intervention) -> Edit:
    if intervention.edit == "uniform":
        return uniform()
    if intervention.edit == "permute":
        return permute(stable_hash(intervention.seed, "intervention", intervention.draw))
    raise unknown_name("edit", intervention.edit, list(EDITS))
