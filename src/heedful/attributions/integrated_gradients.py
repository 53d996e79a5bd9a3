"""Integrated gradients: the gradient along a straight path from a text without its words.

The scores of a text add up to f(x) − f(baseline), but for the error of the integration (the
completeness gap). The integral is taken by Clenshaw and Curtis' rule: on smooth paths nearly
as good as Gauss' and far better than an even sum, and a rule of twice as many steps uses all
nodes of the one before. So every text begins with few, only texts whose gap is still too large
go on, and nothing is thrown away. How far a text goes depends on that text alone, but for the
last bits of its gap.

The baseline has a filler's embedding in place of every token of a word (the model's mask, or
its unknown word), or a zero vector; special tokens are what they are, at every node, so they
get no score. Attention is not detached: with constant weights completeness would not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.gradient import gradient_at
from heedful.entries import ANY, NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError, unknown_name
from heedful.models import probability
from heedful.perturbations import chunked, filler, replaced
from heedful.types import Batch, Model, Target

FLOOR = 1e-5  # of the gap: below it single precision decides
BASELINES = ("mask", "unk", "pad", "zero")


@dataclass(frozen=True)
class Integrated:
    """`gap` is |Σ scores − (f(x) − f(baseline))|, `steps` the gradients it took."""

    scores: Float[Tensor, "b t"]
    gap: Float[Tensor, " b"]
    steps: Int[Tensor, " b"]


def integrated_gradients(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    baseline: str = "mask",
    tolerance: float = 0.01,
    steps: int = 8,
    max_steps: int = 256,
) -> Float[Tensor, "b t"]:
    """Integrated gradients (Sundararajan et al. 2017): signed scores of tokens, which add up to
    f(x) − f(baseline) but for the gap that `integrated` also returns."""
    return integrated(model, batch, label, target, baseline, tolerance, steps, max_steps).scores


def integrated(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    baseline: str = "mask",
    tolerance: float = 0.01,
    steps: int = 8,
    max_steps: int = 256,
    tokens_at_once: int | None = None,
) -> Integrated:
    """Scores, their gap and the gradients taken, from a `baseline`: mask, unk, pad or zero.

    Doubles `steps` until the gap is within `tolerance` of |f(x) − f(baseline)|, or until
    `max_steps`; n steps have n + 1 nodes. `tokens_at_once` bounds the size of a pass.
    """
    if not 2 <= steps <= max_steps or steps % 2:
        raise HeedfulError(f"steps is {steps}: choose an even number from 2 to {max_steps}.")
    if baseline not in BASELINES:
        raise unknown_name("baseline", baseline, list(BASELINES))
    mask, end = batch.texts["a"].mask, model.embed(batch)["a"]
    if baseline == "zero":
        start = end.masked_fill(mask[..., None], 0.0)
    else:
        start = model.embed(replaced(batch, mask, filler(model, baseline)).batch)["a"]
    path = Path(model, batch, label, target, start, end, tokens_at_once)
    rows = torch.arange(len(batch), device=path.end.device)
    values, along = _along(path, rows, nodes(steps)[0])
    change = values[:, -1] - values[:, 0]
    scores, gap, used = along.sum(1), change.clone(), torch.zeros_like(rows)
    while True:
        scores[rows] = torch.einsum("k,bkt->bt", nodes(steps)[1].to(along.device), along)
        gap[rows] = (scores[rows].sum(-1) - change[rows]).abs()
        used[rows] = steps + 1
        more = gap[rows] > tolerance * change[rows].abs() + FLOOR
        steps *= 2
        if steps > max_steps or not bool(more.any()):
            return Integrated(scores, gap, used)
        rows = rows[more]
        # the old nodes are at the even places of the finer rule, new ones at the odd
        finer = along.new_empty(len(rows), steps + 1, along.shape[2])
        finer[:, ::2], finer[:, 1::2] = along[more], _along(path, rows, nodes(steps)[0][1::2])[1]
        along = finer


@dataclass(frozen=True)
class Path:
    """From `start` to `end`, both embeddings of side `a`; they differ at tokens of the text."""

    model: Model
    batch: Batch
    label: Int[Tensor, " b"]
    target: Target
    start: Float[Tensor, "b t e"]
    end: Float[Tensor, "b t e"]
    tokens_at_once: int | None


def _along(
    path: Path, examples: Int[Tensor, " n"], places: Float[Tensor, " k"]
) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k t"]]:
    """f and ∇f · (end − start) at places between 0 and 1, all examples' places together."""
    count, places = len(places), places.to(path.end)

    def work(rows: Tensor) -> tuple[Tensor, Tensor]:
        chosen = examples[rows // count]
        some = path.batch.take(chosen)
        width = some.texts["a"].tokens.shape[1]
        start, end = path.start[chosen, :width], path.end[chosen, :width]
        at = torch.lerp(start, end, places[rows % count, None, None])
        values, slopes = gradient_at(path.model, some, at, path.label[chosen], path.target)
        return values, torch.einsum("nte,nte->nt", slopes, end - start).double()

    lengths = path.batch.texts["a"].lengths[examples].repeat_interleave(count)
    values = torch.zeros(len(lengths), dtype=torch.float64, device=path.end.device)
    along = values.new_zeros(len(lengths), path.end.shape[1])
    for rows, (value, product) in chunked(work, lengths, path.tokens_at_once):
        values[rows] = value.double()
        along[rows, : product.shape[1]] = product
    shape = (len(examples), count)
    return values.reshape(shape), along.reshape(*shape, path.end.shape[1])


ENTRY = Attribution(
    name="integrated_gradients",
    description="gradients integrated from a baseline without words; adds up to f(x) − f(baseline)",
    make=integrated_gradients,
    uses=("=baseline",),
    bounds={"tolerance": NOT_NEGATIVE, "steps": (2, 4096), "max_steps": (2, 4096)},
    paper="bastings2020",
    signed=True,
    citation="Sundararajan et al. 2017, Axiomatic Attribution for Deep Networks, ICML",
    formula=(
        "Σ_d (e_td − b_td) ∫₀¹ ∂f/∂e_td at b + u (e − b) du; the scores of a text sum to f(x) − "
        "f(b)"
    ),
    range=ANY,
    higher="the token speaks more for the class than the baseline does; below 0 against it",
    cost="9 to 257 gradients for a text, until they sum to f(x) − f(b) within 1%",
    limits=(
        "It depends on the baseline b, and the path leads through embeddings that belong to no "
        "word."
    ),
)


@cache
def nodes(steps: int) -> tuple[Tensor, Tensor]:
    """Places and weights on [0, 1], float64: the extrema of a Chebyshev polynomial, and what
    integrates the polynomial through values at them."""
    angle = torch.arange(steps + 1, dtype=torch.float64) * (torch.pi / steps)
    k = torch.arange(1, steps // 2 + 1, dtype=torch.float64)
    share = torch.where(2 * k == steps, 1.0, 2.0) / (4 * k**2 - 1)
    weights = (1 - torch.cos(2 * angle[:, None] * k) @ share) / steps
    weights[[0, -1]] /= 2
    return torch.sin(angle / 2) ** 2, weights
