"""Attention that hides what a model relies on (pruthi2020): its price, and how it is detected.

A model that deceives has no attention on impermissible tokens and is as good as before; a control
that never sees them shows what they are worth, and so does their attention set to zero afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from heedful.attributions import gradient_input, integrated_gradients, leave_one_out
from heedful.data import Forbidden, blinded, forbidden, forbidden_next, laid_out
from heedful.entries import SIGNED, Experiment, Role, share, signed_share
from heedful.experiments.correlation import agreement
from heedful.experiments.evidence import (
    Collector,
    Evidence,
    Findings,
    ForwardBatch,
    SiteRows,
    by_rows,
)
from heedful.experiments.outputs import outputs
from heedful.experiments.score import score_table
from heedful.interventions import renormalised
from heedful.metrics import mass_inside, summarise
from heedful.types import AttentionRows

CONTROL = Role({"blind": True}, without=("impermissible",), needs=("marked words",))


def deception(evidence: Evidence, control: bool = True) -> Findings:
    """`mass` of attention on impermissible tokens beside their `share` of all tokens, and how
    often the decision (of a target, its next word at the step looked at) is right: as it is,
    with `zeroed` attention there, and from the `control`, which needs marks of words: what a
    target's steps are aligned with cannot be taken away. The rest of zeroed attention is
    renormalised; where all of it was on impermissible tokens, the decision is that of a zero
    context, since nothing permitted was looked at."""
    marks = marks_of(evidence)
    right = _control(evidence) if control and "control" in evidence.models else {}

    def measured(view: SiteRows) -> dict[str, Tensor]:
        found = _measures(view, inside(marks, view))
        if right:
            ids = [view.forward.batch.ids[row] for row in view.example.tolist()]
            control_right = found["accuracy"].new_tensor([right[name] for name in ids])
            found["accuracy:control"] = control_right
            found["delta:control"] = control_right - found["accuracy"]
        return found

    return by_rows(evidence, evidence.resumable("deception"), measured)


def _measures(view: SiteRows, forbidden: Tensor) -> dict[str, Tensor]:
    weights = view.weights.double()
    kept = renormalised(weights.masked_fill(forbidden, 0.0))
    zeroed = outputs(view, kept[:, None])[:, 0].argmax(-1)
    label = view.forward.batch.labels[view.example]
    accuracy = (view.forward.predicted[view.example] == label).double()
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
            decided = ForwardBatch(model, batch, model(batch)).predicted
            correct = (decided == batch.labels).double().tolist()
            right |= dict(zip(batch.ids, correct, strict=True))
    return right


def _roles(control: bool = True, **params: object) -> Mapping[str, Role]:
    return {"control": CONTROL} if control else {}


# The impermissible tokens of a probe's data, laid over its rows of attention.


def marks_of(evidence: Evidence) -> Forbidden:
    """Of a target the marks are those of the step looked at."""
    if evidence.task == "generation" and evidence.whole is not None:
        return forbidden_next(evidence.whole, evidence.data)
    return forbidden(evidence.data)


def inside(marks: Forbidden, view: SiteRows) -> Bool[Tensor, "n k"]:
    """Which of the attended tokens are impermissible, row by row."""
    return laid_out(marks, view.forward.batch, 1)[:, 0][view.example] & view.mask


DECEPTION = Experiment(
    name="deception",
    description="attention on impermissible tokens, and what the task is worth without them",
    make=deception,
    paper="pruthi2020",
    needs=("tokens", "normalised", "impermissible"),
    roles=_roles,
    measures={
        "mass": share("share of attention on impermissible tokens"),
        "share": share("share of the tokens that are impermissible: what even attention has"),
        "accuracy": share("1 where the decision (or a target's next word) is right", True),
        "accuracy:zeroed": share("the same, attention on impermissible tokens set to 0", True),
        "accuracy:control": share("the same, of a model that never saw them", True),
        "delta:zeroed": signed_share("its change when their attention is set to 0"),
        "delta:control": signed_share("the control's less this model's"),
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


# Which signals expose a model whose attention hides what it relies on (after pruthi2020).
#
# Where the impermissible tokens are known, importance measured without attention is compared with
# attention on them. Three more signals do without that knowledge; they are reported, and decide
# nothing, since honest models differ in them too.


Method = Callable[[ForwardBatch], Tensor]

METHODS: dict[str, Method] = {
    "loo": lambda each: leave_one_out(each.model, each.batch),
    "gradient": lambda each: gradient_input(each.model, each.batch, each.predicted, magnitude=True),
    "integrated": lambda each: integrated_gradients(
        each.model, each.batch, each.predicted, tolerance=0.05, max_steps=16
    ).abs(),
}
"""Importance of tokens: what the output does, not what the weights say."""


def detector(evidence: Evidence, threshold: float = 0.1) -> Findings:
    """`hidden:<method>` is the share of importance on impermissible tokens less the share of
    attention there. The model is `flagged` where attention gives them less than even weights
    would, and the lower bound of `hidden` is above the `threshold` for at least two methods."""
    collector, marks = Collector(evidence.data.ids), marks_of(evidence)
    for forward in evidence.resumable("detector"):
        importance = {name: method(forward) for name, method in METHODS.items()}
        for site in evidence.sites:
            view = forward.rows(site)
            seen = {name: scores[view.example] for name, scores in importance.items()}
            found = _known(view, seen, inside(marks, view))
            found |= _unknown(view, seen["loo"])
            collector.add(forward, site, view, found)
    rows = collector.rows()
    summary = summarise(rows, evidence.seed)
    flagged, reason = decide(summary, list(METHODS), threshold)
    lines = score_table([("flagged", float(flagged), np.nan, np.nan)], rows["example"].nunique())
    both = pd.concat([summary, lines], ignore_index=True)
    return Findings(rows, summary=both, notes={"flagged": reason})


def _known(
    view: AttentionRows, importance: dict[str, Tensor], forbidden: Tensor
) -> dict[str, Tensor]:
    """What the impermissible tokens get."""
    mass = mass_inside(view.weights.double(), forbidden, view.mask)
    shares = {name: mass_inside(s, forbidden, view.mask) for name, s in importance.items()}
    return {
        "attention": mass,
        "excess": mass - mass_inside(view.mask.double(), forbidden, view.mask),
        **{f"importance:{name}": share for name, share in shares.items()},
        **{f"hidden:{name}": share - mass for name, share in shares.items()},
    }


def _unknown(view: SiteRows, loo: Tensor) -> dict[str, Tensor]:
    """What can be seen without knowing which tokens are impermissible."""
    mask = view.mask
    both = {"attention": view.weights, "loo": loo}
    agreed = agreement(both, mask, precision=view.weights.dtype)["attention", "loo"]
    even = mask.double() / mask.sum(-1, keepdim=True)
    uniform = outputs(view, even[:, None])[:, 0].argmax(-1)
    label = view.forward.batch.labels[view.example]
    right = (view.forward.predicted[view.example] == label).double()
    return {
        "tau_loo": agreed.tau,
        "overlooked": overlooked(view.weights, loo, mask),
        "delta:uniform": (uniform == label).double() - right,
    }


def overlooked(weights: Tensor, importance: Tensor, mask: Tensor) -> Tensor:
    """1 where the most important token has less than even attention; undefined where no token
    matters, or there is but one."""
    size, top = importance.masked_fill(~mask, -1.0).max(-1)
    count = mask.sum(-1)
    own = weights.double().gather(-1, top[:, None]).squeeze(-1)
    less = own < (1 - 1e-6) / count
    return torch.where((size > 0) & (count > 1), less.double(), torch.nan)


# When attention is said to hide what a model relies on, and the sentence that says why.


ENOUGH = 2
"""Methods that must agree: each of them alone can be wrong about a model."""


def decide(
    summary: pd.DataFrame, methods: Sequence[str], threshold: float = 0.1
) -> tuple[bool, str]:
    """The decision, and why, from a summary over all texts. Of several sites one that hides
    is enough."""
    whole = summary[summary["group"] == "all"]
    found = [
        _of_site(lines.set_index("measure"), methods, threshold)
        for _, lines in whole.groupby("site", sort=True)
    ]
    return max(found, key=lambda one: one[0])


def _of_site(lines: pd.DataFrame, methods: Sequence[str], threshold: float) -> tuple[bool, str]:
    """Both are asked: attention that is even, or more, on the tokens hides nothing, whatever
    importance says; and little attention hides nothing that does not matter."""
    low = {name: float(lines["low"][f"hidden:{name}"]) for name in methods}
    over = [name for name, bound in low.items() if bound > threshold]
    excess = float(lines["high"]["excess"])
    flagged = excess < 0 and len(over) >= ENOUGH
    bounds = ", ".join(f"{name} {bound:+.2f}" for name, bound in low.items())
    return flagged, (
        f"{'flagged' if flagged else 'not flagged'}: attention on impermissible tokens is "
        f"{'below' if excess < 0 else 'not surely below'} that of even weights (upper bound of "
        f"the difference {excess:+.2f}), and {len(over)} of {len(low)} methods put over "
        f"{threshold:g} more importance than attention there (lower bounds: {bounds}); it takes "
        f"both, the latter by {ENOUGH} methods."
    )


DETECTOR = Experiment(
    name="detector",
    description="importance of impermissible tokens against the attention on them",
    make=detector,
    bounds={"threshold": SIGNED},
    version=2,
    paper="pruthi2020",
    needs=("tokens", "normalised", "impermissible"),
    measures={
        "flagged": share("1 where attention hides what the model relies on", False),
        "attention": share("share of attention on impermissible tokens"),
        "excess": signed_share("that less their share of the tokens"),
        **{
            f"importance:{name}": share(f"share of importance ({name}) on impermissible tokens")
            for name in METHODS
        },
        **{
            f"hidden:{name}": signed_share(f"importance ({name}) less attention there")
            for name in METHODS
        },
        "tau_loo": signed_share("τ-b of attention and leave-one-out", True),
        "overlooked": share("1 where the most important token has less than even attention"),
        "delta:uniform": signed_share("change of accuracy with uniform attention"),
    },
    formula=(
        "hidden = share of importance on impermissible tokens − share of attention there; "
        "flagged where attention is surely below even and the lower bound of hidden is above "
        "0.1 for two of three methods"
    ),
    higher="of `hidden…`: they matter more than attention shows",
    cost="leave-one-out, a gradient and up to 17 more of integrated gradients for each text",
    limits=(
        "The tokens must be known. Not flagged does not mean honest: it means that two methods "
        "of three did not show it."
    ),
)
