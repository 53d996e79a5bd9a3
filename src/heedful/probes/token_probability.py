"""What each token alone would have the model say (tutek2020, §5).

After a linear site the logits are a weighted mean of token logits, so each state has a
prediction of its own: as if all attention were on it. Where almost every token says what the
whole text does, attention may be anywhere, and its weights tell nothing about the decision.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.catalogue import SHARE, Measure, Piece
from heedful.models import probabilities
from heedful.probes.collect import Collector
from heedful.probes.evidence import Evidence, Findings, Pass
from heedful.types import AttentionRows, SiteSpec


def token_probability(evidence: Evidence) -> Findings:
    """The mean over a text's tokens, undefined where the prediction is wrong, as the paper has
    it. It does not say whether texts or tokens count alike in the average: texts do here."""
    collector = Collector(evidence.data.ids)
    for each in evidence.passes("token_probability"):
        for site in evidence.sites:
            view = each.rows(site)
            by_token = predicted_by_token(each, site, view)
            found = _measures(each, view, by_token)
            collector.add(each, site, view, found)
            maps = {"token_probability": by_token, "attention": view.weights}
            collector.add_maps(each, site, view, maps)
    return Findings(collector.rows(), collector.maps())


def predicted_by_token(each: Pass, site: SiteSpec, view: AttentionRows) -> Float[Tensor, "n k"]:
    """The probability of the predicted class with all attention on one token."""
    linear = each.trace.token_logits[site.name]
    p = probabilities(linear.values + linear.bias)[view.example]
    label = each.predicted[view.example][:, None, None].expand(-1, p.shape[1], 1)
    return p.gather(2, label).squeeze(2)


def _measures(each: Pass, view: AttentionRows, by_token: Float[Tensor, "n k"]) -> dict[str, Tensor]:
    length = view.mask.sum(-1)
    mean = (by_token * view.mask).sum(-1) / length
    least = by_token.masked_fill(~view.mask, torch.inf).amin(-1)
    most = by_token.masked_fill(~view.mask, -torch.inf).amax(-1)
    right = (each.predicted == each.batch.labels)[view.example]
    return {
        "token_probability": torch.where(right, mean, torch.nan),
        "token_range": most - least,
    }


PIECE = Piece(
    name="token_probability",
    description="probability of the predicted class with all attention on one token",
    make=token_probability,
    paper="tutek2020",
    needs=("linear", "tokens"),
    measures={
        "token_probability": Measure(
            "its mean over a text's tokens, where the text is read right", range=SHARE
        ),
        "token_range": Measure("the largest less the smallest of a text's tokens", range=SHARE),
    },
    formula="mean over tokens t of p_c(z_t + b), c the predicted class",
    higher="nearly every token alone says what the text does, so attention may be anywhere",
    cost="one pass over the texts",
    limits=(
        "Only where logits are a weighted mean of the tokens' own. A text's tokens count alike, "
        "however little attention they have."
    ),
)
