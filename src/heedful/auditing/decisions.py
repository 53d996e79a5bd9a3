"""What an audit explains: the labels that a model gives to a batch of texts."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor

from heedful.types import Batch, Model


@dataclass(frozen=True)
class Decisions:
    model: Model
    batch: Batch
    label: Int[Tensor, " b"]
