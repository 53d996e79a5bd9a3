"""The transformer family: what its specs may say, and the model they make."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError, unknown_name
from heedful.models.generation.target import TargetWords
from heedful.models.transformer.layers import Shape
from heedful.models.transformer.model import Transformer
from heedful.specs import ModelSpec

SIZES = {"paper": (512, 8, 6), "code": (256, 4, 3)}  # width, heads, layers
NORMS = ("prenorm", "postnorm")


def transformer(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> Transformer:
    """`layers` of 1, the spec's default, leaves their number to `sizes`."""
    width, heads, layers = SIZES[spec.sizes]
    size = spec.hidden or width
    layers = spec.layers if spec.layers > 1 else layers
    shape = Shape(size, heads, layers, 4 * size, spec.encoder == "prenorm", spec.dropout)
    return Transformer(TargetWords(vectors, size, spec.train_embedding), shape)


def check(spec: ModelSpec) -> None:
    if spec.encoder not in NORMS:
        raise unknown_name("encoder of the family transformer", spec.encoder, list(NORMS))
    if spec.attention != "dot":
        raise unknown_name("attention of the family transformer", spec.attention, ["dot"])
    if spec.decoder:
        raise HeedfulError("the family transformer has one decoder: leave --decoder out.")
    if not 1 <= spec.layers <= 12:
        raise HeedfulError(f"--layers is {spec.layers}: the family transformer has up to 12.")
    if spec.sizes in SIZES and (spec.hidden or 0) % SIZES[spec.sizes][1]:
        raise HeedfulError(
            f"--hidden is {spec.hidden}: give a multiple of the {SIZES[spec.sizes][1]} heads."
        )


PIECE = Piece(
    name="transformer",
    description="Transformer encoder and decoder, every attention a site",
    make=transformer,
    kind="generation",
    paper="vashishth2019",
    citation="Vaswani et al. 2017",
)
