"""A model that counts what it is shown, and may run out of memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from heedful.types import Batch


class Counting:
    """A model that says what it was shown; it may have room for so many tokens only."""

    def __init__(self, model: Any, room: int = 10**9) -> None:
        self.model, self.room, self.shapes = model, room, Counter[tuple[int, int]]()
        self.sites, self.fillers = model.sites, model.fillers
        self.embed, self.resume, self.leave_one_out_logits = (
            model.embed,
            model.resume,
            model.leave_one_out_logits,
        )
        self.refused = 0

    def __call__(self, batch: Batch, *rest: Any, **options: Any) -> Any:
        tokens = batch.texts["a"].tokens
        if tokens.numel() > self.room:
            self.refused += 1
            raise torch.OutOfMemoryError("no room")
        self.shapes[tuple(tokens.shape)] += 1
        return self.model(batch, *rest, **options)

    @property
    def rows(self) -> int:
        return sum(rows * times for (rows, _), times in self.shapes.items())
