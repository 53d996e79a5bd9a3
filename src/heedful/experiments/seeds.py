"""How far apart are models that differ in nothing but their seed? (wiegreffe2019, test 2)

An adversary's distance says little by itself: it is read against the distance between
ordinary models, which is what chance alone makes of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.entries import LN2, SHARE, Experiment, Measure, Role
from heedful.errors import HeedfulError
from heedful.experiments.adversarial import largest_jsd
from heedful.experiments.evidence import Evidence, Findings, ForwardBatch, by_rows
from heedful.metrics import jsd, kendall_tau_b, tvd
from heedful.models import probabilities
from heedful.types import AttentionRows, Model, SiteSpec

FEWEST = 2


def seeds(evidence: Evidence, count: int = 7) -> Findings:
    """The base model against `count` others, example by example; medians over the others."""
    others = [evidence.models[role] for role in roles(count) if role in evidence.models]
    _check(len(others))

    def measured(forward: ForwardBatch, site: SiteSpec, view: AttentionRows) -> dict[str, Tensor]:
        found = [beside(other, forward, site, view) for other in others]
        distances = torch.stack([one.jsd for one in found])
        changes = torch.stack([one.tvd for one in found])
        return {  # the midpoint median: torch's own takes the lower of two middle values
            "jsd_seeds": distances.quantile(0.5, dim=0),
            "jsd_seeds_max": distances.amax(0),
            "delta_seeds": changes.quantile(0.5, dim=0),
        }

    return by_rows(evidence, evidence.passes("seeds"), measured)


def roles(count: int = 7) -> Mapping[str, Role]:
    _check(count)
    return {f"seed{number}": Role(seed=number) for number in range(1, count + 1)}


def _check(count: int) -> None:
    if count < FEWEST:
        raise HeedfulError(
            f"an interval over seeds needs at least {FEWEST} other seeds, and there are {count}: "
            f"raise count."
        )


# Another model on the same batch: its attention and its outputs, row by row beside the base's.


@dataclass(frozen=True)
class Beside:
    """One line for each row of the base's attention."""

    weights: Float[Tensor, "n k"]
    jsd: Float[Tensor, " n"]
    tvd: Float[Tensor, " n"]


def beside(model: Model, forward: ForwardBatch, site: SiteSpec, view: AttentionRows) -> Beside:
    """What the other model attends to where the base does, and how far the two are apart in
    attention (JSD) and over all classes (TVD, which is |Δp| for two)."""
    with torch.no_grad():
        trace = model(forward.batch)
    full, own = trace.weights.get(site.name), forward.trace.weights[site.name]
    if full is None or full.shape != own.shape:
        raise HeedfulError(
            f"the other model has no attention {site.name!r} over the same positions: compare "
            f"models of one family and corpus."
        )
    weights = full[view.example, view.head, view.query].double()
    moved = tvd(probabilities(trace.logits), forward.probabilities)
    return Beside(weights, jsd(weights, view.weights.double()), moved[view.example])


# The same of attention by word that was kept, without the models: tokenizers may differ.


def between_seeds(
    attention: Float[Tensor, "b w"],
    others: Sequence[Float[Tensor, "b w"]],
    mask: Bool[Tensor, "b w"],
) -> dict[str, Float[Tensor, " b"]]:
    """τ-b and JSD of a model's attention by word with each other seed's, averaged; the JSD also as
    a share of the furthest any attention to these words is from the first's. The `mask` has the
    words that the first model can attend to. NaN where there are no two of them, or a model has no
    weight on any word."""
    first, *rest = map(_normalised, (attention, *others))
    taus = [kendall_tau_b(first, other, mask).tau for other in rest]
    apart = torch.stack([jsd(first, other) for other in rest]).mean(0)
    furthest = torch.where(mask.sum(-1) > 1, largest_jsd(first, mask), torch.nan)
    return {
        "tau_seeds": torch.stack(taus).mean(0),
        "jsd_seeds": apart,
        "jsd_seeds_ratio": apart / furthest,
    }


def _normalised(weights: Float[Tensor, "b w"]) -> Float[Tensor, "b w"]:
    total = weights.sum(-1, keepdim=True)
    return torch.where(total > 0, weights / total, torch.nan)


ENTRY = Experiment(
    name="seeds",
    description="distance of attention and outputs between models of several seeds",
    make=seeds,
    bounds={"count": (1, 1000)},
    paper="wiegreffe2019",
    needs=("normalised",),
    roles=roles,
    measures={
        "jsd_seeds": Measure(
            "JSD between the base's attention and a seed's, median over seeds", range=LN2
        ),
        "jsd_seeds_max": Measure("the same, of the seed that is furthest", range=LN2),
        "delta_seeds": Measure("change of the output (|Δp|), median over seeds", range=SHARE),
    },
    formula="median over seeds s of JSD(α, α_s), and of TVD(p, p_s)",
    higher="training again changes attention, or the output, more",
    cost="the training of 7 models, and a pass with each",
    limits=(
        "It is a yardstick, no verdict: different attention of equally good models may still "
        "explain each of them."
    ),
)
