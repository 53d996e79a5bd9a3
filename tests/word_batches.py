"""Tiny batches whose words have several tokens, and one family of models for each of two kinds."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from heedful.types import Batch
from tiny import tiny_batch


def grouped(lengths: tuple[int, ...] = (6, 1, 9, 3), pad: int = 0, seed: int = 0) -> Batch:
    """Tokens joined to words of one to three tokens; word 1 of the first text has no token."""
    batch = tiny_batch(lengths, seed, pad)
    return with_words(batch, gap=0)


def with_words(batch: Batch, gap: int | None = None) -> Batch:
    text = batch.texts["a"]
    words = torch.full_like(text.tokens, -1)
    for row, mask in enumerate(text.mask):
        number, left = -1, 0
        for place in mask.nonzero().flatten().tolist():
            if left == 0:
                number += 2 if number == 0 and row == gap else 1
                left = 1 + (int(text.tokens[row, place]) % 3)
            words[row, place] = number
            left -= 1
    return replace(batch, texts={"a": replace(text, words=words)})


def random_sets(batch: Batch, many: int, width: int, seed: int = 0) -> Tensor:
    """Random sets of words to remove, the last one everything, the first one nothing."""
    generator = torch.Generator().manual_seed(seed)
    gone = torch.rand(len(batch), many, width, generator=generator) < 0.4
    gone[:, 0], gone[:, -1] = False, True
    return gone
