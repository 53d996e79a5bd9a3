"""Hard selection (Bastings et al. 2019): each token is taken, left, or, seldom, taken in part.

Gates are drawn in training; afterwards each is the likeliest of 0, 1 and between. They mix the
states as they are, z · h: a token's gate owes nothing to the others, a context of three tokens
is larger than one of two, and a text may select nothing at all. So weights are no distribution
(`normalised=False`, see `gate`), and divided by their sum they would no longer say which
tokens are wholly in. How many are taken is the term `sparsity`'s business; without it nothing
keeps a model from taking them all.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from heedful.catalogue import Piece
from heedful.models.attention.attention import TokenAttention
from heedful.models.attention.hard_kuma import HardKuma
from heedful.models.attention.weighting import GIVEN

_SHAPES = (1e-3, 100.0)  # beyond them a gate is 0 or 1 for sure, and powers leave float32


class Hard(TokenAttention):
    """The two shapes of a token's gate are softplus(w · h + c)."""

    def __init__(self, size: int) -> None:
        super().__init__(GIVEN)
        self.shapes = nn.Linear(size, 2)

    def linear(self) -> tuple[Float[Tensor, "f d"], Float[Tensor, " f"]]:
        return self.shapes.weight, self.shapes.bias

    def scores(self, features: Float[Tensor, "*b t f"]) -> Float[Tensor, "*b t"]:
        """The gates themselves."""
        gate = _gate(features)
        return gate.sample() if self.training else gate.likeliest()

    def p_zero(self, states: Float[Tensor, "*b t d"]) -> Float[Tensor, "*b t"]:
        """How probably each token is left out altogether."""
        return _gate(self.shapes(states)).p_zero()


def _gate(features: Float[Tensor, "*b t 2"]) -> HardKuma:
    a, b = softplus(features).clamp(*_SHAPES).unbind(-1)
    return HardKuma(a, b)


PIECE = Piece(
    name="hard",
    description="HardKuma gates, most of them exactly 0 or 1; weights do not sum to 1",
    make=Hard,
    citation="Bastings et al. 2019, Interpretable Neural Predictions with Differentiable Binary "
    "Variables, ACL",
)
