"""ALTI-Logit: what attention adds to the logit, layer by layer, traced back to the tokens.

In a decoder that normalises before its layers, the last state is a sum: the embedding, and what
each attention and each feed-forward part adds. The logit is linear in that sum, once the scale of
the last norm is given. So each head of each layer has its part of the logit, from each position it
attends to. What stands at that position is a mix of tokens, and ALTI says of which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from heedful.attributions.attention import values_of
from heedful.attributions.attnlrp import attnlrp_rules
from heedful.attributions.lrp import Relevance
from heedful.entries import ANY, Attribution
from heedful.errors import HeedfulError
from heedful.models import HuggingFace, family_name, logit
from heedful.types import Batch, Keep, Model, SiteSpec, Target, Trace

AT_ONCE = 1 << 24
"""Numbers of one layer's vectors, by query and key, that are held at a time."""
FAMILIES = (
    "gemma",
    "gpt2",
    "gpt_neox",
    "llama",
    "mistral",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "stablelm",
)
"""Attention adds its output to the state as it is. Gemma 2 and OLMo 2 normalise it before."""


def alti_logit(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = logit
) -> Float[Tensor, "b t"]:
    """ALTI-Logit (Ferrando et al. 2023): the part of the logit that all attention adds, by token;
    signed, zero where no token is."""
    return alti_logit_relevance(model, batch, label, target).scores


def alti_logit_relevance(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = logit
) -> Relevance:
    """Scores and gap add up to Σ_c z_c · ∂f/∂z_c over the logits z, which is f for a logit.

    The gap is what attention does not add: the last token's own embedding, the feed-forward parts
    and all biases; and what it adds from tokens outside of the text.
    """
    with torch.no_grad():
        trace = _checked(model)(batch, keep=Keep(values=True))
    stream = _stream(model, batch, label, target)
    text = batch.texts["a"]
    scores = torch.zeros_like(text.mask, dtype=torch.float64)
    for row, n in enumerate(text.lengths.tolist()):
        layers = [
            _Layer.of(trace, site, states, row, n)
            for site, states in zip(model.sites, stream.states, strict=True)
        ]
        scores[row, :n] = _traced(layers, stream.slope[row, :n])
    scores = scores * text.mask
    return Relevance(scores, stream.whole - scores.sum(-1))


ENTRY = Attribution(
    name="alti_logit",
    description="what each layer's attention adds to the logit, traced back to tokens by ALTI",
    make=alti_logit,
    uses=(),
    signed=True,
    needs=("layers",),
    paper="Ferrando et al. 2023",
    citation=(
        "Ferrando et al. 2023, Explaining How Transformers Use Context to Build Predictions, ACL"
    ),
    formula=(
        "Σ_l Σ_j Σ_h Σ_i uᵢ · α_hij v_hj W_h M_(l−1)[j, t]: u is the slope of the logit by the "
        "last state, M_l = C_l M_(l−1), C_l[i, j] ∝ max(0, ‖y_i‖₁ − ‖y_i − part of j‖₁)"
    ),
    range=ANY,
    higher="attention brings more of the logit from the token; below 0: it speaks against it",
    cost="two forward passes, and a vector for each two tokens of each layer",
    limits=(
        "For decoders that normalise before their layers. What feed-forward parts add to the logit "
        "belongs to no token, and they take no part in the mixing."
    ),
)


def _checked(model: Model) -> HuggingFace:
    module: Any = model.module if isinstance(model, HuggingFace) else None
    if not isinstance(model, HuggingFace) or module.config.model_type not in FAMILIES:
        kind = repr(module.config.model_type) if module else family_name(model)
        raise HeedfulError(
            f"alti_logit follows what attention adds to the states of a decoder, and does not know "
            f"{kind}: it knows {', '.join(FAMILIES)}, so leave it out."
        )
    return model


# The stream of states, and how the explained number reads its end.


@dataclass(frozen=True)
class _Stream:
    """The states each layer is given; the slope of the explained number by the last one, norms
    being linear maps; and Σ_c z_c · ∂f/∂z_c."""

    states: Sequence[Float[Tensor, "b t e"]]
    slope: Float[Tensor, "b t e"]
    whole: Float[Tensor, " b"]


def _stream(model: Model, batch: Batch, label: Tensor, target: Target) -> _Stream:
    states: list[Tensor] = []

    def between(number: int, given: Tensor) -> Tensor:
        if number == len(model.sites):
            torch.set_grad_enabled(True)  # for the rest of this pass
            given = given.detach().requires_grad_()
        states.append(given)
        return given

    model = _checked(model)
    with attnlrp_rules(model.module, 0.0):
        logits = model.logits_between_layers(batch, {}, between)
    with torch.enable_grad():
        start = logits.detach().requires_grad_()
        (seed,) = torch.autograd.grad(target(start, label).sum(), start)
        (slope,) = torch.autograd.grad(logits, states[-1], seed)
    whole = (seed.double() * start.detach().double()).sum(-1)
    return _Stream(states[:-1], slope.double(), whole)


# One text: what each layer's attention brings from where.


@dataclass(frozen=True)
class _Layer:
    """One layer of one text. `vectors` are what a head brings from a position if it gives it all
    its weight; `outputs` the states after attention was added."""

    weights: Float[Tensor, "h q k"]
    vectors: Float[Tensor, "h k e"]
    states: Float[Tensor, "q e"]
    outputs: Float[Tensor, "q e"]

    @classmethod
    def of(cls, trace: Trace, site: SiteSpec, states: Tensor, row: int, n: int) -> _Layer:
        weights = trace.weights[site.name][row, :, :n, :n].double()
        values, projection = values_of(trace, site)[row, :, :n], trace.projections[site.name]
        if projection is None:
            raise HeedfulError(
                f"alti_logit needs the output projection of {site.name!r}, which this model does "
                "not show: leave alti_logit out."
            )
        vectors = values.double() @ projection.double()
        own = states[row, :n].detach().double()
        outputs = own + torch.einsum("hqk,hke->qe", weights, vectors)
        bias = trace.projection_biases.get(site.name)
        return cls(weights, vectors, own, outputs if bias is None else outputs + bias.double())

    def added(self, slope: Float[Tensor, "q e"]) -> Float[Tensor, " k"]:
        """What the heads bring to the explained number from each position."""
        return torch.einsum("qe,hqk,hke->k", slope, self.weights, self.vectors)

    def mixing(self) -> Float[Tensor, "q k"]:
        """ALTI's shares of the outputs, by the L1 distance; a position of which no part is near its
        output keeps to itself."""
        n, size = self.states.shape
        near = self.states.new_zeros(n, n)
        step = max(1, AT_ONCE // (n * size))
        for first in range(0, n, step):
            rows = slice(first, first + step)
            parts = torch.einsum("hqk,hke->qke", self.weights[:, rows], self.vectors)
            parts[:, rows].diagonal(dim1=0, dim2=1).add_(self.states[rows].T)
            whole = self.outputs[rows]
            left = (whole[:, None] - parts).abs().sum(-1)
            near[rows] = (whole.abs().sum(-1, keepdim=True) - left).clamp_min(0.0)
        total = near.sum(-1, keepdim=True)
        own = torch.eye(n, dtype=near.dtype, device=near.device)
        return torch.where(total > 0, near / torch.where(total > 0, total, 1.0), own)


def _traced(layers: Sequence[_Layer], slope: Float[Tensor, "q e"]) -> Float[Tensor, " q"]:
    """What each layer adds, by the tokens that stand at its positions."""
    scores = slope.new_zeros(len(slope))
    tokens = torch.eye(len(slope), dtype=slope.dtype, device=slope.device)
    for layer in layers:
        scores = scores + layer.added(slope) @ tokens
        tokens = layer.mixing() @ tokens
    return scores
