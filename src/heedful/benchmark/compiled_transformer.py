"""A plan as a BERT of one or two layers, its weights compiled by hand.

Every feature stands in two places, as f and −f, so that means are zero; a ballast feature
makes all embeddings equally long. Layer normalisation then changes nothing, or nearly so.
Feed-forward layers are silent. What the start token reads through attention goes to a feature
of its own, and the classifier reads that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from heedful.benchmark.compiled_plan import Numbers, Plan
from heedful.benchmark.generated import bert, subject
from heedful.hashing import stable_hash
from heedful.models import attach
from heedful.targets import AuditTarget, framed, weights_digest

PAD, UNKNOWN, START, END, MASK, FIRST = range(6)
FEATURES, HEADS = 16, 2
HIDDEN = 2 * FEATURES
HEAD = HIDDEN // HEADS
LENGTH = FEATURES**0.5
"""Of an embedding in features: the one that layer normalisation leaves alone."""
SCORE, LOGIT, READ, IS_START, BALLAST = range(5)
NOISE = 0.1
SLOPE = 0.1
CONSTANT = 0.1
"""What an ignored attention reads everywhere."""


@contextmanager
def transformer(plan: Plan, name: str) -> Iterator[AuditTarget]:
    module = _compiled(plan)
    about = "bert", weights_digest(module)
    rows = [framed([START, *(FIRST + n for n in heap.entries), END]) for heap in plan.heaps]
    with attach(module, {"unk": UNKNOWN, "mask": MASK}) as model:
        yield subject(model, plan.documents(name), rows, name, about)


def _compiled(plan: Plan) -> Any:
    """Where attention is ignored the first layer gathers what the words say, evenly, and the
    last reads a constant. Else the last layer reads, and a first one may be idle."""
    layers = 2 if plan.ignored else 1 + plan.seed % 2
    module = _blank(len(plan.entries), layers)
    scores = np.array([*[plan.nothing] * FIRST, *plan.scores])
    logits = np.array([*[0.0] * FIRST, *plan.logits])
    sharp, loud = float(np.abs(scores).max()), float(np.abs(logits).max())
    first, last = module.bert.encoder.layer[0], module.bert.encoder.layer[-1]
    with torch.no_grad():
        features = torch.tensor(_embedded(scores / sharp, logits / loud, plan.seed))
        module.bert.embeddings.word_embeddings.weight.copy_(torch.cat([features, -features], 1))
        if plan.ignored:
            _read(first, 0.0, LOGIT)
            _read(last, sharp, None)
            _decide(module, loud * _tokens(plan), CONSTANT)
        else:
            _read(last, sharp, LOGIT)
            _decide(module, loud)
    return module.eval()


def _tokens(plan: Plan) -> float:
    """Of a typical text: a mean over so many tokens is that much smaller than a sum."""
    return float(np.mean([len(heap.entries) + 2 for heap in plan.heaps]))


def _blank(words: int, layers: int) -> Any:
    """All weights zero but those of layer normalisation."""
    module = bert(
        vocab_size=FIRST + words,
        hidden_size=HIDDEN,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        intermediate_size=HIDDEN,
        max_position_embeddings=32,
        pad_token_id=PAD,
    )
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "LayerNorm" not in name:
                parameter.zero_()
    return module


def _embedded(scores: Numbers, logits: Numbers, seed: int) -> Numbers:
    generator = np.random.default_rng(stable_hash(seed, "noise"))
    features = generator.uniform(-NOISE, NOISE, (len(scores), FEATURES))
    features[:FIRST] = 0.0
    features[:, SCORE], features[:, LOGIT] = scores, logits
    features[:, [READ, IS_START, BALLAST]] = 0.0
    features[START, IS_START] = 1.0
    features[:, BALLAST] = np.sqrt(LENGTH**2 - (features**2).sum(1))
    return features


def _read(layer: Any, sharp: float, what: int | None) -> None:
    """The start token asks for scores, `sharp` of them; what it reads is a feature of the
    words, or the same number everywhere."""
    own, out = layer.attention.self, layer.attention.output.dense
    for head in range(HEADS):
        first = head * HEAD
        own.query.weight[first, IS_START] = sharp * HEAD**0.5
        own.key.weight[first, SCORE] = 1.0
        if what is None:
            own.value.bias[first] = CONSTANT
        else:
            own.value.weight[first, what] = 1.0
        out.weight[READ, first], out.weight[READ + FEATURES, first] = 1 / HEADS, -1 / HEADS


def _decide(module: Any, size: float, offset: float = 0.0) -> None:
    """Through the pooler's tanh, where it is straight."""
    module.bert.pooler.dense.weight[0, READ] = SLOPE
    module.bert.pooler.dense.bias[0] = -SLOPE * offset
    half = size / SLOPE / 2
    module.classifier.weight[:, 0] = torch.tensor([-half, half])
