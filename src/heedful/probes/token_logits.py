"""What each token says by itself, kept so that attention can be moved by hand later on.

After a linear site the logits are Σ α·(token logit + bias) for all weights that sum to 1. So
the weights and these numbers are the whole way from attention to the prediction: a page
that has them shows what the model would say under any other attention, without the model.
"""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.models import class_logits
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.probes.reachability import alone
from heedful.types import AttentionRows

MOST_LOGITS = 20
"""With more, the maps would be larger than all others of a study together."""


def token_logits(evidence: Evidence) -> Findings:
    """Maps `attention` and, per logit, `logit:0`, `logit:1`, …, all in double precision: in
    single precision large logits that cancel would move a probability by more than 1e-6."""
    collector, notes = Collector(evidence.data.ids), dict[str, str]()
    for each in evidence.passes("token_logits"):
        for site in evidence.sites:
            view = each.rows(site)
            logits = alone(each, site, view)
            collector.add(each, site, view, _measures(each, view, logits))
            maps = {"attention": view.weights}
            if logits.shape[-1] <= MOST_LOGITS:
                maps |= {f"logit:{c}": by_token for c, by_token in enumerate(logits.unbind(-1))}
            else:
                notes["token_logits"] = _too_many(logits.shape[-1])
            collector.add_maps(each, site, view, maps, exact=True)
    return Findings(collector.rows(), collector.maps(), notes=notes)


def _measures(
    each: Pass, view: AttentionRows, logits: Float[Tensor, "n k c"]
) -> dict[str, Float[Tensor, " n"]]:
    weights = view.weights.double()
    agreeing = _agreeing(each, view, logits).double()
    return {
        "mass_agreeing": (weights * agreeing).sum(-1) / weights.sum(-1),
        "tokens_agreeing": agreeing.sum(-1) / view.mask.sum(-1),
    }


def _agreeing(
    each: Pass, view: AttentionRows, logits: Float[Tensor, "n k c"]
) -> Bool[Tensor, "n k"]:
    decision = class_logits(logits).argmax(-1)
    return (decision == each.predicted[view.example][:, None]) & view.mask


def _too_many(logits: int) -> str:
    return (
        f"the model has {logits} logits, and token logits are kept of at most {MOST_LOGITS}: only "
        f"attention is."
    )


PIECE = Piece(
    name="token_logits",
    description="what each token says by itself, so that attention can be moved afterwards",
    make=token_logits,
    by_text=True,
    needs=("linear", "normalised"),
    sites="linear",
    measures={
        "mass_agreeing": Measure(
            "attention on tokens that alone would decide as the model does", range=SHARE
        ),
        "tokens_agreeing": Measure(
            "share of tokens that alone would decide as the model does", range=SHARE
        ),
    },
    formula=(
        "logits = Σ_t α_t (z_t + b); mass_agreeing = Σ_t α_t [argmax (z_t + b) is the decision] "
        "/ Σ_t α_t"
    ),
    higher="more tokens decide by themselves as the model does, so attention matters less",
    cost="one pass over the texts; maps of up to 20 logits are kept",
    limits=(
        "A token's state holds its neighbours too where an encoder mixes them: what it says is "
        "not what the word says."
    ),
)
