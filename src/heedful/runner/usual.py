"""The model a user gets for a kind of corpus without naming one."""

from __future__ import annotations

from heedful.specs import ModelSpec, TrainSpec

USUAL = {
    "single": ModelSpec("bilstm", "additive"),
    "pair": ModelSpec("bilstm", "additive", family="pair", decoder="query"),
    "generation": ModelSpec("bilstm", "additive", family="seq2seq", dropout=0.3),
}
WRITING = TrainSpec(
    epochs=20,
    batch_size=64,
    weight_decay=0.0,
    clip=1.0,
    class_weights=False,
    select="likelihood",
    patience=4,
)
