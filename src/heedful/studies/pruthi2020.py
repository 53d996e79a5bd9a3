"""Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations.

Models are told to keep attention off tokens that they need: words of gender, a review's own
sentence, the source words that a target's step translates. λ weighs the penalty; λ = 0 is the
honest model. Do they need the tokens still, and what gives them away?
"""

from __future__ import annotations

from dataclasses import replace

from heedful.specs import ModelSpec, ProbeSpec, TermSpec
from heedful.studies.study import TRAINING, Setting, Small, Study

LAMBDAS = (0.0, 0.1, 1.0)


def told_off(model: ModelSpec, weight: float) -> ModelSpec:
    """The same model with the penalty; without a weight it has none."""
    terms = (TermSpec("impermissible", weight),) if weight else ()
    return replace(model, terms=terms)


READERS = tuple(
    told_off(ModelSpec(encoder, "additive"), weight)
    for encoder in ("none", "bilstm")
    for weight in LAMBDAS
)
WRITERS = tuple(
    told_off(ModelSpec("bilstm", "additive", family="seq2seq"), weight) for weight in LAMBDAS
)

READ = tuple(map(ProbeSpec, ("score", "deception", "detector", "token_logits")))
WRITTEN = (
    ProbeSpec("translation", {"beam": 1}),
    ProbeSpec("alignment"),
    ProbeSpec("deception", {"control": False}),
    ProbeSpec("detector"),
)

# the whole loss chooses the epoch: the best accuracy may come before attention has moved
SENTENCES = replace(TRAINING, epochs=15, class_weights=False, select="loss", patience=4)
TARGETS = replace(
    TRAINING,
    epochs=30,
    batch_size=64,
    learning_rate=2e-3,
    clip=1.0,
    weight_decay=0.0,
    class_weights=False,
    select="loss",
    patience=5,
)

STUDY = Study(
    name="pruthi2020",
    version=1,
    settings=(
        Setting(
            "single",
            ("deception", "deception_occupation", "pronoun", "occupation", "sst_wiki"),
            READERS,
            READ,
            SENTENCES,
        ),
        Setting(
            "generation",
            ("toy_copy", "toy_reverse", "toy_flip"),
            WRITERS,
            WRITTEN,
            TARGETS,
            ("toytranslation", "multi30k"),
        ),
    ),
    small={
        "pronoun": Small(limit=3000, epochs=8),
        "occupation": Small(limit=1500, epochs=8),
        "sst_wiki": Small(limit=3000, epochs=6),
        "toy_copy": Small(epochs=20),
        "toy_reverse": Small(epochs=20),
        "toy_flip": Small(epochs=20),
    },
)

ENTRY = STUDY.entry(
    description="attention kept off the tokens a model needs, and what gives that away",
    citation="Pruthi et al. 2020, Learning to Deceive with Attention-Based Explanations, ACL",
)
