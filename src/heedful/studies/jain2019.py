"""Jain & Wallace 2019, Attention is not Explanation: the one-sequence corpora."""

from __future__ import annotations

from heedful.catalogue import Piece
from heedful.specs import ProbeSpec, TrainSpec
from heedful.studies.study import Study

STUDY = Study(
    name="jain2019",
    version=1,
    corpora=("sst", "imdb", "adr", "20news", "agnews"),
    encoders=("bilstm", "cnn", "average"),
    attentions=("additive",),
    seeds=(0,),
    train=TrainSpec(),
    probes=(
        ProbeSpec("score"),
        ProbeSpec("correlation"),
        ProbeSpec("permutation"),
        ProbeSpec("adversarial"),
        ProbeSpec("reachability"),
    ),
    published=("1/paper", "2/paper", "2/slides"),
)

PIECE = Piece(
    name="jain2019",
    description="attention against gradients and leave-one-out, permuted, and adversarial",
    make=lambda: STUDY,
    paper="jain2019",
    citation="Jain & Wallace 2019, Attention is not Explanation, NAACL",
)
