"""Writing models and pairs of texts so small that every number can be worked out again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heedful.models import Writer, build
from heedful.specs import END, START, ModelSpec
from heedful.types import Batch, Text

WORDS, WIDTH, HIDDEN = 12, 8, 8
SPECS = {
    "additive": ModelSpec(family="seq2seq", attention="additive", hidden=HIDDEN),
    "dot": ModelSpec(family="seq2seq", attention="dot", hidden=HIDDEN),
    "general2": ModelSpec(family="seq2seq", attention="general", hidden=HIDDEN, layers=2),
    "additive2": ModelSpec(family="seq2seq", attention="additive", hidden=12, layers=2),
    "prenorm": ModelSpec("prenorm", "dot", 2, hidden=HIDDEN, family="transformer"),
    "postnorm": ModelSpec("postnorm", "dot", 2, hidden=12, family="transformer"),
}
"""Among them models whose width is not the embedding's."""


def tiny_writer(name: str, seed: int = 0, words: int = WORDS) -> Writer:
    """In double precision; weights larger than a fresh model's, so that attention is uneven."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(words, WIDTH, generator=generator)
    model = build(SPECS[name], vectors, words, seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.5
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    assert isinstance(model, Writer)
    return model.double().eval()


def tiny_pairs(
    sources: Iterable[int], targets: Iterable[int], seed: int = 0, pad: int = 0, words: int = WORDS
) -> Batch:
    """Pairs of so many real tokens each, with `pad` columns of extra padding."""
    generator = np.random.default_rng(seed)
    sides = [
        [[START, *generator.integers(4, words, n).tolist(), END] for n in lengths]
        for lengths in (list(sources), list(targets))
    ]
    return pairs_of(*sides, pad=pad)


def pairs_of(
    sources: list[list[int]], targets: list[list[int]], pad: int = 0, first: int = 0
) -> Batch:
    ids = tuple(f"pair-{first + i}" for i in range(len(sources)))
    texts = {"a": _text(sources, pad), "b": _text(targets, pad)}
    return Batch(ids, texts, torch.zeros(len(ids), dtype=torch.int64))


def one_pair(batch: Batch, example: int) -> Batch:
    rows = {side: rows_of(batch, side)[example] for side in "ab"}
    return pairs_of([rows["a"]], [rows["b"]], first=example)


def rows_of(batch: Batch, side: str) -> list[list[int]]:
    text = batch.texts[side]
    return [row[:n].tolist() for row, n in zip(text.tokens, text.lengths, strict=True)]


def parameters_of(model: torch.nn.Module) -> dict[str, Any]:
    return {name: value.tolist() for name, value in model.state_dict().items()}


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, atol=1e-9, rtol=0)


def _text(rows: list[list[int]], pad: int) -> Text:
    width = max(map(len, rows)) + pad
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    place = torch.arange(width)
    ended = torch.tensor([int(row[-1] == END) for row in rows])
    mask = (place > 0) & (place < (lengths - ended)[:, None])
    return Text(tokens, lengths, mask)
