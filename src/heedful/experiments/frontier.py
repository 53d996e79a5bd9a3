"""How far can training lead attention away while the outputs stay? (wiegreffe2019, test 4)

One adversary for each weight λ of the distance: together they trace the frontier between
attending elsewhere (JSD) and saying the same (TVD). Where the corpus marks rationales, an
adversary with most of its mass inside them found an *alternative* explanation; else it is
*counterfactual*. Without rationales a large JSD cannot be told either way (tutek2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.entries import LN2, SHARE, Experiment, Measure, Role
from heedful.errors import HeedfulError
from heedful.experiments.evidence import Evidence, Findings, ForwardBatch, by_rows
from heedful.experiments.rationale import marked
from heedful.experiments.seeds import Beside, beside
from heedful.metrics import mass_inside
from heedful.specs import TermSpec
from heedful.types import AttentionRows, SiteSpec

# Models trained to attend elsewhere than the base does (wiegreffe2019, test 4).
#
# A `teacher` adversary imitates the base's outputs; a `labels` one learns the task instead, so
# that it need not repeat the base's mistakes (tutek2020). All start from one seed that is not
# the base's, so that only what they were trained for tells them apart.


FRESH = 1
"""How far an adversary's seed is from the base's."""


@dataclass(frozen=True)
class Schooling:
    """How long adversaries are trained, and what keeps their attention away."""

    epochs: int = 80
    patience: int = 10
    divergence: str = "kl"


def adversary(weight: float, school: Schooling = Schooling(), goal: str = "teacher") -> Role:
    """With the weight 0 it only imitates (or learns the task once more). What the base's loss
    has beside the task stays: adversaries are of the same kind of model."""
    params = () if school.divergence == "kl" else (("divergence", school.divergence),)
    train = {"epochs": school.epochs, "patience": school.patience, "select": "loss"}
    return Role({"goal": goal}, train, FRESH, "base", (TermSpec("apart", weight, params),))


def check_weight(weight: float) -> float:
    if not 0 <= weight < float("inf"):
        raise HeedfulError(f"an adversary's weight is {weight}: give a number that is at least 0.")
    return float(weight)


WEIGHTS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
"""KL reaches ten nats and more where TVD is at most 1: small weights already lead far."""

LABELS = (1e-3, 1e-2)

OF_LABELS = "labels"
"""What the name of a label-trained adversary begins with."""


def frontier(
    evidence: Evidence,
    weights: Sequence[float] = WEIGHTS,
    labels: Sequence[float] = LABELS,
    epochs: int = 80,
    patience: int = 10,
    divergence: str = "kl",
) -> Findings:
    """`tvd:λ` and `jsd:λ` of every adversary on every example; `labels` are the weights of
    those that learn the labels instead of imitating."""
    names = [name for name in roles(weights, labels) if name in evidence.models]
    if not names:
        raise HeedfulError("the probe 'frontier' needs adversaries: run it by a study.")

    def measured(forward: ForwardBatch, site: SiteSpec, view: AttentionRows) -> dict[str, Tensor]:
        marks, found = _marks(evidence, forward, site, view), dict[str, Tensor]()
        for name in names:
            other = beside(evidence.models[name], forward, site, view)
            measures = _measures(other, view, marks)
            found |= {f"{measure}:{name}": values for measure, values in measures.items()}
        return found

    return by_rows(evidence, evidence.passes("frontier"), measured)


def roles(
    weights: Sequence[float] = WEIGHTS,
    labels: Sequence[float] = LABELS,
    epochs: int = 80,
    patience: int = 10,
    divergence: str = "kl",
) -> Mapping[str, Role]:
    """By what stands after the colon of a measure: `0.001`, `labels0.001`."""
    if not weights and not labels:
        raise HeedfulError("a frontier needs at least one weight.")
    school = Schooling(epochs, patience, divergence)
    imitating = {_name(w): adversary(w, school) for w in weights}
    return imitating | {_name(w, OF_LABELS): adversary(w, school, "labels") for w in labels}


def _name(weight: float, goal: str = "") -> str:
    return f"{goal}{check_weight(weight):g}"


def _marks(
    evidence: Evidence, forward: ForwardBatch, site: SiteSpec, view: AttentionRows
) -> Bool[Tensor, "n k"] | None:
    """The rationale of each row's text; none where sentences are attended, or nobody marked."""
    if site.level != "tokens" or all(one is None for one in evidence.data.sides["a"].rationales):
        return None
    return marked(evidence, forward)[view.example]


def _measures(other: Beside, view: AttentionRows, marks: Tensor | None) -> dict[str, Tensor]:
    found = {"tvd": other.tvd, "jsd": other.jsd}
    if marks is None:
        return found
    mass = mass_inside(other.weights, marks, view.mask)
    more = torch.where(mass.isnan(), torch.nan, (mass > 0.5).double())
    return {**found, "mass_inside": mass, "alternative": more}


KINDS = {
    "tvd": "change of the output (|Δp|) from the base to the adversary",
    "jsd": "distance of attention from the base to the adversary",
    "mass_inside": "share of the adversary's attention on the rationale",
    "alternative": "1 where more than half of that lies inside: an alternative explanation",
}

POINTS = tuple(roles())

ENTRY = Experiment(
    name="frontier",
    description="adversaries trained to attend elsewhere and say the same, one for each weight",
    make=frontier,
    bounds={"epochs": (1, 10_000), "patience": (1, 10_000)},
    paper="wiegreffe2019",
    needs=("normalised",),
    roles=roles,
    measures={
        f"{kind}:{point}": Measure(f"{words}, λ = {point}", range=LN2 if kind == "jsd" else SHARE)
        for point in POINTS
        for kind, words in KINDS.items()
    },
    formula=(
        "for each λ a model trained on mean TVD(p_θ, p) − λ · mean KL(α_θ ‖ α), or on the labels "
        "in place of TVD; then TVD and JSD from the base"
    ),
    higher=(
        "of `jsd:…`: training led attention further away; of `tvd:…`: at the price of other outputs"
    ),
    cost="the training of an adversary for each λ (9)",
    limits=(
        "A large distance at equal outputs can be an alternative explanation or none: only "
        "rationales tell. What training did not find may still be there."
    ),
)
