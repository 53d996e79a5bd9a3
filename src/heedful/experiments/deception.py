"""What a model does with tokens that its attention must not be seen on (pruthi2020).

A model that deceives has no attention on them and is as good as before; a control that never
sees them shows what they are worth, and so does their attention set to zero afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.data import Forbidden, blinded, forbidden, forbidden_next, laid_out
from heedful.entries import SHARE, SIGNED, Experiment, Measure, Role
from heedful.experiments.evidence import Collector, Evidence, Findings, ForwardBatch
from heedful.experiments.outputs import outputs, renormalised
from heedful.metrics import mass_inside
from heedful.types import AttentionRows, SiteSpec

CONTROL = Role({"blind": True}, without=("impermissible",), needs=("marked words",))


def deception(evidence: Evidence, control: bool = True) -> Findings:
    """`mass` of attention on impermissible tokens beside their `share` of all tokens, and how
    often the decision (of a target, its next word at the step looked at) is right: as it is,
    with `zeroed` attention there, and from the `control`, which needs marks of words: what a
    target's steps are aligned with cannot be taken away. The rest of zeroed attention is
    renormalised; where all of it was on impermissible tokens, the decision is that of a zero
    context, since nothing permitted was looked at."""
    collector, marks = Collector(evidence.data.ids), marks_of(evidence)
    right = _control(evidence) if control and "control" in evidence.models else {}
    for forward in evidence.resumable("deception"):
        for site in evidence.sites:
            view = forward.rows(site)
            found = _measures(forward, site, view, inside(marks, forward, view))
            if right:
                found |= _beside(forward, view, found["accuracy"], right)
            collector.add(forward, site, view, found)
    return Findings(collector.rows())


def _measures(
    forward: ForwardBatch, site: SiteSpec, view: AttentionRows, forbidden: Tensor
) -> dict[str, Tensor]:
    weights = view.weights.double()
    kept = renormalised(weights.masked_fill(forbidden, 0.0))
    zeroed = outputs(forward, site, view, kept[:, None])[:, 0].argmax(-1)
    label = forward.batch.labels[view.example]
    accuracy = (forward.predicted[view.example] == label).double()
    without = (zeroed == label).double()
    return {
        "mass": mass_inside(weights, forbidden, view.mask),
        "share": mass_inside(view.mask.double(), forbidden, view.mask),
        "accuracy": accuracy,
        "accuracy:zeroed": without,
        "delta:zeroed": without - accuracy,
    }


def _control(evidence: Evidence) -> Mapping[str, float]:
    """1 where the model that never saw the marked tokens is right, by example."""
    model = evidence.models["control"]
    right: dict[str, float] = {}
    with torch.no_grad():
        for _, batch in evidence.batches(blinded(evidence.data)):
            each = ForwardBatch(model, batch, model(batch))
            correct = (each.predicted == batch.labels).double().tolist()
            right |= dict(zip(batch.ids, correct, strict=True))
    return right


def _beside(
    forward: ForwardBatch, view: AttentionRows, accuracy: Tensor, right: Mapping[str, float]
) -> dict[str, Tensor]:
    ids = [forward.batch.ids[row] for row in view.example.tolist()]
    control = accuracy.new_tensor([right[example] for example in ids])
    return {"accuracy:control": control, "delta:control": control - accuracy}


def _roles(control: bool = True, **params: object) -> Mapping[str, Role]:
    return {"control": CONTROL} if control else {}


# The impermissible tokens of a probe's data, laid over its rows of attention.


def marks_of(evidence: Evidence) -> Forbidden:
    """Of a target the marks are those of the step looked at."""
    if evidence.task == "generation" and evidence.whole is not None:
        return forbidden_next(evidence.whole, evidence.data)
    return forbidden(evidence.data)


def inside(marks: Forbidden, forward: ForwardBatch, view: AttentionRows) -> Bool[Tensor, "n k"]:
    """Which of the attended tokens are impermissible, row by row."""
    return laid_out(marks, forward.batch, 1)[:, 0][view.example] & view.mask


ENTRY = Experiment(
    name="deception",
    description="attention on impermissible tokens, and what the task is worth without them",
    make=deception,
    paper="pruthi2020",
    needs=("tokens", "normalised", "impermissible"),
    roles=_roles,
    measures={
        "mass": Measure("share of attention on impermissible tokens", range=SHARE),
        "share": Measure(
            "share of the tokens that are impermissible: what even attention has", range=SHARE
        ),
        "accuracy": Measure(
            "1 where the decision (or a target's next word) is right", True, range=SHARE
        ),
        "accuracy:zeroed": Measure(
            "the same, attention on impermissible tokens set to 0", True, range=SHARE
        ),
        "accuracy:control": Measure("the same, of a model that never saw them", True, range=SHARE),
        "delta:zeroed": Measure(
            "its change when their attention is set to 0", signed=True, range=SIGNED
        ),
        "delta:control": Measure("the control's less this model's", signed=True, range=SIGNED),
    },
    formula=(
        "mass = Σ_{t impermissible} α_t / Σ_t α_t; delta:zeroed = accuracy with their α at 0, "
        "the rest renormalised, − accuracy; delta:control = accuracy of a model that never saw "
        "them − accuracy"
    ),
    higher="of `mass`: more attention on them; of `delta…`: the task loses less without them",
    cost="two passes over the texts, and the training of the control",
    limits=(
        "An encoder copies what impermissible tokens say into other states: zeroed attention "
        "does not take it away there."
    ),
)
