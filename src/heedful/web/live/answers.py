"""Probabilities as a page needs them: the classes that matter, by name."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from heedful.metrics import tvd

MOST = 10


def answer(
    names: tuple[str, ...], p: Float[Tensor, " c"], before: Float[Tensor, " c"] | None = None
) -> dict[str, Any]:
    """The likeliest classes in the model's order, of now or of before; `moved` is the total
    variation distance between the two."""
    was = p if before is None else before
    top = torch.maximum(p, was).topk(min(MOST, len(p))).indices.sort().values.tolist()
    classes = [
        {"name": name_of(names, i), "probability": float(p[i]), "before": float(was[i])}
        for i in top
    ]
    return {
        "predicted": name_of(names, int(p.argmax())),
        "predicted_before": name_of(names, int(was.argmax())),
        "classes": classes,
        "of_classes": len(p),
        "moved": float(tvd(p[None], was[None])[0]),
    }


def name_of(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else str(index)
