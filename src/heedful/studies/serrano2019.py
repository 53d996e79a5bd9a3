"""Serrano & Smith 2019, Is Attention Interpretable?

Hierarchical (HAN) and flat (FLAN) models over three encoders; what happens to the decision
when items lose their attention, one by one or in the order of a ranking.
"""

from __future__ import annotations

from dataclasses import replace

from heedful.specs import ModelSpec, ProbeSpec
from heedful.studies.study import TRAINING, Setting, Small, Study

ENCODERS = {"bigru": "rnn", "conv": "conv", "none": "noenc"}
FAMILIES = {"hierarchical": "han", "one_sequence": "flan"}
MODELS = tuple(
    ModelSpec(encoder, "additive", family=family, dropout=0.3)
    for family in FAMILIES
    for encoder in ENCODERS
)
TWENTY_EPOCHS = replace(
    TRAINING, epochs=20, batch_size=64, class_weights=False, select="accuracy", patience=3
)

STUDY = Study(
    name="serrano2019",
    version=1,
    settings=(
        Setting(
            "single",
            ("yahoo", "imdb10", "amazon", "yelp"),
            MODELS,
            tuple(map(ProbeSpec, ("score", "erasure", "flips", "importance_sets", "token_logits"))),
            TWENTY_EPOCHS,
        ),
    ),
    published=("2",),
    names={model.name: f"{FAMILIES[model.family]}-{ENCODERS[model.encoder]}" for model in MODELS},
    small={"imdb8": Small(limit=4000, epochs=6), "imdb10": Small(limit=4000, epochs=6)},
)

ENTRY = STUDY.entry(
    description="single weights erased, decisions flipped, importance sets by several rankings",
    citation="Serrano & Smith 2019, Is Attention Interpretable?, ACL",
)
