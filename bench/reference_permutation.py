"""jain2019, experiment 4: the median change of the output over 100 permutations."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.reference_forward import Kept
from heedful.models import OneSequence

PERMUTATIONS = 100


def permutation(model: OneSequence, kept: list[Kept]) -> dict[str, float]:
    """Median TVD by example."""
    device = next(model.parameters()).device
    generator = torch.Generator(device).manual_seed(0)
    found: dict[str, float] = {}
    with torch.no_grad():
        for each in kept:
            medians = _medians(model, each, generator)
            found |= dict(zip(each.batch.ids, medians.tolist(), strict=True))
    return found


def _medians(model: OneSequence, each: Kept, generator: torch.Generator) -> Tensor:
    # without the start token the real tokens come first in every row
    mask, attention = each.batch.texts["a"].mask[:, 1:], each.attention[:, 1:]
    states = each.states[:, 1:]
    moved = []
    for _ in range(PERMUTATIONS):
        draw = torch.rand(mask.shape, generator=generator, device=mask.device)
        order = draw.masked_fill(~mask, 2.0).argsort(-1)
        context = torch.einsum("bt,btd->bd", attention.gather(1, order), states)
        moved.append((torch.sigmoid(model.decoder(context)[:, 0]) - each.p).abs())
    return torch.stack(moved).quantile(0.5, dim=0)
