"""The names of all probes, each with the module that defines it."""

from heedful.catalogue import OpenCatalogue

PROBES = OpenCatalogue(
    "probe",
    {
        "score": "heedful.probes.score",
        "correlation": "heedful.probes.correlation",
        "permutation": "heedful.probes.permutation",
        "adversarial": "heedful.probes.adversarial",
        "reachability": "heedful.probes.reachability",
        "token_logits": "heedful.probes.token_logits",
        "erasure": "heedful.probes.erasure",
        "flips": "heedful.probes.flips",
        "importance_sets": "heedful.probes.importance_sets",
        "layers": "heedful.probes.layers",
        "substitution": "heedful.probes.substitution",
        "translation": "heedful.probes.translation",
        "alignment": "heedful.probes.alignment",
        "rationale": "heedful.probes.rationale",
        "deception": "heedful.probes.deception",
        "detector": "heedful.probes.detector",
        "mutual_information": "heedful.probes.mutual_information",
        "token_probability": "heedful.probes.token_probability",
        "conicity": "heedful.probes.conicity",
        "seeds": "heedful.probes.seeds",
        "guides": "heedful.probes.guides",
        "frontier": "heedful.probes.frontier",
        "parts_of_speech": "heedful.probes.parts_of_speech",
        "extracted": "heedful.probes.extracted",
    },
)
