"""Another model on the same batch: its attention and its outputs, row by row beside the base's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.metrics import jsd, tvd
from heedful.models import probabilities
from heedful.probes.evidence import Pass
from heedful.types import AttentionRows, Model, SiteSpec


@dataclass(frozen=True)
class Beside:
    """One line for each row of the base's attention."""

    weights: Float[Tensor, "n k"]
    jsd: Float[Tensor, " n"]
    tvd: Float[Tensor, " n"]


def beside(model: Model, each: Pass, site: SiteSpec, view: AttentionRows) -> Beside:
    """What the other model attends to where the base does, and how far the two are apart in
    attention (JSD) and over all classes (TVD, which is |Δp| for two)."""
    with torch.no_grad():
        trace = model(each.batch)
    full, own = trace.weights.get(site.name), each.trace.weights[site.name]
    if full is None or full.shape != own.shape:
        raise HeedfulError(
            f"the other model has no attention {site.name!r} over the same positions: compare "
            f"models of one family and corpus."
        )
    weights = full[view.example, view.head, view.query].double()
    moved = tvd(probabilities(trace.logits), each.probabilities)
    return Beside(weights, jsd(weights, view.weights.double()), moved[view.example])
