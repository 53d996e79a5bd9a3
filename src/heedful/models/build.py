"""From a spec to a model."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.errors import HeedfulError, unknown_name
from heedful.models import ATTENTIONS, ENCODERS
from heedful.models.one_sequence import OneSequence
from heedful.specs import ModelSpec


def build(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int, seed: int) -> OneSequence:
    """A fresh model; its initial weights depend on the seed alone."""
    check(spec)
    if classes < 2:
        raise HeedfulError("the corpus has one class only: a classifier needs at least two.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        embedding = nn.Embedding(
            len(vectors), vectors.shape[1], padding_idx=0, _weight=vectors.clone()
        )
        embedding.weight.requires_grad_(spec.train_embedding)
        encoder = ENCODERS[spec.encoder].make(
            vectors.shape[1], spec.layers, spec.sizes, spec.hidden
        )
        attention = ATTENTIONS[spec.attention].make(encoder.size)
        decoder = nn.Linear(encoder.size, classes if classes > 2 else 1)
    return OneSequence(embedding, encoder, attention, decoder)


def check(spec: ModelSpec) -> None:
    """Refuse a spec that names no model, before any work is done."""
    if spec.encoder not in ENCODERS:
        raise unknown_name("encoder", spec.encoder, list(ENCODERS))
    if spec.attention not in ATTENTIONS:
        raise unknown_name("attention", spec.attention, list(ATTENTIONS))
    if not 1 <= spec.layers <= 3:
        raise HeedfulError(f"--layers is {spec.layers}: choose 1, 2 or 3.")
    if spec.sizes not in ("code", "paper"):
        raise HeedfulError(f"unknown sizes {spec.sizes!r}: choose code or paper.")
    if spec.hidden is not None and (not 4 <= spec.hidden <= 4096 or spec.hidden % 4):
        raise HeedfulError(f"--hidden is {spec.hidden}: give a multiple of 4 up to 4096.")
