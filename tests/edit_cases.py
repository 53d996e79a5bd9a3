"""Every edit of the catalogue with parameters that suit any call: the conformance cases."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from heedful.interventions import build_edit
from heedful.types import Edit, EditSpec, SiteCall

CASES = ("uniform", "random", "permute", "erase", "erase-positions", "frozen", "custom", "detach")


def edit_case(name: str, allowed: Mapping[str, Tensor]) -> Edit:
    """`allowed[id]` marks the key positions some query may attend, without padding."""
    params: dict[str, object] = {
        "random": {"seed": 3},
        "permute": {"seed": 3},
        "erase": {"top": 1},
        "erase-positions": {"positions": {i: m.nonzero()[:2, 0] for i, m in allowed.items()}},
        "frozen": {"weights": {i: _weights(int(m.sum())) for i, m in allowed.items()}},
        "custom": {"function": sharpened},
    }.get(name, {})  # type: ignore[assignment]
    if name == "erase-positions":
        params["positions"] = {i: p.tolist() for i, p in params["positions"].items()}  # type: ignore[attr-defined]
    return build_edit(EditSpec(name.split("-")[0], tuple(params.items())))


def sharpened(call: SiteCall) -> Tensor:
    powers = call.weights**2 * call.mask
    return powers / powers.sum(-1, keepdim=True).clamp_min(torch.finfo(powers.dtype).tiny)


def _weights(size: int) -> Tensor:
    weights = torch.arange(1, size + 1, dtype=torch.float64)
    return weights / weights.sum()
