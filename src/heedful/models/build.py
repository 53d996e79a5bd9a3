"""From a spec to a model."""

from __future__ import annotations

from importlib import import_module

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import HeedfulError, unknown_name
from heedful.models.encoders.widths import LEAST, MOST, possible
from heedful.models.family import Family
from heedful.models.registry import FAMILIES
from heedful.specs import ModelSpec


def build(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int, seed: int) -> Family:
    """A fresh model; its initial weights depend on the seed alone. For a generating family
    `classes` is the size of the vocabulary. Its `train_edit` is not in it: `edited` adds it."""
    check(spec)
    if classes < 2:
        raise HeedfulError("the corpus has one class only: a classifier needs at least two.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: Family = FAMILIES[spec.family].make(spec, vectors, classes)
    return model


def check(spec: ModelSpec) -> None:
    """Refuse a spec that names no model, before any work is done."""
    if spec.family not in FAMILIES:
        raise unknown_name("family", spec.family, list(FAMILIES))
    import_module(FAMILIES.modules[spec.family]).check(spec)
    if spec.sizes not in ("code", "paper"):
        raise HeedfulError(f"unknown sizes {spec.sizes!r}: choose code or paper.")
    if spec.hidden is not None and not possible(spec.hidden):
        raise HeedfulError(
            f"--hidden is {spec.hidden}: give an even number from {LEAST} to {MOST}."
        )
    if not 0 <= spec.dropout < 1:
        raise HeedfulError(f"--dropout is {spec.dropout}: give a number from 0 to below 1.")
