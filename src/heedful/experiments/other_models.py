"""How far is the base's attention from that of other trained models? (wiegreffe2019)

Test 2 asks models that differ in nothing but their seed, test 4 adversaries that were trained to
attend elsewhere. A distance says little by itself: an adversary's is read against that between
ordinary models, which is what chance alone makes of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.entries import LN2, SHARE, Experiment, Measure, Role, share
from heedful.errors import HeedfulError
from heedful.experiments.adversarial import largest_jsd
from heedful.experiments.evidence import Evidence, Findings, SiteRows, by_rows
from heedful.experiments.rationale import marked
from heedful.metrics import jsd, kendall_tau_b, mass_inside, tvd
from heedful.models import probabilities
from heedful.specs import TermSpec
from heedful.types import AttentionRows, Model

FEWEST = 2


def seeds(evidence: Evidence, count: int = 7) -> Findings:
    """The base model against `count` others, example by example; medians over the others."""
    others = [evidence.models[role] for role in _other_seeds(count) if role in evidence.models]
    _check(len(others))

    def measured(view: SiteRows) -> dict[str, Tensor]:
        found = [beside(other, view) for other in others]
        distances = torch.stack([one.jsd for one in found])
        changes = torch.stack([one.tvd for one in found])
        return {  # the midpoint median: torch's own takes the lower of two middle values
            "jsd_seeds": distances.quantile(0.5, dim=0),
            "jsd_seeds_max": distances.amax(0),
            "delta_seeds": changes.quantile(0.5, dim=0),
        }

    return by_rows(evidence, evidence.passes("seeds"), measured)


def _other_seeds(count: int = 7) -> Mapping[str, Role]:
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


def beside(model: Model, view: SiteRows) -> Beside:
    """What the other model attends to where the base does, and how far the two are apart in
    attention (JSD) and over all classes (TVD, which is |Δp| for two)."""
    with torch.no_grad():
        trace = model(view.forward.batch)
    full, own = trace.weights.get(view.site.name), view.forward.trace.weights[view.site.name]
    if full is None or full.shape != own.shape:
        raise HeedfulError(
            f"the other model has no attention {view.site.name!r} over the same positions: compare "
            f"models of one family and corpus."
        )
    weights = full[view.example, view.head, view.query].double()
    moved = tvd(probabilities(trace.logits), view.forward.probabilities)
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


SEEDS = Experiment(
    name="seeds",
    description="distance of attention and outputs between models of several seeds",
    make=seeds,
    bounds={"count": (1, 1000)},
    paper="wiegreffe2019",
    needs=("normalised",),
    roles=_other_seeds,
    measures={
        "jsd_seeds": Measure(
            "JSD between the base's attention and a seed's, median over seeds", range=LN2
        ),
        "jsd_seeds_max": Measure("the same, of the seed that is furthest", range=LN2),
        "delta_seeds": share("change of the output (|Δp|), median over seeds"),
    },
    formula="median over seeds s of JSD(α, α_s), and of TVD(p, p_s)",
    higher="training again changes attention, or the output, more",
    cost="the training of 7 models, and a pass with each",
    limits=(
        "It is a yardstick, no verdict: different attention of equally good models may still "
        "explain each of them."
    ),
)


# How far can training lead attention away while the outputs stay? (wiegreffe2019, test 4)
#
# One adversary for each weight λ of the distance: together they trace the frontier between
# attending elsewhere (JSD) and saying the same (TVD). Where the corpus marks rationales, an
# adversary with most of its mass inside them found an *alternative* explanation; else it is
# *counterfactual*. Without rationales a large JSD cannot be told either way (tutek2020).
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
    names = [name for name in _adversaries(weights, labels) if name in evidence.models]
    if not names:
        raise HeedfulError("the probe 'frontier' needs adversaries: run it by a study.")

    def measured(view: SiteRows) -> dict[str, Tensor]:
        marks, found = _marks(evidence, view), dict[str, Tensor]()
        for name in names:
            other = beside(evidence.models[name], view)
            measures = _measures(other, view, marks)
            found |= {f"{measure}:{name}": values for measure, values in measures.items()}
        return found

    return by_rows(evidence, evidence.passes("frontier"), measured)


def _adversaries(
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


def _marks(evidence: Evidence, view: SiteRows) -> Bool[Tensor, "n k"] | None:
    """The rationale of each row's text; none where sentences are attended, or nobody marked."""
    if view.site.level != "tokens" or all(
        one is None for one in evidence.data.sides["a"].rationales
    ):
        return None
    return marked(evidence, view.forward)[view.example]


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

POINTS = tuple(_adversaries())

FRONTIER = Experiment(
    name="frontier",
    description="adversaries trained to attend elsewhere and say the same, one for each weight",
    make=frontier,
    bounds={"epochs": (1, 10_000), "patience": (1, 10_000)},
    paper="wiegreffe2019",
    needs=("normalised",),
    roles=_adversaries,
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
