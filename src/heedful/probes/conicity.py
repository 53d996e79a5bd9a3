"""How alike the attended states of a text are (mohankumar2020).

Where they all point one way, moving attention among them changes little.
"""

from __future__ import annotations

from heedful.catalogue import SHARE, Measure, Piece
from heedful.metrics import conicity as conicity_of
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings


def conicity(evidence: Evidence) -> Findings:
    """The mean over a text's states of |cos| with their mean: 1 where they lie on a line, as
    the only state of a text of one token does."""
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("conicity"):
        trace = each.with_states().trace
        for site in evidence.sites:
            view = each.rows(site).first()
            states = trace.states[site.name][view.example]
            collector.add(each, site, view, {"conicity": conicity_of(states, view.mask)})
    return Findings(collector.rows())


PIECE = Piece(
    name="conicity",
    description="conicity of the attended states: how narrow the cone is that they lie in",
    make=conicity,
    by_text=True,
    paper="mohankumar2020",
    needs=("classes",),
    measures={
        "conicity": Measure("mean |cos| of a text's states with their mean", False, range=SHARE)
    },
    formula="(1/n) Σ_t |cos(h_t, (1/n) Σ_s h_s)|",
    higher="states point more in one direction, so that moving attention changes less",
    cost="one pass over the texts",
    limits=(
        "It is about directions alone: a decoder may still read small differences, and the "
        "length of a state is not seen."
    ),
)
