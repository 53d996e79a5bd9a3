"""The names of all probes, each with the module that defines it."""

from __future__ import annotations

from heedful.entries import Experiment
from heedful.registry import OpenRegistry

PROBES = OpenRegistry(
    "probe",
    Experiment,
    {
        "score": "heedful.experiments.score",
        "correlation": "heedful.experiments.correlation",
        "permutation": "heedful.experiments.permutation",
        "adversarial": "heedful.experiments.adversarial",
        "reachability": "heedful.experiments.reachability:REACHABILITY",
        "token_logits": "heedful.experiments.reachability:TOKEN_LOGITS",
        "erasure": "heedful.experiments.erasure:ERASURE",
        "flips": "heedful.experiments.erasure:FLIPS",
        "importance_sets": "heedful.experiments.importance_sets",
        "layers": "heedful.experiments.substitution:LAYERS",
        "substitution": "heedful.experiments.substitution:SUBSTITUTION",
        "translation": "heedful.experiments.translation:TRANSLATION",
        "alignment": "heedful.experiments.translation:ALIGNMENT",
        "rationale": "heedful.experiments.rationale",
        "counterfactuals": "heedful.experiments.counterfactuals",
        "deception": "heedful.experiments.deception:DECEPTION",
        "detector": "heedful.experiments.deception:DETECTOR",
        "mutual_information": "heedful.experiments.states:MUTUAL_INFORMATION",
        "token_probability": "heedful.experiments.reachability:TOKEN_PROBABILITY",
        "conicity": "heedful.experiments.states:CONICITY",
        "seeds": "heedful.experiments.other_models:SEEDS",
        "guides": "heedful.experiments.guides",
        "frontier": "heedful.experiments.other_models:FRONTIER",
        "parts_of_speech": "heedful.experiments.parts_of_speech",
        "extracted": "heedful.experiments.rationale_extraction",
        "input_reduction": "heedful.experiments.input_reduction",
        "fragility": "heedful.experiments.fragility",
    },
)
