"""Which outputs can attention reach at all, and what does each token say by itself?

Every attention gives logits in the convex hull of the tokens' own logits, so a decision
that every single token makes is one that no attention can change.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.attributions import text_site
from heedful.entries import Experiment, share
from heedful.experiments.evidence import (
    Collector,
    Evidence,
    Findings,
    ForwardBatch,
    SiteRows,
    by_rows,
)
from heedful.experiments.outputs import less, outputs_by_example, token_logits_of, words_of
from heedful.models import class_logits, probabilities


def reachability(evidence: Evidence) -> Findings:
    return by_rows(evidence, evidence.passes("reachability"), _reached)


def _reached(view: SiteRows) -> dict[str, Tensor]:
    logits = alone(view)
    measures = {"fixed": fixed(view)}
    if logits.shape[-1] == 1:
        p = probabilities(logits)[..., 1]
        measures["lowest"] = torch.where(view.mask, p, 2.0).amin(-1)
        measures["highest"] = torch.where(view.mask, p, -1.0).amax(-1)
    return measures


def fixed(view: SiteRows) -> Float[Tensor, " n"]:
    """1 where every item alone makes the decision that is made, else 0."""
    agreeing = _agreeing(view, alone(view))
    return (agreeing | ~view.mask).all(-1).double()


def reachable(forward: ForwardBatch) -> Float[Tensor, " b"]:
    """By example, 1 where some attention of the main site changes the decision, else 0. Exact for
    linear sites. For other sites all the attention is put on one word after another, which may
    miss a way: a lower bound."""
    site = text_site(forward.model)
    view = forward.rows(site)
    if site.linear:
        free = 1 - fixed(view)
        return free.new_zeros(len(forward.batch)).index_put((view.example,), free)
    there, tokens = words_of(forward.batch)
    weights = view.weights.double()
    tries = (less(weights, ~kept[view.example]) for kept in tokens.unbind(1))
    decision = outputs_by_example(view, tries).argmax(-1)
    return ((decision != forward.predicted[:, None]) & there).any(-1).double()


def alone(view: SiteRows) -> Tensor:
    """The logits of each item, had it all the attention."""
    values, bias = token_logits_of(view)
    return values + bias


def _agreeing(view: SiteRows, logits: Float[Tensor, "n k c"]) -> Bool[Tensor, "n k"]:
    """The items whose own logits decide as the model does."""
    decision = class_logits(logits).argmax(-1)
    return (decision == view.forward.predicted[view.example][:, None]) & view.mask


REACHABILITY = Experiment(
    name="reachability",
    description="the outputs attention can reach, and the decisions no attention can change",
    make=reachability,
    by_text=True,
    version=2,
    needs=("linear", "normalised"),
    sites="linear",
    measures={
        "fixed": share("1 where no attention changes the decision"),
        "lowest": share("lowest probability of class 1 that some attention gives"),
        "highest": share("highest probability of class 1 that some attention gives"),
    },
    formula=(
        "fixed = [every token's own logits z_t + b make the model's decision]; lowest and "
        "highest: min and max over t of σ(z_t + b)"
    ),
    higher=(
        "of `fixed`: more decisions that no attention could change; of `lowest` and `highest`: "
        "that end of what it can reach is higher"
    ),
    cost="one pass over the texts",
    limits=(
        "Only where logits are a weighted mean of the tokens' own. Within what can be reached "
        "it does not say where attention should be."
    ),
)


# What each token says by itself, kept so that attention can be moved by hand later on.
#
# After a linear site the logits are Σ α·(token logit + bias) for all weights that sum to 1. So
# the weights and these numbers are the whole way from attention to the prediction: a page
# that has them shows what the model would say under any other attention, without the model.


MOST_LOGITS = 20
"""With more, the maps would be larger than all others of a study together."""


def token_logits(evidence: Evidence) -> Findings:
    """Maps `attention` and, per logit, `logit:0`, `logit:1`, …, all in double precision: in
    single precision large logits that cancel would move a probability by more than 1e-6."""
    collector, notes = Collector(evidence.data.ids), dict[str, str]()
    for forward in evidence.passes("token_logits"):
        for site in evidence.sites:
            view = forward.rows(site)
            logits = alone(view)
            weights = view.weights.double()
            agreeing = _agreeing(view, logits).double()
            measures = {
                "mass_agreeing": (weights * agreeing).sum(-1) / weights.sum(-1),
                "tokens_agreeing": agreeing.sum(-1) / view.mask.sum(-1),
            }
            collector.add(forward, site, view, measures)
            maps = {"attention": view.weights}
            if logits.shape[-1] <= MOST_LOGITS:
                maps |= {f"logit:{c}": by_token for c, by_token in enumerate(logits.unbind(-1))}
            else:
                notes["token_logits"] = (
                    f"the model has {logits.shape[-1]} logits, and token logits are kept of at "
                    f"most {MOST_LOGITS}: only attention is."
                )
            collector.add_maps(forward, site, view, maps, exact=True)
    return Findings(collector.rows(), collector.maps(), notes=notes)


TOKEN_LOGITS = Experiment(
    name="token_logits",
    description="what each token says by itself, so that attention can be moved afterwards",
    make=token_logits,
    by_text=True,
    needs=("linear", "normalised"),
    sites="linear",
    measures={
        "mass_agreeing": share("attention on tokens that alone would decide as the model does"),
        "tokens_agreeing": share("share of tokens that alone would decide as the model does"),
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


# What each token alone would have the model say (tutek2020, §5).
#
# After a linear site the logits are a weighted mean of token logits, so each state has a
# prediction of its own: as if all attention were on it. Where almost every token says what the
# whole text does, attention may be anywhere, and its weights tell nothing about the decision.


def token_probability(evidence: Evidence) -> Findings:
    """The mean over a text's tokens, undefined where the prediction is wrong, as the paper has
    it. It does not say whether texts or tokens count alike in the average: texts do here."""
    collector = Collector(evidence.data.ids)
    for forward in evidence.passes("token_probability"):
        for site in evidence.sites:
            view = forward.rows(site)
            by_token = _predicted_by_token(view)
            collector.add(forward, site, view, _by_token(view, by_token))
            maps = {"token_probability": by_token, "attention": view.weights}
            collector.add_maps(forward, site, view, maps)
    return Findings(collector.rows(), collector.maps())


def _predicted_by_token(view: SiteRows) -> Float[Tensor, "n k"]:
    """The probability of the predicted class with all attention on one token."""
    linear = view.forward.trace.token_logits[view.site.name]
    p = probabilities(linear.values + linear.bias)[view.example]
    label = view.forward.predicted[view.example][:, None, None].expand(-1, p.shape[1], 1)
    return p.gather(2, label).squeeze(2)


def _by_token(view: SiteRows, by_token: Float[Tensor, "n k"]) -> dict[str, Tensor]:
    length = view.mask.sum(-1)
    mean = (by_token * view.mask).sum(-1) / length
    least = by_token.masked_fill(~view.mask, torch.inf).amin(-1)
    most = by_token.masked_fill(~view.mask, -torch.inf).amax(-1)
    right = (view.forward.predicted == view.forward.batch.labels)[view.example]
    return {
        "token_probability": torch.where(right, mean, torch.nan),
        "token_range": most - least,
    }


TOKEN_PROBABILITY = Experiment(
    name="token_probability",
    description="probability of the predicted class with all attention on one token",
    make=token_probability,
    paper="tutek2020",
    needs=("linear", "tokens"),
    measures={
        "token_probability": share("its mean over a text's tokens, where the text is read right"),
        "token_range": share("the largest less the smallest of a text's tokens"),
    },
    formula="mean over tokens t of p_c(z_t + b), c the predicted class",
    higher="nearly every token alone says what the text does, so attention may be anywhere",
    cost="one pass over the texts",
    limits=(
        "Only where logits are a weighted mean of the tokens' own. A text's tokens count alike, "
        "however little attention they have."
    ),
)
