"""What planted one-sequence models have in common: weights are written, not learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from heedful.benchmark.compiled.plan import Numbers, Plan
from heedful.benchmark.compiled.texts import LABELS
from heedful.models import Additive, Dot, OneSequence, build
from heedful.randomness import stable_hash
from heedful.specs import END, PAD, UNKNOWN, ModelSpec

FIRST = END + 1
"""The id of the lexicon's first word."""
SLOPE = 0.01


def fresh(plan: Plan, encoder: str, vectors: Numbers, hidden: int) -> OneSequence:
    """Odd seeds attend by a dot product, even ones additively."""
    vectors[PAD] = 0.0
    attention = "dot" if plan.seed % 2 else "additive"
    spec = ModelSpec(encoder, attention, hidden=hidden)
    model = build(spec, torch.tensor(vectors, dtype=torch.float32), len(LABELS), plan.seed)
    assert isinstance(model, OneSequence)
    return model


def attend(model: OneSequence, direction: Numbers) -> None:
    """A state's score is its product with this."""
    attention, known = model.attention, torch.tensor(direction, dtype=torch.float32)
    with torch.no_grad():
        for each in attention.parameters():
            each.zero_()
        if isinstance(attention, Dot):
            attention.query.copy_(known * len(known) ** 0.5)
        elif isinstance(attention, Additive):  # a small slope, where tanh is straight
            attention.project.weight[0] = SLOPE * known
            attention.score.weight[0, 0] = 1 / SLOPE


def decide(model: OneSequence, direction: Numbers) -> None:
    """A state's token logit is its product with this."""
    with torch.no_grad():
        model.decoder.weight[0] = torch.tensor(direction, dtype=torch.float32)
        model.decoder.bias.zero_()


def by_token(values: Sequence[float] | Numbers, nothing: float = 0.0) -> Numbers:
    """Special tokens first, of which only the unknown word is ever met."""
    special = [0.0] * FIRST
    special[UNKNOWN] = nothing
    return np.array([*special, *values], dtype=np.float64)


def noise(plan: Plan, columns: int, size: float) -> Numbers:
    """Numbers that nothing reads; special tokens have none."""
    generator = np.random.default_rng(stable_hash(plan.seed, "noise"))
    found: Numbers = generator.uniform(-size, size, (FIRST + len(plan.entries), columns))
    found[:FIRST] = 0.0
    return found


def largest(values: Numbers) -> float:
    return float(np.abs(values).max())
