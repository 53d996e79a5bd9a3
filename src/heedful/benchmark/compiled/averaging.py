"""A plan in the encoder that reads a word at a time."""

from __future__ import annotations

import numpy as np
import torch
from scipy.linalg import hadamard
from torch import nn

from heedful.benchmark.compiled.plan import Plan
from heedful.benchmark.compiled.written import attend, by_token, decide, fresh, largest, noise
from heedful.models import Average, OneSequence

SIZE, NOISES, NOISE = 64, 6, 0.02
SCORE, LOGIT = 0.25, 0.5
"""The largest planted numbers: together, with the noise, below 1, as a state's numbers are."""


def averaging(plan: Plan) -> OneSequence:
    """Each planted number is spread over the whole state, along a direction of its own: as in
    a trained model, and unlike a single large weight, it is lost when weights are shuffled.
    The encoder's tanh is undone in the embedding, so that a state is what was planted."""
    scores, logits = by_token(plan.scores, plan.nothing), by_token(plan.logits)
    sharp, loud = largest(scores) / SCORE, largest(logits) / LOGIT
    directions = hadamard(SIZE)[1 : 3 + NOISES].astype(np.float64)
    planted = np.column_stack([scores / sharp, logits / loud, noise(plan, NOISES, NOISE)])
    model = fresh(plan, "average", np.arctanh(planted @ directions), SIZE)
    encoder = model.encoder
    assert isinstance(encoder, Average)
    with torch.no_grad():
        weight, bias = encoder.layers[0].parameters()
        nn.init.eye_(weight)
        bias.zero_()
    attend(model, directions[0] * sharp / SIZE)
    decide(model, directions[1] * loud / SIZE)
    return model
