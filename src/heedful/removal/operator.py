"""What a removal operator is: from a batch and its unwanted tokens to what the model is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from jaxtyping import Bool
from torch import Tensor

from heedful.types import Batch, Embeddings, Model, Text


@dataclass(frozen=True)
class Removed:
    """What the model is shown; `embeddings` where token ids cannot say it."""

    batch: Batch
    embeddings: Embeddings | None = None


@dataclass(frozen=True)
class Operator:
    """`apply(model, batch, gone[b, t])`; texts that get shorter are worth sorting by length."""

    name: str
    apply: Callable[[Model, Batch, Bool[Tensor, "b t"]], Removed]
    shortens: bool = False


def with_text(batch: Batch, text: Text) -> Batch:
    """The batch with another side `a`."""
    return replace(batch, texts={**batch.texts, "a": text})
