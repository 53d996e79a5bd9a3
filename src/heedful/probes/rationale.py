"""How much attention lies where people found the reason, or the generator put it?"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.metrics import auprc, mass_inside
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.types import AttentionRows


def rationale(evidence: Evidence) -> Findings:
    """Undefined where an example has no rationale. Even attention has `share_inside` of its
    mass there."""
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("rationale"):
        inside = marked(evidence, each)
        for site in evidence.sites:
            view = each.rows(site)
            collector.add(each, site, view, _measures(view, inside[view.example]))
    return Findings(collector.rows())


def marked(evidence: Evidence, each: Pass) -> Bool[Tensor, "b t"]:
    """The tokens in a rationale; a mark is there for each real token."""
    place = {example: number for number, example in enumerate(evidence.data.ids)}
    real = each.batch.texts["a"].mask
    inside = torch.zeros_like(real)
    for row, example in enumerate(each.batch.ids):
        marks = evidence.data.rationale(place[example])
        if marks is not None:
            inside[row, real[row]] = torch.from_numpy(np.array(marks, dtype=bool)).to(real.device)
    return inside


def _measures(view: AttentionRows, inside: Tensor) -> dict[str, Tensor]:
    weights = view.weights.double()
    return {
        "mass_inside": mass_inside(weights, inside, view.mask),
        "share_inside": mass_inside(view.mask.double(), inside, view.mask),
        "auprc": auprc(weights, inside, view.mask),
    }


PIECE = Piece(
    name="rationale",
    description="attention inside the rationales that the corpus marks",
    make=rationale,
    by_text=True,
    version=2,
    needs=("tokens", "rationales"),
    measures={
        "mass_inside": Measure("share of attention on the rationale", True, range=SHARE),
        "share_inside": Measure(
            "share of the tokens in the rationale: what even attention has", range=SHARE
        ),
        "auprc": Measure(
            "area under the precision-recall curve of the rationale", True, range=SHARE
        ),
    },
    formula="mass_inside = Σ_{t in rationale} α_t / Σ_t α_t; AUPRC of α against the rationale",
    higher="attention lies more on what was marked; even attention has `share_inside`",
    cost="one pass over the texts",
    limits="Plausible is not faithful: what people marked need not be what the model used.",
)
