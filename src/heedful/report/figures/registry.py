"""The figures of a report by name, in the order in which a page shows them."""

from __future__ import annotations

from heedful.catalogue import Catalogue

FIGURES = Catalogue(
    kind="figure",
    modules={
        "published": "heedful.report.figures.published:PIECES",
        "tau_gradient": "heedful.report.figures.distributions:PIECES",
        "tau_length": "heedful.report.figures.curves:PIECES",
        "permutation": "heedful.report.figures.distributions:PIECES",
        "jsd": "heedful.report.figures.distributions:PIECES",
        "jsd_by_max": "heedful.report.figures.distributions:PIECES",
        "substitution": "heedful.report.figures.published:PIECES",
        "erasure": "heedful.report.figures.erasure:PIECES",
        "flips": "heedful.report.figures.erasure:PIECES",
        "importance_sets": "heedful.report.figures.erasure:PIECES",
        "importance_mass": "heedful.report.figures.erasure:PIECES",
        "layers": "heedful.report.figures.curves:PIECES",
        "deception": "heedful.report.figures.curves:PIECES",
        "seed_variance": "heedful.report.figures.distributions:PIECES",
        "frontier": "heedful.report.figures.frontier:PIECES",
        "conicity": "heedful.report.figures.transparency:PIECES",
        "parts_of_speech": "heedful.report.figures.transparency:PIECES",
        "token_curves": "heedful.report.figures.token_curves:PIECES",
    },
)
