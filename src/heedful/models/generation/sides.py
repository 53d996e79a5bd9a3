"""What generating families ask of a batch's two sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from heedful.types import Batch, Embeddings, Keep, Text


def embedded_sides(
    tables: Mapping[str, Callable[[Tensor], Tensor]],
    batch: Batch,
    keep: Keep,
    given: Embeddings | None,
) -> dict[str, Tensor]:
    """Embeddings by side: those given, else the tokens' own, which a pass that keeps them
    leaves as the beginning of the graph."""
    leaves = given is None and keep.embeddings and torch.is_grad_enabled()
    out = {}
    for side, table in tables.items():
        own = given[side] if given and side in given else table(batch.texts[side].tokens)
        out[side] = own.detach().requires_grad_() if leaves else own
    return out


def present(text: Text) -> Bool[Tensor, "b t"]:
    """What is not padding, start and end among it."""
    place = torch.arange(text.tokens.shape[1], device=text.tokens.device)
    return place < text.lengths[:, None]


def last_given(text: Text, dtype: torch.dtype) -> Float[Tensor, "b t"]:
    """1 at the last token of each target: the query its next word is read from."""
    place = torch.arange(text.tokens.shape[1], device=text.tokens.device)
    return (place == text.lengths[:, None] - 1).to(dtype)
