"""HardKuma (Bastings et al. 2019): a random gate that is often exactly 0 or exactly 1, and that
gradients pass through.

A Kumaraswamy variable, with F(x) = 1 − (1 − xᵃ)ᵇ on (0, 1), is stretched to (−0.1, 1.1); what
lies outside of [0, 1] becomes 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

LOW, HIGH = -0.1, 1.1
_LEAST_DRAW = 1e-6  # a draw of 0 or 1 has no slope


@dataclass(frozen=True)
class HardKuma:
    """One variable for each pair of shapes, both above 0."""

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
