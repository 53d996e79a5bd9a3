"""Texts of mixed length and one BERT-shaped classifier, for Heedful and Captum alike."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from heedful.types import Batch, Text

PAD, UNKNOWN, START, END, MASK, FIRST = 0, 100, 101, 102, 103, 1000  # BERT's own numbers
FILLERS = {"unk": UNKNOWN, "mask": MASK}


@dataclass(frozen=True)
class Size:
    """`batch` texts of like length go together, where a method takes several at once."""

    texts: int
    longest: int
    batch: int
    repeats: int


FULL, QUICK = Size(96, 40, 16, 3), Size(8, 12, 4, 1)
FEW, QUICK_FEW = Size(16, 40, 16, 3), Size(4, 10, 4, 1)  # for what asks hundreds of times a text


def classifier(quick: bool) -> tuple[Any, str]:
    """A random BERT as small as its smallest useful relatives (for a smoke run, smaller)."""
    import transformers

    torch.manual_seed(0)
    layers, width = (2, 32) if quick else (4, 256)
    config = transformers.BertConfig(
        vocab_size=FIRST + 1000,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=4 * width,
        initializer_range=0.12,
    )
    model = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.normal_(0, 0.1)  # an output that words move, and do not saturate
    return model.eval(), f"BERT of {layers} layers of {width}"


def plain(model: Any) -> Any:
    """A copy that attends as transformers would on its own."""
    other = copy.deepcopy(model)
    other.set_attn_implementation("sdpa")
    return other.eval()


def texts(size: Size, vocabulary: int) -> Batch:
    """Random tokens, most words of one token, a third of two."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(4, size.longest + 1, size.texts)
    rows = [generator.integers(FIRST, vocabulary, n) for n in lengths]
    width = int(lengths.max()) + 2
    tokens = torch.full((size.texts, width), PAD)
    words = torch.full((size.texts, width), -1)
    for row, content in enumerate(rows):
        n = len(content)
        tokens[row, : n + 2] = torch.tensor([START, *content.tolist(), END])
        begins = generator.random(n) > 0.25
        begins[0] = True
        words[row, 1 : n + 1] = torch.from_numpy(begins.cumsum() - 1)
    ids = tuple(f"text-{row}" for row in range(size.texts))
    text = Text(tokens, torch.from_numpy(lengths + 2), words >= 0, words)
    return Batch(ids, {"a": text}, torch.zeros(size.texts, dtype=torch.long))


def batches(batch: Batch, size: int) -> Iterator[Batch]:
    """Texts of like length together; one at a time where `size` is 1."""
    for rows in batch.texts["a"].lengths.argsort(stable=True).split(size):
        yield batch.take(rows)
