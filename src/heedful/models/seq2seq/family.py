"""The seq2seq family: what its specs may say, and the model they make."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import Piece
from heedful.errors import HeedfulError, unknown_name
from heedful.models.encoders.recurrent import Recurrent
from heedful.models.generation.target import TargetWords
from heedful.models.parts import make_embedding
from heedful.models.seq2seq.attention import ASKINGS
from heedful.models.seq2seq.decoder import Decoder
from heedful.models.seq2seq.model import Seq2Seq
from heedful.specs import ModelSpec

HIDDEN = 256


def seq2seq(spec: ModelSpec, vectors: Float[Tensor, "v e"], classes: int) -> Seq2Seq:
    size, width = spec.hidden or HIDDEN, vectors.shape[1]
    return Seq2Seq(
        make_embedding(vectors, spec.train_embedding),
        TargetWords(vectors, size, spec.train_embedding),
        Recurrent(width, spec.layers, size // 2, bidirectional=True),
        Decoder(spec.attention, width, size, spec.layers, spec.dropout),
        spec.dropout,
    )


def check(spec: ModelSpec) -> None:
    if spec.encoder != "bilstm":
        raise unknown_name("encoder of the family seq2seq", spec.encoder, ["bilstm"])
    if spec.attention not in ASKINGS:
        raise unknown_name("attention of the family seq2seq", spec.attention, list(ASKINGS))
    if spec.decoder:
        raise HeedfulError("the family seq2seq has one decoder: leave --decoder out.")
    if spec.layers not in (1, 2):
        raise HeedfulError(f"--layers is {spec.layers}: the family seq2seq has 1 or 2.")


PIECE = Piece(
    name="seq2seq",
    description="recurrent encoder and decoder, attention at every step of writing",
    make=seq2seq,
    kind="generation",
    paper="vashishth2019",
    citation="Bahdanau et al. 2015; Luong et al. 2015",
)
