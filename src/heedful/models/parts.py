"""The parts that families are put together from, by name."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.errors import HeedfulError, unknown_name
from heedful.models.attention.attention import TokenAttention
from heedful.models.encoders.encoder import Encoder
from heedful.models.registry import ATTENTIONS, ENCODERS, WRAPPERS
from heedful.specs import ModelSpec
from heedful.types import Keep


def make_embedding(vectors: Float[Tensor, "v e"], trained: bool = True) -> nn.Embedding:
    """Starts from the vectors; padding stays zero."""
    table = nn.Embedding(len(vectors), vectors.shape[1], padding_idx=0, _weight=vectors.clone())
    table.weight.requires_grad_(trained)
    return table


def embedded(
    table: nn.Module, tokens: Int[Tensor, "b t"], given: Tensor | None, keep: Keep
) -> Float[Tensor, "b t e"]:
    """The embeddings given, or the tokens' own: a leaf where they are to be differentiated by."""
    if given is not None:
        return given
    own: Tensor = table(tokens)
    leaf = keep.embeddings and torch.is_grad_enabled()
    return own.detach().requires_grad_() if leaf else own


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
    if spec.attention not in ATTENTIONS:
        raise unknown_name("attention", spec.attention, list(ATTENTIONS))
    if not 1 <= spec.layers <= 3:
        raise HeedfulError(f"--layers is {spec.layers}: choose 1, 2 or 3.")
    if spec.decoder not in decoders:
        known = [name or '"" (there is one only)' for name in decoders]
        raise unknown_name(f"decoder of the family {spec.family}", spec.decoder, known)
