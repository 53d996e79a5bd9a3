"""An alignment score taken apart: the numbers it is the sum of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from heedful.models import (
    ENTMAX,
    GIVEN,
    SIGMOID,
    SOFTMAX,
    SPARSEMAX,
    Additive,
    AdditiveQuery,
    Attention,
    Dot,
    DotQuery,
)

WEIGHTINGS = {
    SOFTMAX: "softmax",
    SPARSEMAX: "sparsemax",
    ENTMAX: "1.5-entmax",
    SIGMOID: "sigmoid",
    GIVEN: "gate",
}


@dataclass(frozen=True)
class Terms:
    """`numbers` of a key sum to its score."""

    formula: str
    numbers: Float[Tensor, "k f"]


def terms(
    attention: Attention, states: Float[Tensor, "k d"], query: Float[Tensor, " d"] | None
) -> Terms | None:
    """None where a score is no sum (a gate drawn from its shapes)."""
    if isinstance(attention, Additive):
        inner = attention.project(states)
        return Terms("v · tanh(W h + b)", _times(inner, attention.score))
    if isinstance(attention, Dot):
        divided = "" if attention.scale == 1 else " / √d"
        products = states.double() * attention.query / attention.scale
        return Terms(f"q · h{divided}, with a learned q", products)
    if isinstance(attention, AdditiveQuery) and query is not None:
        inner = attention.project(states) + attention.project_query(query)
        return Terms("v · tanh(W h + U q + b)", _times(inner, attention.score))
    if isinstance(attention, DotQuery) and query is not None:
        return Terms("q · h / √d", states.double() * query / attention.scale)
    return None


def weighting_name(attention: Attention) -> str:
    return WEIGHTINGS.get(attention.weighting, "its own function")


def _times(inner: Tensor, score: nn.Linear) -> Tensor:
    """v_j · tanh(…)_j, whose sum over j is the score."""
    return torch.tanh(inner.double()) * score.weight[0].double()
