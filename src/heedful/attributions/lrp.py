"""Layer-wise relevance propagation: the explained number handed down by shares to the tokens.

A sum hands relevance to its terms by their shares (ε-rule), gate ⊙ signal gives everything to
the signal, attention is a gate (Arras et al. 2017; for transformers Ali et al. 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import singledispatch
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.entries import ANY, NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError
from heedful.interventions import detach
from heedful.models import logit
from heedful.types import Batch, Model, Target, Trace


class Relevance(NamedTuple):
    """Scores, and what of the explained number reached no token of the text."""

    scores: Float[Tensor, "b t"]
    gap: Float[Tensor, " b"]


def lrp(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = logit,
    epsilon: float = 1e-6,
) -> Float[Tensor, "b t"]:
    """Layer-wise relevance propagation: the relevance of each token, signed; zero where no token
    is. `epsilon` keeps shares of sums near zero small (Bach et al. 2015; Ali et al. 2022)."""
    return lrp_relevance(model, batch, label, target, epsilon).scores


def lrp_relevance(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = logit,
    epsilon: float = 1e-6,
) -> Relevance:
    """Scores and gap add up to Σ_c z_c · ∂f/∂z_c over the logits z, which is f for a logit.

    The gap is the share of biases (position and type embeddings and the shift of a norm among
    them), of start, end and separator tokens, and what ε swallowed. Without all those it is 0.
    """
    return relevance_of(
        lambda embedded: lrp_logits(model, batch, embedded, epsilon), model, batch, label, target
    )


def relevance_of(
    logits_of: Callable[[Tensor], Tensor],
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target,
) -> Relevance:
    """Scores and gap, given the logits of embeddings whose gradients follow some rules."""
    embedded = model.embed(batch)["a"].detach().requires_grad_()
    with torch.enable_grad():
        logits = logits_of(embedded)
        # a view of its own: hooks on the logits belong to the pass below them
        start = logits.detach().requires_grad_()
        (seed,) = torch.autograd.grad(target(start, label).sum(), start)
        (slope,) = torch.autograd.grad(logits, embedded, seed)
    scores = (slope.double() * embedded.detach().double()).sum(-1) * batch.texts["a"].mask
    whole = (seed.double() * start.detach().double()).sum(-1)
    return Relevance(scores, whole - scores.sum(-1))


ENTRY = Attribution(
    name="lrp",
    description="layer-wise relevance propagation: the logit shared out among the tokens, ε-rule",
    make=lrp,
    uses=(),
    bounds={"epsilon": NOT_NEGATIVE},
    paper="bastings2020",
    signed=True,
    citation="Bach et al. 2015; Arras et al. 2017; Ali et al. 2022",
    formula=(
        "R_i = Σ_j z_ij / (z_j + ε sign z_j) · R_j from the logit down; gates and attention "
        "hand all to their signal"
    ),
    range=ANY,
    higher="more of the logit was handed down to the token; below 0: it speaks against it",
    cost="one forward and one backward pass",
    limits=(
        "Rules are a choice, and attention is taken for a constant: that it chose the token "
        "counts nothing. Biases keep a part for themselves."
    ),
)


def stable(total: Float[Tensor, "*n"], epsilon: float) -> Float[Tensor, "*n"]:
    """A sum under the ε-rule: the relevance handed on is z / (z + ε·sign z) of what came."""
    if epsilon and total.requires_grad:
        size = total.detach().abs()
        factor = size / (size + epsilon)
        total.register_hook(lambda slope: factor * slope)  # type: ignore[no-untyped-call]
    return total


def passing(x: Float[Tensor, "*n"], y: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """`y`, the squashed `x`, as x times a constant: it hands on all that comes.

    Where x is zero no relevance arrives and none is handed on.
    """
    value = x.detach()
    factor = y.detach() / value
    return x * factor.masked_fill(value == 0, 0)


@singledispatch
def lrp_logits(model: object, batch: Batch, embedded: Tensor, epsilon: float) -> Tensor:
    """The model's own logits for side `a` given as embeddings, with every gate, activation and
    norm a constant factor to the gradient. Each family registers its own rules."""
    # only here: models of one kind need nothing of the other's
    from heedful.models import HuggingFace

    if isinstance(model, HuggingFace):
        return _hugging_face_logits(model, batch, embedded, epsilon)
    from heedful.attributions.lrp_encoders import one_sequence_logits
    from heedful.models import OneSequence, family_name

    if isinstance(model, OneSequence):
        return one_sequence_logits(model, batch, embedded, epsilon)
    raise HeedfulError(
        f"LRP has no rules for {family_name(model)}: it knows one-sequence models and "
        "Hugging Face models like BERT, so leave it out."
    )


FAMILIES = (
    "albert",
    "bert",
    "camembert",
    "distilbert",
    "electra",
    "gpt2",
    "roberta",
    "xlm-roberta",
)
"""Sums, layer norms, activations and attention are all they are made of."""


def _hugging_face_logits(model: Any, batch: Batch, embedded: Tensor, epsilon: float) -> Tensor:
    if model.module.config.model_type not in FAMILIES:
        raise HeedfulError(
            f"LRP has no rules for {model.module.config.model_type!r}: it knows "
            f"{', '.join(FAMILIES)} and one-sequence models, so leave it out."
        )
    edits = {site.name: detach() for site in model.sites}
    with rules(model.module, epsilon):
        trace: Trace = model(batch, edits, embeddings={"a": embedded})
    return trace.logits


@contextmanager
def rules(module: nn.Module, epsilon: float) -> Iterator[None]:
    """Inside, gradients follow LRP's rules; afterwards nothing is left of them."""
    with activations(module, passing), Rules(epsilon):
        yield


@contextmanager
def activations(module: nn.Module, rule: Callable[[Tensor, Tensor], Tensor]) -> Iterator[None]:
    """Inside, each activation of the module gives `rule(input, output)`."""
    from transformers.activations import ACT2CLS

    kinds: list[Any] = [kind[0] if isinstance(kind, tuple) else kind for kind in ACT2CLS.values()]
    with ExitStack() as stack:
        for part in module.modules():
            if isinstance(part, tuple(kinds)):  # whole: some are written out in products and powers
                hook = part.register_forward_hook(lambda _, given, out: rule(given[0], out))
                stack.callback(hook.remove)
        yield


class Rules(TorchFunctionMode):
    """Linear layers under the ε-rule, norms, and activations that are called as functions."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.layer_norm:
            return _normalised(*args, **(kwargs or {}))
        return self.ruled(func, args, func(*args, **(kwargs or {})))

    def ruled(self, func: Any, args: Any, result: Any) -> Any:
        """What a function gave, under its rule."""
        if func in _SUMS:
            return stable(result, self.epsilon)
        return passing(args[0], result) if func in SQUASHINGS else result


_SUMS: tuple[Callable[..., Any], ...] = (F.linear, torch.addmm)
SQUASHINGS: tuple[Callable[..., Any], ...] = (
    torch.tanh,
    torch.Tensor.tanh,
    F.gelu,
    F.relu,
    F.silu,
)
"""Activations that are called as functions."""
PRODUCTS: tuple[Callable[..., Any], ...] = (torch.mul, torch.Tensor.mul, torch.Tensor.__mul__)
"""Number by number: gates, and norms written out."""
ROOTS: tuple[Callable[..., Any], ...] = (torch.rsqrt, torch.Tensor.rsqrt)
"""By which norms that subtract no mean divide."""


def _normalised(
    x: Tensor,
    shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """A layer norm whose standard deviation is a constant."""
    over = tuple(range(-len(shape), 0))
    centred = x - x.mean(over, keepdim=True)
    scale = (centred.detach().square().mean(over, keepdim=True) + eps).rsqrt()
    scaled = centred * scale if weight is None else centred * scale * weight
    return scaled if bias is None else scaled + bias
