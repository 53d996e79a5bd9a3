"""SmoothGrad: the gradient averaged over noisy copies of the embeddings (smilkov2017)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.gradient import gradient_at
from heedful.entries import NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.perturbations import chunked
from heedful.randomness import example_keys, keyed_normal
from heedful.types import Batch, Model, Target


def smoothgrad(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    samples: int = 16,
    noise: float = 0.15,
    norm: int = 2,
    seed: int = 0,
) -> Float[Tensor, "b t"]:
    """‖mean gradient‖ at each token, L1 or L2.

    The noise is normal, as wide as `noise` times the range of the text's embeddings (the
    paper's σ/(max − min)), and reaches tokens of the text only.
    """
    if samples < 1 or noise < 0 or norm not in (1, 2):
        raise HeedfulError("smoothgrad wants samples above 0, noise of 0 or more, norm 1 or 2.")
    text, embedded = batch.texts["a"], model.embed(batch)["a"]
    keys = [example_keys(seed, batch.ids, "smoothgrad", draw) for draw in range(samples)]
    key = torch.stack(keys, 1).flatten().to(embedded.device)
    scale = noise * _range(embedded, text.mask)[:, None, None] * text.mask[..., None]

    def work(rows: Tensor) -> Tensor:
        chosen = rows // samples
        some = batch.take(chosen)
        at = embedded[chosen, : some.texts["a"].tokens.shape[1]]
        drawn = keyed_normal(key[rows], (at.shape[1], at.shape[2])).to(at.dtype)
        at = at + scale[chosen, : at.shape[1]] * drawn
        return gradient_at(model, some, at, label[chosen], target)[1]

    total = torch.zeros_like(embedded, dtype=torch.float64)
    for rows, slopes in chunked(work, text.lengths.repeat_interleave(samples)):
        total[:, : slopes.shape[1]].index_add_(0, rows // samples, slopes.double())
    scores: Tensor = (total / samples).norm(p=norm, dim=-1) * text.mask
    return scores


def _range(embedded: Tensor, mask: Tensor) -> Tensor:
    """The largest less the smallest number in each text's embeddings; 0 without tokens."""
    inside = mask[..., None]
    high = embedded.masked_fill(~inside, float("-inf")).amax((1, 2))
    low = embedded.masked_fill(~inside, float("inf")).amin((1, 2))
    return torch.where(mask.any(-1), high - low, 0.0)


ENTRY = Attribution(
    name="smoothgrad",
    description="norm of the gradient averaged over noisy embeddings; attention is not detached",
    make=smoothgrad,
    uses=(),
    signed=False,
    bounds={"samples": (1, 10_000), "noise": NOT_NEGATIVE, "norm": (1, 2)},
    paper="smilkov2017",
    formula="‖(1/m) Σ_i ∂f/∂e_t at e + noise_i‖₂, m = 16",
    range=NOT_NEGATIVE,
    higher=(
        "small changes of the embedding change the explained number more, on average near the text"
    ),
    cost="16 gradients",
    limits="As of the gradient; and how wide the noise is, is a choice.",
)
