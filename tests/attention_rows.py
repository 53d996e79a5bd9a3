"""A pass made by hand: attention and token logits as given, no model behind them."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.experiments import ForwardBatch
from heedful.types import Batch, SiteSpec, Text, TokenLogits, Trace
from tiny import tiny_model

SITE = SiteSpec("attention", "a", "tokens", True)


def hand_made(
    weights: list[list[float]], z: list[list[list[float]]], bias: list[float]
) -> ForwardBatch:
    """Rows of equal length, with a masked position after the last item; the model is there
    for its type only."""
    alpha = torch.nn.functional.pad(torch.tensor(weights).double(), (0, 1))
    values = torch.nn.functional.pad(torch.tensor(z).double(), (0, 0, 0, 1))
    b, k = alpha.shape
    mask = (torch.arange(k) < k - 1).expand(b, k)
    logits: Tensor = torch.einsum("bk,bkc->bc", alpha, values) + torch.tensor(bias).double()
    trace = Trace(
        logits=logits,
        weights={"attention": alpha[:, None, None]},
        masks={"attention": mask[:, None, None]},
        token_logits={"attention": TokenLogits(values, torch.tensor(bias).double())},
        readout_weights={"attention": torch.ones(b, 1)},
    )
    text = Text(mask.long(), mask.sum(-1) + 1, mask)
    ids = tuple(f"text-{i}" for i in range(b))
    return ForwardBatch(
        tiny_model(), Batch(ids, {"a": text}, torch.zeros(b, dtype=torch.int64)), trace
    )
