"""Erasure of one explanation, or of several, in one call; and a quantity that adds up."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.experiments import Curves, curves_of, faithfulness
from heedful.models import class_logits, probability
from heedful.perturbations import WordRemoval
from heedful.types import Batch, Model, Target


def curves(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    scores: Float[Tensor, "b w"],
    operator: str,
) -> Curves:
    return curves_of(WordRemoval(model, batch, label, operator), {"": scores})[""]


def erasure_of(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    explanations: Mapping[str, Float[Tensor, "b w"]],
    operator: str,
    target: Target = probability,
) -> dict[str, dict[str, Float[Tensor, " b"]]]:
    found = curves_of(WordRemoval(model, batch, label, operator, target), explanations)
    return {name: faithfulness(each) for name, each in found.items()}


def log_odds(logits: Float[Tensor, "b c"], label: Int[Tensor, " b"]) -> Float[Tensor, " b"]:
    """log p − log(1 − p) of the class, from the logits: those of a bag of words fall by exactly
    the weights of what is removed."""
    scores = class_logits(logits)
    own = scores.gather(1, label[:, None])
    others = scores.scatter(1, label[:, None], -torch.inf)
    return own.squeeze(1) - others.logsumexp(-1)
