"""Tutek & Šnajder 2020, Staying True to Your Word.

Four ways to keep words in their states, so that attention on a state is attention on its word:
the embedding beside the state or added to it, states tied to embeddings, words guessed where
they are masked. Does the score then depend on the weights?

The paper's embeddings have 300 numbers and its encoder 150 per direction; ours have 100, and so 50
per direction, since tying, adding and guessing need states as wide as embeddings. It tries tying
weights from 1 to 30 and masking weights from 0.1 to 5 and prints the best; here each has one
weight, which the models' names show. Tying's is on the sum over dimensions, 0.1: what 30 is on a
mean over 300. Tried by hand, 0.3 and more cost SST five points of F1. Epochs are jain2019's, the
dev score is F1. Embeddings are trained, as jain2019's are, but for the models that guess words, of
which the paper says that they are not (`python -m tools.trials tutek2020-frozen`).
"""

from __future__ import annotations

from dataclasses import replace

from heedful.specs import ModelSpec, ProbeSpec, TermSpec
from heedful.studies.study import TRAINING, Setting, Small, Study

TYING, MASKING = TermSpec("tying", 0.1), TermSpec("mlm", 1.0)
BASE = ModelSpec("bilstm", hidden=50)
VARIANTS = {
    "base": BASE,
    "concat": replace(BASE, encoder="bilstm+concat"),
    "residual": replace(BASE, encoder="bilstm+residual"),
    "tying": replace(BASE, terms=(TYING,)),
    "mlm": replace(BASE, train_embedding=False, terms=(MASKING,)),
}
MODELS = {
    f"bilstm-{attention}-{variant}": replace(model, attention=attention)
    for attention in ("additive", "dot")
    for variant, model in VARIANTS.items()
}
"""By their names in the paper."""
DEEPER = {
    f"bilstm{layers}-additive-{variant}": replace(model, layers=layers)
    for layers in (2, 3)
    for variant, model in VARIANTS.items()
}
"""Table 6: not of the grid, but known by name when `--layers` asks for them."""

PROBES = (
    ProbeSpec("score"),
    ProbeSpec("substitution", {"metric": "f1", "trained": False}),
    ProbeSpec("mutual_information"),
    ProbeSpec("token_probability"),
    ProbeSpec("conicity"),
    ProbeSpec("token_logits"),
)

STUDY = Study(
    name="tutek2020",
    version=2,
    settings=(
        Setting(
            "single",
            ("sst", "agnews", "20news", "imdb", "anemia"),
            tuple(MODELS.values()),
            PROBES,
            replace(TRAINING, clip=5.0, select="f1"),
            ("diabetes",),
        ),
    ),
    seeds=(0, 1, 2, 3, 4),
    published=("1", "2", "3", "6"),
    names={model.name: name for name, model in {**MODELS, **DEEPER}.items()},
    small={
        "sst": Small(),
        "20news": Small(),
        "imdb": Small(limit=2000, epochs=5),
        "agnews": Small(limit=3000, epochs=4),
    },
    sized=True,
    deeper=("6",),
)

ENTRY = STUDY.entry(
    description="words kept in their states: does the score then depend on attention?",
    citation="Tutek & Šnajder 2020, Staying True to Your Word: (How) Can Attention Become "
    "Explanation?, RepL4NLP",
)
