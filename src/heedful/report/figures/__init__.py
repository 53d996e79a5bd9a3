"""The figures of a report: one file each, drawn from the tidy rows of the probes."""

from heedful.catalogue import Catalogue

FIGURES = Catalogue(
    kind="figure",
    modules={
        "published": "heedful.report.figures.published",
        "tau_gradient": "heedful.report.figures.tau_gradient",
        "tau_length": "heedful.report.figures.tau_length",
        "permutation": "heedful.report.figures.permutation",
        "jsd": "heedful.report.figures.jsd",
        "jsd_by_max": "heedful.report.figures.jsd_by_max",
        "substitution": "heedful.report.figures.substitution",
        "erasure": "heedful.report.figures.erasure",
        "flips": "heedful.report.figures.flips",
        "importance_sets": "heedful.report.figures.importance_sets",
        "importance_mass": "heedful.report.figures.importance_mass",
        "layers": "heedful.report.figures.layers",
        "deception": "heedful.report.figures.deception",
        "seed_variance": "heedful.report.figures.seed_variance",
        "frontier": "heedful.report.figures.frontier",
        "conicity": "heedful.report.figures.conicity",
        "parts_of_speech": "heedful.report.figures.parts_of_speech",
        "token_curves": "heedful.report.figures.token_curves",
    },
)

__all__ = ["FIGURES"]
