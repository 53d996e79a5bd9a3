"""The names of all models and of their parts, and from a spec to a model."""

from __future__ import annotations

from importlib import import_module

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.entries import ModelFamily, ModelPart
from heedful.errors import HeedfulError, unknown_name
from heedful.models.attention import TokenAttention
from heedful.models.encoders import LEAST, MOST, Encoder, possible
from heedful.models.family import Family
from heedful.registry import Registry, places
from heedful.specs import ModelSpec

_MODELS = "heedful.models"
_FAMILIES = ("one_sequence", "hierarchical", "pair", "biattention", "seq2seq", "transformer")
FAMILIES = Registry(
    "family", ModelFamily, {name: f"{_MODELS}.{name}:ENTRIES" for name in _FAMILIES}
)
ENCODERS = Registry(
    "encoder",
    ModelPart,
    places(
        _MODELS,
        {
            "recurrent": "bilstm lstm bigru orthogonal",
            "convolution": "cnn conv",
            "encoders": "average none",
        },
    ),
)
WRAPPERS = Registry(
    "wrapper",
    ModelPart,
    places(_MODELS, {"encoders": "concat residual"})
    | {"rationale": f"{_MODELS}.rationale:ENTRIES"},
)
ATTENTIONS = Registry(
    "attention",
    ModelPart,
    places(
        _MODELS,
        {
            "attention": "additive dot narrow_dot plain_dot unit_dot gate sparsemax entmax "
            "structured",
            "hard_selection": "hard",
        },
    ),
)


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
    import_module(f"{_MODELS}.{spec.family}").check(spec)
    if spec.sizes not in ("code", "paper"):
        raise HeedfulError(f"unknown sizes {spec.sizes!r}: choose code or paper.")
    if spec.hidden is not None and not possible(spec.hidden):
        raise HeedfulError(
            f"--hidden is {spec.hidden}: give an even number from {LEAST} to {MOST}."
        )
    if not 0 <= spec.dropout < 1:
        raise HeedfulError(f"--dropout is {spec.dropout}: give a number from 0 to below 1.")


def make_embedding(vectors: Float[Tensor, "v e"], trained: bool = True) -> nn.Embedding:
    """Starts from the vectors; padding stays zero."""
    table = nn.Embedding(len(vectors), vectors.shape[1], padding_idx=0, _weight=vectors.clone())
    table.weight.requires_grad_(trained)
    return table


def encoder_parts(name: str) -> tuple[str, tuple[str, ...]]:
    """`bilstm+residual+concat` is a bilstm in two wrappers, the first of them the innermost."""
    base, *wrappers = name.split("+")
    return base, tuple(wrappers)


def make_encoder(spec: ModelSpec, width: int) -> Encoder:
    """Every wrapper sees the same embeddings."""
    base, wrappers = encoder_parts(spec.encoder)
    encoder: Encoder = ENCODERS[base].make(width, spec.layers, spec.sizes, spec.hidden)
    for wrapper in wrappers:
        encoder = WRAPPERS[wrapper].make(encoder, width)
    return encoder


def make_attention(spec: ModelSpec, width: int) -> TokenAttention:
    attention: TokenAttention = ATTENTIONS[spec.attention].make(width)
    return attention


def outputs(classes: int) -> int:
    """Two classes need one logit (jain2019's sigmoid)."""
    return classes if classes > 2 else 1


def check_parts(spec: ModelSpec, decoders: tuple[str, ...] = ("",)) -> None:
    """What families of one encoder and one attention have in common."""
    base, wrappers = encoder_parts(spec.encoder)
    if base not in ENCODERS:
        raise unknown_name("encoder", base, list(ENCODERS))
    for wrapper in wrappers:
        if wrapper not in WRAPPERS:
            raise unknown_name("wrapper of an encoder", wrapper, list(WRAPPERS))
    if "rationale" in wrappers[:-1] or ("rationale" in wrappers and spec.family != "one_sequence"):
        raise HeedfulError(
            f"{spec.encoder} would read words that rationale left out: name it last, and only in "
            f"the family one_sequence."
        )
    if spec.attention not in ATTENTIONS:
        raise unknown_name("attention", spec.attention, list(ATTENTIONS))
    if not 1 <= spec.layers <= 3:
        raise HeedfulError(f"--layers is {spec.layers}: choose 1, 2 or 3.")
    if spec.decoder not in decoders:
        known = [name or '"" (there is one only)' for name in decoders]
        raise unknown_name(f"decoder of the family {spec.family}", spec.decoder, known)
