"""The figures of a report by name, in the order in which a page shows them."""

from __future__ import annotations

from heedful.entries import ReportFigure
from heedful.registry import Registry

FIGURES = Registry(
    "figure",
    ReportFigure,
    {
        "published": "heedful.report.figures.bars:ENTRIES",
        "tau_gradient": "heedful.report.figures.distributions:ENTRIES",
        "tau_length": "heedful.report.figures.curves:ENTRIES",
        "permutation": "heedful.report.figures.distributions:ENTRIES",
        "jsd": "heedful.report.figures.distributions:ENTRIES",
        "jsd_by_max": "heedful.report.figures.distributions:ENTRIES",
        "substitution": "heedful.report.figures.bars:ENTRIES",
        "erasure": "heedful.report.figures.erasure:ENTRIES",
        "flips": "heedful.report.figures.erasure:ENTRIES",
        "importance_sets": "heedful.report.figures.erasure:ENTRIES",
        "importance_mass": "heedful.report.figures.erasure:ENTRIES",
        "layers": "heedful.report.figures.curves:ENTRIES",
        "deception": "heedful.report.figures.curves:ENTRIES",
        "seed_variance": "heedful.report.figures.distributions:ENTRIES",
        "frontier": "heedful.report.figures.distributions:ENTRIES",
        "conicity": "heedful.report.figures.bars:ENTRIES",
        "parts_of_speech": "heedful.report.figures.bars:ENTRIES",
        "token_curves": "heedful.report.figures.curves:ENTRIES",
    },
)
TABLES_ONLY = frozenset(
    {
        "alignment",
        "detector",
        "extracted",
        "guides",
        "mutual_information",
        "rationale",
        "reachability",
        "score",
        "token_logits",
        "translation",
    }
)
"""Experiments whose numbers stand in tables and sentences. Any other experiment, also one of a
plugin, that no figure above needs is drawn measure by measure (`measures_of_experiment`)."""
