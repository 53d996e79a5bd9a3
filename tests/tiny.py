"""Models and batches so small that every number can be worked out a second way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from torch import Tensor

from heedful.data import Side, Split
from heedful.models import ATTENTIONS, ENCODERS, OneSequence, build
from heedful.specs import ModelSpec
from heedful.types import Batch, Keep, Text, Trace

WORDS, EMBEDDING, HIDDEN = 40, 5, 8
START, END = 2, 3
# Additive attention up to its weights: few encoders are enough to see it. Gates that are 0 or 1
# have no slopes to compare; `hard` and `entmax` are in test_models_sparse, `structured` apart.
FEW = {
    "plain_dot": ("bilstm",),
    "narrow_dot": (),  # `dot` with another start
    "unit_dot": ("bilstm", "none"),
    "gate": ("bilstm", "none"),
    "sparsemax": ("bilstm",),
    "entmax": (),
    "structured": (),
    "hard": (),
}
FAMILIES = [
    (encoder, attention)
    for encoder, attention in product(ENCODERS, ATTENTIONS)
    if encoder in FEW.get(attention, ENCODERS)
]


def tiny_model(
    encoder: str = "bilstm",
    attention: str = "additive",
    classes: int = 2,
    layers: int = 1,
    double: bool = False,
    seed: int = 0,
) -> OneSequence:
    """Weights larger than a fresh model's, so that attention is uneven and outputs differ."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(WORDS, EMBEDDING, generator=generator)
    spec = ModelSpec(encoder, attention, layers, hidden=HIDDEN)
    model = build(spec, vectors, classes, seed)
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter *= 1.5
        for parameter in model.attention.parameters():
            parameter *= 3
        model.decoder.weight *= 4
    return (model.double() if double else model).eval()


def tiny_batch(lengths: Iterable[int], seed: int = 0, pad: int = 0, classes: int = 2) -> Batch:
    """Texts of so many real tokens between start and end, with `pad` columns of extra padding.

    No token occurs twice in a text: repeated neighbours tie where one is left out."""
    generator = np.random.default_rng(seed)
    rows = [[START, *generator.permutation(np.arange(4, WORDS))[:n].tolist(), END] for n in lengths]
    labels = generator.integers(0, classes, len(rows)).tolist()
    return batch_of(rows, tuple(f"text-{i}" for i in range(len(rows))), labels, pad)


def batch_of(rows: list[list[int]], ids: tuple[str, ...], labels: list[int], pad: int) -> Batch:
    width = max(len(row) for row in rows) + pad
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    sizes = torch.tensor([len(row) for row in rows])
    place = torch.arange(width)
    mask = (place > 0) & (place < sizes[:, None] - 1)
    return Batch(ids, {"a": Text(tokens, sizes, mask)}, torch.tensor(labels))


def rows_of(batch: Batch) -> list[list[int]]:
    text = batch.texts["a"]
    return [row[:n].tolist() for row, n in zip(text.tokens, text.lengths, strict=True)]


def pick(batch: Batch, chosen: Iterable[int], pad: int = 0) -> Batch:
    """Some of the texts, in that order, padded only as far as they need."""
    chosen, rows = list(chosen), rows_of(batch)
    labels = [int(batch.labels[i]) for i in chosen]
    return batch_of([rows[i] for i in chosen], tuple(batch.ids[i] for i in chosen), labels, pad)


def padded_and_alone(model: OneSequence, batch: Batch) -> tuple[Trace, Trace]:
    """Passes of a batch and of its fourth text by itself, with other padding: the logits are those
    of the weighted token logits, and padding changes nothing."""
    trace = model(batch, keep=Keep(token_logits=True))
    linear = trace.token_logits["attention"]
    product = (trace.weights["attention"][:, 0] @ linear.values)[:, 0] + linear.bias
    torch.testing.assert_close(product, trace.logits, atol=1e-12, rtol=0)
    alone = model(pick(batch, [3], pad=4))
    torch.testing.assert_close(alone.logits[0], trace.logits[3], atol=1e-12, rtol=0)
    return trace, alone


def without(batch: Batch, example: int, position: int) -> Batch:
    """One text of the batch with one token deleted."""
    one = pick(batch, [example])
    row = rows_of(one)[0]
    return batch_of([row[:position] + row[position + 1 :]], one.ids, [0], 0)


def real_positions(batch: Batch) -> list[tuple[int, int]]:
    """Every (example, position) that may be attended."""
    return [(example, place) for example, place in batch.texts["a"].mask.nonzero().tolist()]


def tiny_split(lengths: Iterable[int], seed: int = 0, classes: int = 2) -> Split:
    """The same texts as a split, for probes."""
    batch = tiny_batch(lengths, seed, classes=classes)
    tokens = [np.array(row, dtype=np.int32) for row in rows_of(batch)]
    nothing = [np.zeros(len(row) - 2, dtype=np.int32) for row in tokens]
    one_sentence = [np.zeros(len(row) - 2, dtype=np.int32) for row in tokens]
    side = Side(tokens, [""] * len(tokens), nothing, nothing, [None] * len(tokens), one_sentence)
    return Split(batch.ids, batch.labels, {"a": side})


def crop(values: Tensor, like: Tensor) -> Tensor:
    """The first columns of a padded result, as many as another one has."""
    assert not values[..., like.shape[-1] :].any()
    return values[..., : like.shape[-1]]


def with_mask(batch: Batch, mask: Tensor) -> Batch:
    text = batch.texts["a"]
    return replace(batch, texts={"a": Text(text.tokens, text.lengths, mask)})
