"""Vashishth et al. 2019, Attention Interpretability Across NLP Tasks.

One text, two texts, generation: what is lost when attention is replaced? In the paper's
models of two texts the classifier sees the attended text alone, so the other text reaches
the prediction through attention only (`context`); the decoder that also sees it (`query`)
stands beside it, because the comparison is a result in itself.
"""

from __future__ import annotations

from dataclasses import replace

from heedful.specs import ModelSpec, ProbeSpec
from heedful.studies.study import TRAINING, Setting, Small, Study

SINGLE = (
    ModelSpec("bilstm", "additive"),
    ModelSpec("bigru", "additive", family="hierarchical"),
    ModelSpec("bilstm", "gate"),
)
PAIR = tuple(
    ModelSpec(encoder, "additive", family="pair", decoder=decoder)
    for encoder in ("bilstm", "conditional")
    for decoder in ("context", "query")
)
WRITING = (
    ModelSpec("bilstm", "additive", family="seq2seq", dropout=0.3),
    ModelSpec("bilstm", "general", family="seq2seq", dropout=0.3),
)
LAYERED = (ModelSpec("prenorm", "dot", family="transformer", dropout=0.1),)

ONE_STEP = (ProbeSpec("permutation"), ProbeSpec("erasure"))
CLASSIFIED = (ProbeSpec("score"), ProbeSpec("substitution"), *ONE_STEP)
ONE_TEXT = (*CLASSIFIED, ProbeSpec("token_logits"))
WRITTEN = (ProbeSpec("translation"), ProbeSpec("substitution"), ProbeSpec("alignment"))

TWO_TEXTS = replace(TRAINING, epochs=25, class_weights=False, patience=4)
STORIES = replace(TRAINING, epochs=100, batch_size=50, class_weights=False, patience=20)
SENTENCES = replace(
    TRAINING,
    epochs=30,
    batch_size=128,
    clip=1.0,
    weight_decay=0.0,
    class_weights=False,
    select="likelihood",
    patience=4,
)
WARMED = replace(SENTENCES, epochs=40, warmup=2000, smoothing=0.1)

STUDY = Study(
    name="vashishth2019",
    version=1,
    settings=(
        Setting("single", ("sst", "imdb", "agnews", "yelp"), SINGLE, ONE_TEXT, TRAINING),
        Setting("pair", ("snli", "mnli", "cnn"), PAIR, CLASSIFIED, TWO_TEXTS),
        Setting(
            "pair",
            ("babi1", "babi2", "babi3"),
            tuple(replace(model, hidden=32) for model in PAIR),
            (*CLASSIFIED, ProbeSpec("rationale")),
            STORIES,
            ("babi",),
        ),
        Setting(
            "generation",
            ("multi30k", "newscommentary"),
            WRITING,
            (*WRITTEN, *ONE_STEP),
            SENTENCES,
            ("toytranslation",),
        ),
        Setting("generation", ("wmt13",), LAYERED, (*WRITTEN, ProbeSpec("layers")), WARMED),
    ),
    published=("1", "2", "3"),
    names={
        "bilstm-additive": "bahdanau",
        "hierarchical-bigru-additive": "hierarchical",
        "pair-bilstm-additive-context": "bahdanau",
        "pair-conditional-additive-context": "rocktaschel",
        "seq2seq-bilstm-additive": "bahdanau",
        "seq2seq-bilstm-general": "luong",
    },
    small={
        "sst": Small(),
        "imdb": Small(limit=2000, epochs=5),
        "agnews": Small(limit=3000, epochs=4),
        "snli": Small(limit=12000, epochs=6),
        "mnli": Small(limit=12000, epochs=6),
        "multi30k": Small(epochs=12),
        "babi1": Small(epochs=40),
        "babi2": Small(epochs=40),
        "babi3": Small(epochs=40),
        "babi": Small(epochs=40),
    },
)

ENTRY = STUDY.entry(
    description="attention replaced, in training or afterwards: one text, two texts, translation",
    citation="Vashishth et al. 2019, Attention Interpretability Across NLP Tasks",
)
