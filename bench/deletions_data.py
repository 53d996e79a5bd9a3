"""Random models by encoder, and random texts of any length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from bench.packed import packed
from bench.setting import Setting
from heedful.models import attach, build
from heedful.specs import ModelSpec
from heedful.types import Batch, Model, Text

VOCABULARY, EMBEDDING, LONGEST = 5000, 300, 2002
START, END, FIRST = 2, 3, 4


@contextmanager
def models(encoder: str, setting: Setting) -> Iterator[tuple[Model, Model]]:
    """Ours, and the same weights for the naive way: an LSTM packed, as the papers have it."""
    if encoder == "bert":
        with attach(_bert().to(setting.device), {"unk": 1}) as model:
            yield model, model
        return
    vectors = torch.randn(VOCABULARY, EMBEDDING, generator=torch.Generator().manual_seed(0))
    built: Any = build(ModelSpec(encoder, "additive"), vectors, 2, seed=0)
    built = built.to(setting.device).eval()
    yield built, packed(built)


def text_of(length: int) -> Batch:
    generator = torch.Generator().manual_seed(length)
    words = torch.randint(FIRST, VOCABULARY, (length,), generator=generator)
    return batch_of(torch.cat([torch.tensor([START]), words, torch.tensor([END])])[None])


def batch_of(tokens: Tensor) -> Batch:
    """Texts of one length between start and end."""
    lengths = torch.full((len(tokens),), tokens.shape[1], device=tokens.device)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[:, [0, -1]] = False
    ids = tuple(map(str, range(len(tokens))))
    return Batch(ids, {"a": Text(tokens, lengths, mask)}, torch.zeros_like(lengths))


def _bert() -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=256,
        max_position_embeddings=LONGEST,
    )
    return transformers.BertForSequenceClassification(config).eval()
