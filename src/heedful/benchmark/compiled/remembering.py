"""A plan in a bidirectional LSTM that says the same at every place: attention is ignored.

Two cells remember the decisive and the counter word. Forwards they speak from the word on,
backwards up to just before it; what both directions say together does not depend on the place.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from heedful.benchmark.compiled.lexicon import Role
from heedful.benchmark.compiled.plan import Plan
from heedful.benchmark.compiled.written import attend, by_token, decide, fresh, largest, noise
from heedful.models import OneSequence, Recurrent

SIZE, NOISE = 16, 0.1
SCORE, DECISIVE, COUNTER, IS_DECISIVE, IS_COUNTER = range(5)
CELLS = {DECISIVE: IS_DECISIVE, COUNTER: IS_COUNTER}
LARGEST = 0.6
"""Of a score in a state: two tanh are undone in the embedding."""
OPEN = 20.0
"""Where a gate's sigmoid is 1, in single precision exactly."""


def remembering(plan: Plan) -> OneSequence:
    scores, logits = by_token(plan.scores, plan.nothing), by_token(plan.logits)
    sharp = largest(scores) / LARGEST
    vectors, said = noise(plan, SIZE, NOISE), np.zeros(2 * SIZE)
    vectors[:, SCORE] = np.arctanh(np.arctanh(scores / sharp))
    for role, (cell, flag) in zip((Role.DECISIVE, Role.COUNTER), CELLS.items(), strict=True):
        vectors[:, flag] = by_token([each.role is role for each in plan.entries])
        mine = logits * vectors[:, flag]
        vectors[:, cell] = np.sign(mine)
        said[[cell, cell + SIZE]] = largest(mine) / np.tanh(np.tanh(1.0))
    model = fresh(plan, "bilstm", vectors, SIZE)
    encoder = model.encoder
    assert isinstance(encoder, Recurrent)
    with torch.no_grad():
        for suffix in ("", "_reverse"):
            _remember(encoder.stack[0], suffix)
    attend(model, sharp * np.eye(2 * SIZE)[SCORE])
    decide(model, said)
    return model


def _remember(layer: nn.Module, suffix: str) -> None:
    """Most cells forget at once and show the word they stand at; two never forget, and
    backwards they are silent at a word of their own."""
    into, back, bias, other = (
        getattr(layer, f"{name}_l0{suffix}")
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    for each in (into, back, other):
        each.zero_()
    gates, weights = bias.view(4, SIZE), into.view(4, SIZE, SIZE)
    enter, forget, cell, out = range(4)
    gates[enter], gates[forget], gates[cell], gates[out] = OPEN, -OPEN, 0.0, OPEN
    gates[forget, list(CELLS)] = OPEN
    nn.init.eye_(weights[cell])
    if suffix:
        weights[out, list(CELLS), list(CELLS.values())] = -2 * OPEN
