"""The model a user gets without naming its parts: by family, or by the kind of corpus."""

from __future__ import annotations

from heedful.specs import ModelSpec, TrainSpec

USUAL = {
    "one_sequence": ModelSpec("bilstm", "additive"),
    "hierarchical": ModelSpec("bigru", "additive", family="hierarchical"),
    "pair": ModelSpec("bilstm", "additive", family="pair", decoder="query"),
    "seq2seq": ModelSpec("bilstm", "additive", family="seq2seq", dropout=0.3),
    "transformer": ModelSpec("prenorm", "dot", family="transformer", dropout=0.1),
}
FAMILY_OF = {"single": "one_sequence", "pair": "pair", "generation": "seq2seq"}
WRITING = TrainSpec(
    epochs=20,
    batch_size=64,
    weight_decay=0.0,
    clip=1.0,
    class_weights=False,
    select="likelihood",
    patience=4,
)


def usual(kind: str, family: str | None) -> ModelSpec:
    """Of the family, where one is named; an unknown one is refused later, by name."""
    chosen = family or FAMILY_OF[kind]
    return USUAL.get(chosen, ModelSpec(family=chosen))
