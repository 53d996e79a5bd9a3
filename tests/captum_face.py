"""Any of our models as Captum wants it: tensors in, one number per example out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from heedful.types import Batch, Target


def from_embedded(model: Any, batch: Batch, target: Target) -> Callable[[Tensor, Tensor], Tensor]:
    """`(embeddings, row numbers)`: Captum repeats the numbers as it repeats the texts."""

    def forward(embedded: Tensor, rows: Tensor) -> Tensor:
        some = batch.take(rows)
        width = some.texts["a"].tokens.shape[1]
        logits = model(some, embeddings={"a": embedded[:, :width]}).logits
        return target(logits, batch.labels[rows])

    return forward


def from_tokens(model: Any, batch: Batch, target: Target) -> Callable[[Tensor, Tensor], Tensor]:
    """`(token ids, row numbers)`."""

    def forward(tokens: Tensor, rows: Tensor) -> Tensor:
        some = batch.take(rows)
        text = some.texts["a"]
        shown = replace(text, tokens=tokens[:, : text.tokens.shape[1]])
        logits = model(replace(some, texts={"a": shown})).logits
        return target(logits, batch.labels[rows])

    return forward
