"""Explanations that take a Transformer's states apart: which tokens does a state consist of?

A text is run in several copies at once. The first copy is the text itself; in copy k the states
hold only the part of token k, or are made without its value. Parts move by the model's own linear
steps. What is not linear in them (attention weights, the variance of a norm, the slope of an
activation) is taken from the first copy.

DecompX follows parts through all layers and the classifier. GlobEnc, ALTI and value zeroing look at
each layer by itself, and multiply what they see from the last layer to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from heedful.attributions.attention import on_text, readout_weights
from heedful.attributions.lrp import PRODUCTS, ROOTS, SQUASHINGS, activations
from heedful.entries import ANY, SHARE, Attribution, by_name
from heedful.errors import HeedfulError
from heedful.interventions import custom
from heedful.models import linear, logit, probability
from heedful.types import Batch, Keep, Model, SiteCall, Target
from heedful.words import present

AT_ONCE = 1 << 24
"""Numbers of all states of a layer that are held at a time: texts go in groups, never in parts."""
TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-4}
"""How exactly parts must add up, as a share of their sizes; less exactly in half precision. Some
models of double precision scale their norms in single precision."""


def decompx(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = logit
) -> Float[Tensor, "b t"]:
    """DecompX (Modarressi et al. 2023): each token's part of the logit, signed.

    Parts go through every layer and the classifier unmixed. An activation multiplies each part by
    f(x)/x, and a bias is shared out by the size of the parts' products with it. A gate and what it
    lets through share their product by halves, which the paper's models do not have. The parts of
    all tokens (start, end and separators among them) add up to the logits; a model where they do
    not is refused.
    """
    scores = torch.zeros_like(batch.texts["a"].mask, dtype=torch.float64)
    for rows, copies in _groups(model, batch, "decompx"):
        logits = copies.apart(copies.run(_Parts(copies, biased=True)))[:, :, 0]
        whole, parts = logits[:, 0], logits[:, 1:].double()
        _check_sum(whole, parts, copies.batch)
        start = whole.detach().requires_grad_()
        with torch.enable_grad():
            (slopes,) = torch.autograd.grad(target(start, label[rows]).sum(), start)
        scores[rows, : copies.n] = torch.einsum("bnc,bc->bn", parts, slopes.double())
    return on_text(scores, batch)


def globenc(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
) -> Float[Tensor, "b t"]:
    """GlobEnc (Modarressi et al. 2022): the norm of each token's part of a layer's output, over all
    layers.

    A layer is its attention, both residuals and both norms; the feed-forward part counts in the
    scale of the second norm only (N_ENC). Neither class nor target matters.
    """
    return _rolled_out(model, batch, "globenc", _GlobEnc)


def alti(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
) -> Float[Tensor, "b t"]:
    """ALTI (Ferrando et al. 2022): how near each token's part comes to what a layer's attention
    block gives, by the L1 distance, over all layers. Neither class nor target matters."""
    return _rolled_out(model, batch, "alti", _Alti)


def value_zeroing(
    model: Model, batch: Batch, label: Int[Tensor, " b"], target: Target = probability
) -> Float[Tensor, "b t"]:
    """Value zeroing (Mohebbi et al. 2023): how far a layer's outputs turn when the values of one
    token are zero, by the cosine distance, over all layers. Neither class nor target matters."""
    return _rolled_out(model, batch, "value_zeroing", _Zeroed)


# Copies of a text, and the layers that they go through.


@dataclass(frozen=True)
class Copies:
    """Each text `1 + n` times in a row, n being the tokens of the longest."""

    model: Any
    batch: Batch
    n: int

    def run(self, rule: Rule) -> Float[Tensor, "B c"]:
        """The logits of all copies, by the rule for what happens in a layer and between two."""
        times = torch.arange(len(self.batch)).repeat_interleave(self.n + 1)
        edits = {site.name: custom(rule.attend) for site in self.model.sites}
        texts = self.batch.take(times.to(self.batch.labels.device))
        with rule.applied(self.model.module):
            logits: Tensor = self.model.logits_between_layers(texts, edits, rule.between)
        self._check_text(logits)
        return logits

    def _check_text(self, logits: Tensor) -> None:
        """The first copy is the text itself."""
        with torch.no_grad():
            own = self.model.logits(self.batch)
        allowed = max(TOLERANCE.get(own.dtype, 0.05), 1e-4) * float(own.abs().max())
        if not float((logits[:: self.n + 1] - own).abs().max()) <= allowed:
            raise _no_rule()

    def apart(self, x: Tensor) -> Float[Tensor, "b m r d"]:
        """By text and copy. Some steps see all positions of all texts in one dimension."""
        if x.numel() % (len(self.batch) * (self.n + 1) * x.shape[-1]):  # DeBERTa's distances
            raise _no_rule()
        return x.reshape(len(self.batch), self.n + 1, -1, x.shape[-1])


def _no_rule() -> HeedfulError:
    return HeedfulError(
        "there is no rule for a step of this model, which is not of the states of its tokens: "
        "leave this explanation out."
    )


class Rule:
    """What happens in a layer. This one leaves everything as it is in the first copy."""

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        self.layers: list[Float[Tensor, "b q k"]] = []

    @contextmanager
    def applied(self, module: nn.Module) -> Iterator[None]:
        yield

    def attend(self, call: SiteCall) -> Tensor:
        times = self.copies.n + 1
        return call.weights[::times].repeat_interleave(times, 0)

    def between(self, number: int, states: Tensor) -> Tensor:
        return states


def _groups(model: Model, batch: Batch, name: str) -> Iterator[tuple[Tensor, Copies]]:
    """Texts by their rows, so few at a time that their copies fit."""
    from heedful.models import HuggingFace  # only here: a model of our own needs none of it

    if not isinstance(model, HuggingFace) or any(site.keys != "a" for site in model.sites):
        raise HeedfulError(
            f"{name} follows states through the layers of a Hugging Face encoder or decoder: leave "
            "it out for this model."
        )
    module: Any = model.module
    n = batch.texts["a"].tokens.shape[1]
    size = max(1, AT_ONCE // ((n + 1) * n * 4 * module.config.hidden_size))
    every = torch.arange(len(batch), device=batch.labels.device)
    for start in range(0, len(batch), size):
        rows = every[start : start + size]
        some = batch.take(rows)
        yield rows, Copies(model, some, some.texts["a"].tokens.shape[1])


def _rolled_out(
    model: Model, batch: Batch, name: str, kind: Callable[[Copies], Rule]
) -> Float[Tensor, "b t"]:
    """The prediction's row, followed back through what each layer's outputs consist of."""
    scores = torch.zeros_like(batch.texts["a"].mask, dtype=torch.float64)
    for rows, copies in _groups(model, batch, name):
        with torch.no_grad():
            trace = model(copies.batch, keep=Keep(readout_weights=True))
        rule = kind(copies)
        copies.run(rule)
        row = readout_weights(trace, model.sites[-1])
        there = present(copies.batch.texts["a"])[:, None]
        for layer in reversed(rule.layers):
            shares = layer.double().masked_fill(~there, 0.0)
            total = shares.sum(-1, keepdim=True)
            row = torch.einsum("bq,bqk->bk", row, shares / torch.where(total > 0, total, 1.0))
        scores[rows, : copies.n] = row
    return on_text(scores, batch)


def _check_sum(whole: Tensor, parts: Tensor, batch: Batch) -> None:
    off = (parts.sum(1) - whole.double()).abs()
    allowed = TOLERANCE.get(whole.dtype, 0.05) * (parts.abs().sum(1) + whole.abs().double())
    if not bool((off <= allowed).all()):
        raise HeedfulError(
            "decompx knows no rule for a step of this model: its parts do not add up to the "
            "logits. Leave decompx out."
        )


# Rules.


class _Parts(Rule, TorchFunctionMode):
    """Copy k holds the part of token k. Biases are shared out in all of a layer (`biased`), or
    before its attention alone, where every state is one token's own."""

    def __init__(self, copies: Copies, biased: bool = False) -> None:
        Rule.__init__(self, copies)
        TorchFunctionMode.__init__(self)
        self.biased, self.attended = biased, False
        self.normed: list[Tensor] = []

    @contextmanager
    def applied(self, module: nn.Module) -> Iterator[None]:
        with activations(module, self.squashed), self:
            yield

    def attend(self, call: SiteCall) -> Tensor:
        self.attended = True
        return super().attend(call)

    def between(self, number: int, states: Tensor) -> Tensor:
        return self.own(states) if number == 0 else states

    def own(self, states: Tensor) -> Tensor:
        """Every token is a part of its own."""
        whole = self.copies.apart(states)[:, :1]
        parts = whole * torch.eye(self.copies.n, dtype=whole.dtype, device=whole.device)[..., None]
        return torch.cat([whole, parts], 1).flatten(0, 1)

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if func is F.linear:
            return self.linear(*args, **options)
        if func is torch.addmm:  # GPT-2's linear layers
            bias, x, weight = args
            return self.linear(x, weight.T, bias)
        if func is F.layer_norm:
            return self.norm(*args, **options)
        if func in PRODUCTS and self.both_apart(*args[:2]):
            return self.multiplied(*args[:2])
        result = func(*args, **options)
        if func in ROOTS:
            return self.of_whole(result)
        return self.squashed(args[0], result) if func in SQUASHINGS else result

    def both_apart(self, x: object, y: object) -> bool:
        """Whether both are states: numbers of one shape, a row or several for each copy."""
        if not isinstance(x, Tensor) or not isinstance(y, Tensor) or x.shape != y.shape:
            return False
        rows = len(self.copies.batch) * (self.copies.n + 1)
        return x.is_floating_point() and x.ndim > 1 and x.shape[0] % rows == 0

    def multiplied(self, x: Tensor, y: Tensor) -> Tensor:
        """Two states that both have parts, a gate and what it lets through: x ⊙ y is the sum over
        k of ½ (x_k ⊙ y + x ⊙ y_k), the Shapley values of the tokens."""
        one, other = self.copies.apart(x), self.copies.apart(y)
        parts = (one[:, 1:] * other[:, :1] + one[:, :1] * other[:, 1:]) / 2
        return torch.cat([one[:, :1] * other[:, :1], parts], 1).reshape(x.shape)

    def of_whole(self, scale: Tensor) -> Tensor:
        """One over the root mean square by which a norm scales: that of the whole, in all parts."""
        return (
            self.copies.apart(scale)[:, :1].expand_as(self.copies.apart(scale)).reshape(scale.shape)
        )

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        y = linear(x, weight)
        return y if bias is None else self.shifted(y, bias)

    def shifted(self, y: Tensor, bias: Tensor) -> Tensor:
        """The whole gets the bias. Part k gets |bᵀz_k| / Σ_j |bᵀz_j| of it, or nothing."""
        apart = self.copies.apart(y)
        shares = apart.new_ones(apart.shape[:-1])
        if self.biased or not self.attended:
            sizes = (apart[:, 1:] @ bias).abs()
            shares[:, 1:] = (sizes / sizes.sum(1, keepdim=True)).nan_to_num(0.0)
        else:
            shares[:, 1:] = 0.0
        return (apart + shares[..., None] * bias).reshape(y.shape)

    def norm(
        self,
        x: Tensor,
        shape: tuple[int, ...],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-5,
    ) -> Tensor:
        """The variance is that of the whole."""
        apart = self.copies.apart(x)
        centred = apart - apart.mean(-1, keepdim=True)
        scale = (centred[:, :1].square().mean(-1, keepdim=True) + eps).rsqrt()
        y = (self.normalised(centred) * scale).reshape(x.shape)
        y = y if weight is None else y * weight
        y = y if bias is None else self.shifted(y, bias)
        if self.attended:
            self.normed.append(y)
        return y

    def normalised(self, centred: Tensor) -> Tensor:
        return centred

    def squashed(self, x: Tensor, y: Tensor) -> Tensor:
        """Each part times f(x) / x of the whole."""
        before, after = self.copies.apart(x), self.copies.apart(y)
        factor = torch.where(before[:, :1] == 0, 0.0, after[:, :1] / before[:, :1])
        return torch.cat([after[:, :1], factor * before[:, 1:]], 1).reshape(y.shape)


class _Layerwise(_Parts):
    """Each layer begins again with every token as a part of its own."""

    def between(self, number: int, states: Tensor) -> Tensor:
        if number > 0:
            if len(self.normed) != 2:
                raise HeedfulError(
                    "globenc and alti are made for layers that normalise after attention and after "
                    "the feed-forward part, as BERT's do: leave them out for this model."
                )
            self.layers.append(self.consists(states))
        self.normed, self.attended = [], False
        return self.own(states)

    def consists(self, states: Tensor) -> Float[Tensor, "b q k"]:
        raise TypeError


class _GlobEnc(_Layerwise):
    def normalised(self, centred: Tensor) -> Tensor:
        """The second norm is given the parts that left the first one."""
        if len(self.normed) != 1:
            return centred
        parts = self.copies.apart(self.normed[0])[:, 1:]
        return torch.cat([centred[:, :1], parts - parts.mean(-1, keepdim=True)], 1)

    def consists(self, states: Tensor) -> Tensor:
        norms: Tensor = torch.linalg.vector_norm(self.copies.apart(states)[:, 1:], dim=-1)
        return norms.mT


class _Alti(_Layerwise):
    def consists(self, states: Tensor) -> Tensor:
        apart = self.copies.apart(self.normed[0])
        whole, parts = apart[:, :1], apart[:, 1:]
        return (whole.abs().sum(-1) - (whole - parts).abs().sum(-1)).clamp_min(0.0).mT


class _Zeroed(Rule):
    """Copy k of a layer mixes no value of token k."""

    def attend(self, call: SiteCall) -> Tensor:
        weights = super().attend(call)
        apart = weights.view(len(self.copies.batch), -1, *weights.shape[1:])
        apart.diagonal(offset=-1, dim1=1, dim2=4).zero_()
        return weights

    def between(self, number: int, states: Tensor) -> Tensor:
        apart = self.copies.apart(states)
        if number > 0:
            turned = 1.0 - F.cosine_similarity(apart[:, :1], apart[:, 1:], dim=-1)
            self.layers.append(turned.clamp_min(0.0).mT)
        return apart[:, :1].expand_as(apart).flatten(0, 1)


_LAYERWISE = "one pass of n + 1 copies of a text of n tokens"
ENTRIES = by_name(
    Attribution(
        name="decompx",
        description="each token's part of the logit, followed through all layers",
        make=decompx,
        uses=(),
        signed=True,
        needs=("layers",),
        paper="Modarressi et al. 2023",
        citation=(
            "Modarressi et al. 2023, DecompX: Explaining Transformers Decisions by Propagating "
            "Token Decomposition, ACL"
        ),
        formula=(
            "z = Σ_k z_k through every step: W z_k + |bᵀWz_k| / Σ_j |bᵀWz_j| · b, z_k · f(z)/z, "
            "Σ_j α_ij z_jk"
        ),
        range=ANY,
        higher="more of the logit comes from the token; below 0: it speaks against it",
        cost=_LAYERWISE,
        limits=(
            "Attention weights are taken for constants: that a token drew attention to another "
            "counts nothing. Memory grows with the square of the text's length. The paper has no "
            "rule for gates (Llama, ModernBERT): here each factor has half of their product."
        ),
    ),
    Attribution(
        name="globenc",
        description="norms of the parts that tokens have in each layer's output, over all layers",
        make=globenc,
        uses=(),
        signed=False,
        needs=("layers",),
        paper="Modarressi et al. 2022",
        citation=(
            "Modarressi et al. 2022, GlobEnc: Quantifying Global Token Attribution by "
            "Incorporating the Whole Encoder Layer in Transformers, NAACL"
        ),
        formula="r · Π_l N_l, N_l[i, j] ∝ ‖part of token j in output i of layer l‖₂",
        range=SHARE,
        higher="longer parts of the token reach the prediction",
        cost=_LAYERWISE,
        limits=(
            "A long part need not matter. The feed-forward part is left out, and only layers that "
            "normalise after their residuals have a formula."
        ),
    ),
    Attribution(
        name="alti",
        description="how near tokens' parts come to each attention block's output, over all layers",
        make=alti,
        uses=(),
        signed=False,
        needs=("layers",),
        paper="Ferrando et al. 2022",
        citation=(
            "Ferrando et al. 2022, Measuring the Mixing of Contextual Information in the "
            "Transformer, EMNLP"
        ),
        formula="r · Π_l C_l, C_l[i, j] ∝ max(0, ‖y_i‖₁ − ‖y_i − part of token j‖₁)",
        range=SHARE,
        higher="the token's parts are nearer to what the prediction is made from",
        cost=_LAYERWISE,
        limits=(
            "The feed-forward part is left out, and only layers that normalise after their "
            "residuals have a formula."
        ),
    ),
    Attribution(
        name="value_zeroing",
        description="how far each layer's outputs turn without a token's values, over all layers",
        make=value_zeroing,
        uses=(),
        signed=False,
        needs=("layers",),
        paper="Mohebbi et al. 2023",
        citation="Mohebbi et al. 2023, Quantifying Context Mixing in Transformers, EACL",
        formula="r · Π_l Z_l, Z_l[i, j] ∝ 1 − cos(output i without the values of j, output i)",
        range=SHARE,
        higher="what the prediction is made from depends more on the token's values",
        cost=_LAYERWISE,
        limits="Directions count, not lengths. Weights stay as they are when a value goes.",
    ),
)
