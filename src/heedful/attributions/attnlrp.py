"""AttnLRP: layer-wise relevance propagation through attention weights, not only past them.

`lrp` takes attention for a constant. Here relevance is also handed to queries and keys, so a token
is paid for drawing attention as well as for what it was attended for (Achtibat et al. 2024). Each
rule is a change of a gradient, since relevance is gradient times input:

- a product of two things that come from the text (weights and values, queries and keys, a gate and
  what it lets through) hands half to each: its slopes are halved;
- softmax hands on its Taylor expansion: its slopes are its own, and a constant keeps the rest;
- norms and activations hand on all that they are given: their factors are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from heedful.attributions.lrp import (
    PRODUCTS,
    ROOTS,
    Relevance,
    Rules,
    activations,
    passing,
    relevance_of,
    stable,
)
from heedful.entries import ANY, NOT_NEGATIVE, Attribution
from heedful.errors import HeedfulError
from heedful.models import family_name, logit, restored
from heedful.types import Batch, Keep, Model, Target


def attnlrp(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = logit,
    epsilon: float = 1e-6,
) -> Float[Tensor, "b t"]:
    """AttnLRP: the relevance of each token, signed; zero where no token is.

    `epsilon` keeps shares of sums near zero small (Achtibat et al. 2024, Eq. 8)."""
    return attnlrp_relevance(model, batch, label, target, epsilon).scores


def attnlrp_relevance(
    model: Model,
    batch: Batch,
    label: Int[Tensor, " b"],
    target: Target = logit,
    epsilon: float = 1e-6,
) -> Relevance:
    """Scores and gap add up to Σ_c z_c · ∂f/∂z_c over the logits z, which is f for a logit.

    The gap is the share of biases, of the constants in each softmax, of tokens outside of the text
    (in an encoder–decoder, of all that the decoder is given), and what ε swallowed.
    """
    return relevance_of(
        lambda embedded: attnlrp_logits(model, batch, embedded, epsilon),
        model,
        batch,
        label,
        target,
    )


FAMILIES = (
    "albert",
    "bert",
    "camembert",
    "distilbert",
    "electra",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neox",
    "llama",
    "mistral",
    "modernbert",
    "olmo2",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "roberta",
    "stablelm",
    "t5",
    "xlm-roberta",
)
"""Rules cover all their steps: tests account for every share of each family."""


def attnlrp_logits(
    model: Model, batch: Batch, embedded: Float[Tensor, "b t e"], epsilon: float
) -> Float[Tensor, "b c"]:
    """The model's own logits for side `a` given as embeddings; gradients follow AttnLRP's rules."""
    from heedful.models import HuggingFace  # only here: a model of our own needs none of it

    module: Any = model.module if isinstance(model, HuggingFace) else None
    kind = repr(module.config.model_type) if module else family_name(model)
    if module is None or module.config.model_type not in FAMILIES:
        raise HeedfulError(
            f"AttnLRP has no rules for {kind}: it knows {', '.join(FAMILIES)}, so leave it out."
        )
    with attnlrp_rules(module, epsilon):
        return model(batch, keep=Keep(weights=False), embeddings={"a": embedded}).logits


@contextmanager
def attnlrp_rules(module: nn.Module, epsilon: float) -> Iterator[None]:
    """Inside, gradients follow AttnLRP's rules; afterwards nothing is left of them."""
    with restored(module.parameters(), "requires_grad"), activations(module, passing):
        module.requires_grad_(False)  # a product with a weight is no product of two
        with _Rules(epsilon):
            yield


class _Rules(Rules):
    """Also products, and norms that divide by a root mean square."""

    def ruled(self, func: Any, args: Any, result: Any) -> Any:
        if func in ROOTS:
            return result.detach()
        if func in MATRIX_PRODUCTS and _both(args):
            return _halved(stable(result, self.epsilon))
        if func in PRODUCTS and _both(args):
            return _halved(result)
        return super().ruled(func, args, result)


MATRIX_PRODUCTS: tuple[Callable[..., Any], ...] = (
    torch.matmul,
    torch.Tensor.matmul,
    torch.Tensor.__matmul__,
    torch.bmm,
)


def _both(args: Any) -> bool:
    """Whether two things that come from the text are multiplied."""
    return all(isinstance(each, Tensor) and each.requires_grad for each in args[:2])


def _halved(product: Tensor) -> Tensor:
    product.register_hook(lambda slope: slope / 2)  # type: ignore[no-untyped-call]
    return product


ENTRY = Attribution(
    name="attnlrp",
    description="LRP that also goes through queries and keys: what drew attention is paid, too",
    make=attnlrp,
    uses=(),
    bounds={"epsilon": NOT_NEGATIVE},
    signed=True,
    needs=("layers",),
    paper="Achtibat et al. 2024",
    citation=(
        "Achtibat et al. 2024, AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for "
        "Transformers, ICML"
    ),
    formula=(
        "as lrp, and R_A = ½ A (R/AV · Vᵀ), R_V = ½ V (Aᵀ · R/AV) for products, "
        "R_i = x_i (R_i − s_i Σ_j R_j) for s = softmax(x)"
    ),
    range=ANY,
    higher="more of the logit was handed down to the token; below 0: it speaks against it",
    cost="one forward and one backward pass",
    limits=(
        "Rules are a choice. Biases and each softmax keep a part for themselves, so scores need "
        "not add up to the logit. Its authors' repository, LRP-eXplains-Transformers, says that "
        "LRP is patented and free for personal and scientific use only."
    ),
)
