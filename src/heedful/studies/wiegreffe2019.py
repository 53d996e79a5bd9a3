"""Wiegreffe & Pinter 2019, Attention is not not Explanation: four tests of attention.

Is attention needed at all (uniform in training too); how far apart are ordinary models
(seeds); do its weights help a model without context (guides); can a model be trained to
attend elsewhere and say the same (frontier)? jain2019's exact adversaries stand beside, since
they were found for one text at a time and no training produced them.

The paper's numbers are in figures only, so no table of it stands beside the measured ones;
its corpora and its base model are jain2019's, whose F1 is shown.
"""

from __future__ import annotations

from heedful.specs import ModelSpec, ProbeSpec
from heedful.studies.jain2019 import ONE_TEXT
from heedful.studies.study import TRAINING, Setting, Small, Study

PROBES = (
    ProbeSpec("score"),
    ProbeSpec("substitution", {"metric": "f1"}),
    ProbeSpec("seeds"),
    ProbeSpec("guides"),
    ProbeSpec("adversarial"),
    ProbeSpec("token_logits"),
    ProbeSpec("frontier"),
)
QUICK = (
    ProbeSpec("seeds", {"count": 3}),
    ProbeSpec("guides", {"epochs": 20}),
    ProbeSpec(
        "frontier",
        {"weights": (0.0, 1e-4, 1e-3, 1e-2), "labels": (1e-3,), "epochs": 20},
    ),
)

STUDY = Study(
    name="wiegreffe2019",
    version=1,
    settings=(
        Setting("single", ONE_TEXT, (ModelSpec(),), PROBES, TRAINING, ("planted", "movies")),
    ),
    small={
        "planted": Small(probes=QUICK),
        "sst": Small(probes=QUICK),
        "20news": Small(probes=QUICK),
        "imdb": Small(limit=2000, epochs=5, probes=QUICK),
        "agnews": Small(limit=3000, epochs=4, probes=QUICK),
    },
)

ENTRY = STUDY.entry(
    description="four tests: uniform, seeds, guides for a model without context, adversaries",
    citation="Wiegreffe & Pinter 2019, Attention is not not Explanation, EMNLP",
)
