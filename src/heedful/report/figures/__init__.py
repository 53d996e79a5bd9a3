"""The figures of a report by name, in the order in which a page shows them."""

from __future__ import annotations

from heedful.entries import ReportFigure
from heedful.registry import Registry

_PLACES = """
    bars.published
    distributions.tau_gradient
    distributions.tau_leave_one_out
    curves.tau_length
    distributions.permutation
    distributions.jsd
    distributions.jsd_by_class
    distributions.jsd_by_max
    bars.substitution
    erasure.erasure
    erasure.flips
    erasure.importance_sets
    erasure.importance_mass
    curves.layers
    curves.deception
    distributions.seed_variance
    frontiers.frontier
    frontiers.imitation
    bars.conicity
    bars.parts_of_speech
    robustness.input_reduction
    robustness.fragility
    curves.token_curves
    curves.token_examples
"""
FIGURES = Registry(
    "figure",
    ReportFigure,
    {
        name: f"{__name__}.{module}:{name}"
        for module, _, name in (line.partition(".") for line in _PLACES.split())
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
