"""Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models.

The states of an LSTM lie in a narrow cone, so that attention can be moved among them without
consequence. Two remedies beside the vanilla LSTM: states made orthogonal one by one, and a
loss that grows with their conicity. Is attention then more faithful, and more plausible?
"""

from __future__ import annotations

from dataclasses import replace

from heedful.specs import ModelSpec, ProbeSpec, TermSpec
from heedful.studies.jain2019 import LONGER, STORIES, STORY_TRAINING
from heedful.studies.study import TRAINING, Setting, Small, Study

DIVERSE = TermSpec("diversity", 0.5)
MODELS = (
    ModelSpec("lstm", "additive"),
    ModelSpec("orthogonal", "additive"),
    ModelSpec("lstm", "additive", terms=(DIVERSE,)),
)
PAIRS = tuple(replace(model, family="pair", decoder="query") for model in MODELS)
SMALL_PAIRS = tuple(replace(model, hidden=32) for model in PAIRS)

PROBES = (
    ProbeSpec("score"),
    ProbeSpec("conicity"),
    ProbeSpec("permutation"),
    ProbeSpec("importance_sets"),
    ProbeSpec("correlation", {"also": ("integrated_gradients",)}),
    ProbeSpec("parts_of_speech"),
    ProbeSpec("extracted"),
    ProbeSpec("rationale"),
)
LINEAR = (*PROBES, ProbeSpec("token_logits"))
ONE_TEXT = ("sst", "imdb", "20news", "adr", "yelp", "amazon", "diabetes", "anemia")

STUDY = Study(
    name="mohankumar2020",
    version=1,
    settings=(
        Setting("single", ONE_TEXT, MODELS, LINEAR, TRAINING, ("planted",)),
        Setting("pair", ("snli",), PAIRS, PROBES, replace(LONGER, batch_size=128)),
        Setting("pair", ("cnn",), PAIRS, PROBES, replace(LONGER, batch_size=90)),
        Setting("pair", STORIES, SMALL_PAIRS, PROBES, STORY_TRAINING, ("babi",)),
    ),
    small={
        "imdb": Small(limit=2000, epochs=5),
        "snli": Small(limit=12000, epochs=8),
        **dict.fromkeys((*STORIES, "babi"), Small(epochs=40)),
    },
)

ENTRY = STUDY.entry(
    description="LSTM states made diverse: does attention among them say more?",
    citation="Mohankumar et al. 2020, Towards Transparent and Explainable Attention Models, ACL",
)
