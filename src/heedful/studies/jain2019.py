"""Jain & Wallace 2019, Attention is not Explanation: one text, or a passage and a question."""

from __future__ import annotations

from dataclasses import replace

from heedful.specs import ModelSpec, ProbeSpec
from heedful.studies.study import TRAINING, Setting, Small, Study

PROBES = (
    ProbeSpec("score"),
    ProbeSpec("correlation"),
    ProbeSpec("permutation"),
    ProbeSpec("adversarial"),
    ProbeSpec("reachability"),
    ProbeSpec("token_logits"),
)
MODELS = tuple(ModelSpec(encoder) for encoder in ("bilstm", "cnn", "average"))

# ε is 0.05 for question answering; for NLI the paper does not say, and the same is taken.
WIDER = tuple(
    replace(probe, params={"epsilon": 0.05}) if probe.name == "adversarial" else probe
    for probe in PROBES
)
PAIRS = tuple(replace(model, family="pair", decoder="query") for model in MODELS)
SMALL_PAIRS = tuple(replace(model, hidden=32) for model in PAIRS)
ONE_TEXT = ("sst", "imdb", "adr", "20news", "agnews", "diabetes", "anemia")
STORIES = ("babi1", "babi2", "babi3")
STORY_PROBES = (*WIDER, ProbeSpec("rationale"))
LONGER = replace(TRAINING, epochs=25, class_weights=False)
STORY_TRAINING = replace(LONGER, epochs=100, batch_size=50)

STUDY = Study(
    name="jain2019",
    version=2,
    settings=(
        Setting("single", ONE_TEXT, MODELS, PROBES, TRAINING),
        Setting("pair", ("snli",), PAIRS, WIDER, replace(LONGER, batch_size=128)),
        Setting("pair", ("cnn",), PAIRS, WIDER, replace(LONGER, batch_size=90)),
        Setting("pair", STORIES, SMALL_PAIRS, STORY_PROBES, STORY_TRAINING, ("babi",)),
    ),
    published=("1/paper", "2/paper", "2/slides"),
    names={model.name: f"{model.encoder}-{model.attention}" for model in PAIRS},
    small={
        "imdb": Small(limit=2000),
        "snli": Small(limit=12000, epochs=8),
        **dict.fromkeys((*STORIES, "babi"), Small(epochs=40)),
    },
)

ENTRY = STUDY.entry(
    description="attention against gradients and leave-one-out, permuted, and adversarial",
    citation="Jain & Wallace 2019, Attention is not Explanation, NAACL",
)
