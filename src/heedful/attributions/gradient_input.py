"""Gradient × input: the derivative by the token's one-hot vector (bastings2020)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.gradient import differentiable, embedding_gradient
from heedful.entries import ANY, Attribution
from heedful.models import probability
from heedful.types import Batch, Model, Target, Trace


def gradient_input(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    through_attention: bool = True,
    magnitude: bool = False,
    trace: Trace | None = None,
) -> Float[Tensor, "b t"]:
    """Σ_d ∂f/∂e_td · e_td; zero where no token is.

    jain2019's own (experiment 1) has attention detached and the magnitude taken. A
    `differentiable` trace of the batch saves making it again.
    """
    trace = trace or differentiable(model, batch, through_attention)
    slopes, embedded = embedding_gradient(trace, target, label)
    scores = (slopes * embedded).sum(-1, dtype=torch.float64) * batch.texts["a"].mask
    return scores.abs() if magnitude else scores


ENTRY = Attribution(
    name="gradient_input",
    description="gradient times input; jain2019 detaches attention and takes the magnitude",
    make=gradient_input,
    uses=(),
    version=2,
    paper="bastings2020",
    signed=True,
    formula="Σ_d ∂f/∂e_td · e_td",
    range=ANY,
    higher="the token speaks more for the class, to first order; below 0 against it",
    cost="one forward and one backward pass",
    limits=(
        "A first-order guess from the token down to a zero vector: where the model saturates it "
        "is near 0 for what matters most."
    ),
)
