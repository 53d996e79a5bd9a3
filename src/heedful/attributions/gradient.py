"""Gradients at each token's embedding: their norm, their product with it, and SmoothGrad."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.entries import ANY, NOT_NEGATIVE, Attribution, by_name
from heedful.errors import HeedfulError
from heedful.interventions import detach
from heedful.models import probability
from heedful.perturbations import chunked
from heedful.randomness import example_keys, keyed_normal
from heedful.types import Batch, Keep, Model, Target, Trace


def differentiable(model: Model, batch: Batch, through_attention: bool) -> Trace:
    """A trace that can be differentiated by its embeddings, and deletions can go on from.

    With `through_attention=False` every site's weights are constants, as in jain2019.
    """
    edits = {} if through_attention else {site.name: detach() for site in model.sites}
    with torch.enable_grad():
        keep = Keep(embeddings=True, encoding=True, weights=not through_attention, again=True)
        return model(batch, edits, keep)


def embedding_gradient(
    trace: Trace, target: Target, label: Int[Tensor, " b"]
) -> tuple[Float[Tensor, "b t e"], Float[Tensor, "b t e"]]:
    """Gradients and embeddings of side `a`."""
    embedded = trace.embeddings["a"]
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(target(trace.logits, label).sum(), embedded)
    return gradient, embedded.detach()


def gradient_at(
    model: Model,
    batch: Batch,
    embedded: Float[Tensor, "b t e"],
    label: Int[Tensor, " b"],
    target: Target,
) -> tuple[Float[Tensor, " b"], Float[Tensor, "b t e"]]:
    """Value and gradient at other embeddings of side `a` than the tokens' own; attention is
    not detached."""
    x = embedded.detach().requires_grad_()
    with torch.enable_grad():
        keep = Keep(weights=False, again=True)
        value = target(model(batch, keep=keep, embeddings={"a": x}).logits, label)
        (gradient,) = torch.autograd.grad(value.sum(), x)
    return value.detach(), gradient


def gradient(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    through_attention: bool = True,
    norm: int = 2,
) -> Float[Tensor, "b t"]:
    """Sensitivity: ‖∂f/∂e_t‖, the L1 or L2 norm; zero where no token is (bastings2020).

    With `through_attention=False` the attention weights are constants.
    """
    if norm not in (1, 2):
        raise HeedfulError(f"the gradient's norm is {norm}: choose 1 or 2.")
    slopes, _ = embedding_gradient(differentiable(model, batch, through_attention), target, label)
    scores: Tensor = slopes.double().norm(p=norm, dim=-1) * batch.texts["a"].mask
    return scores


def gradient_input(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = probability,
    through_attention: bool = True,
    magnitude: bool = False,
    trace: Trace | None = None,
) -> Float[Tensor, "b t"]:
    """Σ_d ∂f/∂e_td · e_td, the derivative by the token's one-hot vector (bastings2020).

    It is zero where no token is. jain2019's own (experiment 1) has attention detached
    (`through_attention=False`) and the `magnitude` taken. A `differentiable` trace of the batch
    saves making it again.
    """
    trace = trace or differentiable(model, batch, through_attention)
    slopes, embedded = embedding_gradient(trace, target, label)
    scores = (slopes * embedded).sum(-1, dtype=torch.float64) * batch.texts["a"].mask
    return scores.abs() if magnitude else scores


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
    """The gradient averaged over noisy copies of the embeddings (smilkov2017): its norm, L1 or L2.

    The mean is over so many `samples`. The noise is normal, as wide as `noise` times the range of
    the text's embeddings (the paper's σ/(max − min)), and reaches tokens of the text only.
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


ENTRIES = by_name(
    Attribution(
        name="gradient",
        description="norm of the gradient at each token's embedding; attention is not detached",
        make=gradient,
        uses=(),
        signed=False,
        bounds={"norm": (1, 2)},
        paper="bastings2020",
        formula="‖∂f/∂e_t‖₂",
        range=NOT_NEGATIVE,
        higher="a small change of the token's embedding changes the explained number more",
        cost="one forward and one backward pass",
        limits=(
            "It tells how sensitive the model is, not what the token contributes, and of small "
            "changes only."
        ),
    ),
    Attribution(
        name="gradient_input",
        description="gradient times input; jain2019 detaches attention and takes the magnitude",
        make=gradient_input,
        uses=(),
        version=2,
        paper="bastings2020",
        signed=True,
        formula="Σ_d ∂f/∂e_td · e_td",
        range=ANY,
        higher="the token speaks more for the class, to first order; below 0 against it",
        cost="one forward and one backward pass",
        limits=(
            "A first-order guess from the token down to a zero vector: where the model saturates "
            "it is near 0 for what matters most."
        ),
    ),
    Attribution(
        name="smoothgrad",
        description=(
            "norm of the gradient averaged over noisy embeddings; attention is not detached"
        ),
        make=smoothgrad,
        uses=(),
        signed=False,
        bounds={"samples": (1, 10_000), "noise": NOT_NEGATIVE, "norm": (1, 2)},
        paper="smilkov2017",
        formula="‖(1/m) Σ_i ∂f/∂e_t at e + noise_i‖₂, m = 16",
        range=NOT_NEGATIVE,
        higher=(
            "small changes of the embedding change the explained number more, on average near the "
            "text"
        ),
        cost="16 gradients",
        limits="As of the gradient; and how wide the noise is, is a choice.",
    ),
)
