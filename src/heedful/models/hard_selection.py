"""Hard selection: random gates that are often exactly 0 or exactly 1 (Bastings et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from heedful.entries import Entries, ModelPart
from heedful.models.attention import GIVEN, TokenAttention

ENTRIES = Entries(ModelPart)

LOW, HIGH = -0.1, 1.1
_LEAST_DRAW = 1e-6  # a draw of 0 or 1 has no slope


@dataclass(frozen=True)
class HardKuma:
    """A random gate that is often exactly 0 or exactly 1, and that gradients pass through: one for
    each pair of shapes, both above 0. A Kumaraswamy variable, with F(x) = 1 − (1 − xᵃ)ᵇ on
    (0, 1), is stretched to (−0.1, 1.1); what lies outside of [0, 1] becomes 0 or 1."""

    a: Float[Tensor, "*n"]
    b: Float[Tensor, "*n"]

    def p_zero(self) -> Float[Tensor, "*n"]:
        return 1 - self._survival(-LOW / (HIGH - LOW))

    def p_one(self) -> Float[Tensor, "*n"]:
        return self._survival((1 - LOW) / (HIGH - LOW))

    def mean(self) -> Float[Tensor, "*n"]:
        """Of the stretched variable, before it is cut off: the mean of a Kumaraswamy variable
        is b · B(1 + 1/a, b)."""
        inverse = 1 + 1 / self.a
        beta = torch.lgamma(inverse) + torch.lgamma(self.b) - torch.lgamma(inverse + self.b)
        return LOW + (HIGH - LOW) * self.b * beta.exp()

    def likeliest(self) -> Float[Tensor, "*n"]:
        """0 or 1 where that is the likeliest of 0, 1 and between; else the mean, cut off."""
        zero, one = self.p_zero(), self.p_one()
        end = (one > zero).to(zero.dtype)
        between = 1 - zero - one > torch.maximum(zero, one)
        return torch.where(between, self.mean().clamp(0, 1), end)

    def sample(self) -> Float[Tensor, "*n"]:
        """F⁻¹ of a uniform draw, stretched and cut off; by logarithms, so slopes are finite."""
        draw = torch.rand_like(self.a).clamp(_LEAST_DRAW, 1 - _LEAST_DRAW)
        log_power = torch.log1p(-draw) / self.b  # of (1 − u)^(1/b)
        inner = (torch.log(-torch.expm1(log_power)) / self.a).exp()
        return (LOW + (HIGH - LOW) * inner).clamp(0, 1)

    def _survival(self, x: float) -> Float[Tensor, "*n"]:
        """1 − F(x) = (1 − xᵃ)ᵇ."""
        return (1 - x**self.a) ** self.b


_SHAPES = (1e-3, 100.0)  # beyond them a gate is 0 or 1 for sure, and powers leave float32


@ENTRIES.entry(
    "HardKuma gates, most of them exactly 0 or 1; weights do not sum to 1",
    name="hard",
    citation="Bastings et al. 2019, Interpretable Neural Predictions with Differentiable "
    "Binary Variables, ACL",
)
class Hard(TokenAttention):
    """Hard selection (Bastings et al. 2019): each token is taken, left, or, seldom, taken in part.

    Gates are drawn in training; afterwards each is the likeliest of 0, 1 and between. They mix the
    states as they are, z · h: a token's gate owes nothing to the others, a context of three tokens
    is larger than one of two, and a text may select nothing at all. So weights are no distribution
    (`normalised=False`, see `gate`), and divided by their sum they would no longer say which tokens
    are wholly in. How many are taken is the term `sparsity`'s business; without it nothing keeps a
    model from taking them all. The two shapes of a token's gate are softplus(w · h + c).
    """

    def __init__(self, size: int) -> None:
        super().__init__(GIVEN)
        self.shapes = nn.Linear(size, 2)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.shapes.weight, self.shapes.bias

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """The gates themselves."""
        gate = gates_of(features)
        return gate.sample() if self.training else gate.likeliest()

    def p_zero(self, states: Float[Tensor, "*b t d"]) -> Float[Tensor, "*b t"]:
        """How probably each token is left out altogether."""
        return gates_of(self.shapes(states)).p_zero()


def gates_of(features: Float[Tensor, "*b t 2"]) -> HardKuma:
    """One gate for each pair of features."""
    a, b = softplus(features).clamp(*_SHAPES).unbind(-1)
    return HardKuma(a, b)
