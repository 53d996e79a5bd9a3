"""A plan as a model of one sequence: an embedding, an encoder, one attention, a linear decoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from scipy.linalg import hadamard
from torch import nn

from heedful.benchmark.compiled_plan import Numbers, Plan, Role
from heedful.benchmark.generated import LABELS, subject
from heedful.hashing import stable_hash
from heedful.models import Additive, Average, Dot, OneSequence, Recurrent, build
from heedful.specs import END, PAD, UNKNOWN, ModelSpec
from heedful.targets import AuditTarget, Row, weights_digest

FIRST = END + 1
"""The id of the lexicon's first word."""
SLOPE = 0.01


def _fresh(plan: Plan, encoder: str, vectors: Numbers, hidden: int) -> OneSequence:
    """Odd seeds attend by a dot product, even ones additively."""
    vectors[PAD] = 0.0
    attention = "dot" if plan.seed % 2 else "additive"
    spec = ModelSpec(encoder, attention, hidden=hidden)
    model = build(spec, torch.tensor(vectors, dtype=torch.float32), len(LABELS), plan.seed)
    assert isinstance(model, OneSequence)
    return model


def _attend(model: OneSequence, direction: Numbers) -> None:
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


def _decide(model: OneSequence, direction: Numbers) -> None:
    """A state's token logit is its product with this."""
    with torch.no_grad():
        model.decoder.weight[0] = torch.tensor(direction, dtype=torch.float32)
        model.decoder.bias.zero_()


def _by_token(values: Sequence[float] | Numbers, nothing: float = 0.0) -> Numbers:
    """Special tokens first, of which only the unknown word is ever met."""
    special = [0.0] * FIRST
    special[UNKNOWN] = nothing
    return np.array([*special, *values], dtype=np.float64)


def _noise(plan: Plan, columns: int, size: float) -> Numbers:
    """Numbers that nothing reads; special tokens have none."""
    generator = np.random.default_rng(stable_hash(plan.seed, "noise"))
    found: Numbers = generator.uniform(-size, size, (FIRST + len(plan.entries), columns))
    found[:FIRST] = 0.0
    return found


def _largest(values: Numbers) -> float:
    return float(np.abs(values).max())


# A plan in the encoder that reads a word at a time.


AVERAGE_SIZE, AVERAGE_NOISES, AVERAGE_NOISE = 64, 6, 0.02
LARGEST_SCORE, LARGEST_LOGIT = 0.25, 0.5
"""The largest planted numbers: together, with the noise, below 1, as a state's numbers are."""


def _averaging(plan: Plan) -> OneSequence:
    """Each planted number is spread over the whole state, along a direction of its own: as in
    a trained model, and unlike a single large weight, it is lost when weights are shuffled.
    The encoder's tanh is undone in the embedding, so that a state is what was planted."""
    scores, logits = _by_token(plan.scores, plan.nothing), _by_token(plan.logits)
    sharp, loud = _largest(scores) / LARGEST_SCORE, _largest(logits) / LARGEST_LOGIT
    directions = hadamard(AVERAGE_SIZE)[1 : 3 + AVERAGE_NOISES].astype(np.float64)
    planted = np.column_stack(
        [scores / sharp, logits / loud, _noise(plan, AVERAGE_NOISES, AVERAGE_NOISE)]
    )
    model = _fresh(plan, "average", np.arctanh(planted @ directions), AVERAGE_SIZE)
    encoder = model.encoder
    assert isinstance(encoder, Average)
    with torch.no_grad():
        weight, bias = encoder.layers[0].parameters()
        nn.init.eye_(weight)
        bias.zero_()
    _attend(model, directions[0] * sharp / AVERAGE_SIZE)
    _decide(model, directions[1] * loud / AVERAGE_SIZE)
    return model


# A plan in a bidirectional LSTM that says the same at every place: attention is ignored.
#
# Two cells remember the decisive and the counter word. Forwards they speak from the word on,
# backwards up to just before it; what both directions say together does not depend on the place.


LSTM_SIZE, LSTM_NOISE = 16, 0.1
SCORE, DECISIVE, COUNTER, IS_DECISIVE, IS_COUNTER = range(5)
CELLS = {DECISIVE: IS_DECISIVE, COUNTER: IS_COUNTER}
LSTM_LARGEST = 0.6
"""Of a score in a state: two tanh are undone in the embedding."""
OPEN = 20.0
"""Where a gate's sigmoid is 1, in single precision exactly."""


def _remembering(plan: Plan) -> OneSequence:
    scores, logits = _by_token(plan.scores, plan.nothing), _by_token(plan.logits)
    sharp = _largest(scores) / LSTM_LARGEST
    vectors, said = _noise(plan, LSTM_SIZE, LSTM_NOISE), np.zeros(2 * LSTM_SIZE)
    vectors[:, SCORE] = np.arctanh(np.arctanh(scores / sharp))
    for role, (cell, flag) in zip((Role.DECISIVE, Role.COUNTER), CELLS.items(), strict=True):
        vectors[:, flag] = _by_token([each.role is role for each in plan.entries])
        mine = logits * vectors[:, flag]
        vectors[:, cell] = np.sign(mine)
        said[[cell, cell + LSTM_SIZE]] = _largest(mine) / np.tanh(np.tanh(1.0))
    model = _fresh(plan, "bilstm", vectors, LSTM_SIZE)
    encoder = model.encoder
    assert isinstance(encoder, Recurrent)
    with torch.no_grad():
        for suffix in ("", "_reverse"):
            _remember(encoder.stack[0], suffix)
    _attend(model, sharp * np.eye(2 * LSTM_SIZE)[SCORE])
    _decide(model, said)
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
    gates, weights = bias.view(4, LSTM_SIZE), into.view(4, LSTM_SIZE, LSTM_SIZE)
    enter, forget, cell, out = range(4)
    gates[enter], gates[forget], gates[cell], gates[out] = OPEN, -OPEN, 0.0, OPEN
    gates[forget, list(CELLS)] = OPEN
    nn.init.eye_(weights[cell])
    if suffix:
        weights[out, list(CELLS), list(CELLS.values())] = -2 * OPEN


# Planted models of one sequence: an embedding, an encoder, one attention, a linear decoder.


@contextmanager
def one_sequence(plan: Plan, name: str) -> Iterator[AuditTarget]:
    """Where attention is ignored, an LSTM that carries what it read to every place; else an
    encoder that reads a word at a time."""
    model = (_remembering if plan.ignored else _averaging)(plan).eval()
    tokens = (np.array(heap.entries, dtype=np.int64) + FIRST for heap in plan.heaps)
    # every token is a word of its own
    rows = [Row(ids, np.ones(len(ids), dtype=bool), np.arange(len(ids))) for ids in tokens]
    about = "one sequence", weights_digest(model)
    yield subject(model, plan.documents(name), rows, name, about)
