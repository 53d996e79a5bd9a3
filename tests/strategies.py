"""Shared hypothesis strategies: ragged batches of attention rows and of scores."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """Two sets of rows over the same positions; masked positions hold 0."""

    x: Float[Tensor, "n k"]
    y: Float[Tensor, "n k"]
    mask: Bool[Tensor, "n k"]

    def lists(self) -> list[tuple[list[float], list[float]]]:
        """Each row's unmasked values, as a reference wants them."""
        return [
            (x[m].tolist(), y[m].tolist())
            for x, y, m in zip(self.x, self.y, self.mask, strict=True)
        ]


@st.composite
def masks(draw: st.DrawFn, max_rows: int = 5, max_keys: int = 9) -> Bool[Tensor, "n k"]:
    """Any positions may be masked (start tokens too), never all; one-token rows are common."""
    n, k = draw(st.integers(1, max_rows)), draw(st.integers(1, max_keys))
    rows = []
    for _ in range(n):
        live = draw(st.sets(st.integers(0, k - 1), min_size=1, max_size=k))
        rows.append([position in live for position in range(k)])
    return torch.tensor(rows)


# Few and extreme values, so that ties, zeros and weights next to 0 and 1 are the rule.
MASSES = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-16, 1e-8, 1.0, 1.0, 3.0, 1e8]),
    st.floats(1e-3, 1.0, allow_nan=False),
)
SCORES = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, allow_nan=False))


@st.composite
def attention_pairs(draw: st.DrawFn) -> Rows:
    """Two attention distributions on each row."""
    mask = draw(masks())
    return Rows(_distribution(draw, mask), _distribution(draw, mask), mask)


@st.composite
def score_pairs(draw: st.DrawFn) -> Rows:
    """Two scores on each row, of any sign."""
    mask = draw(masks())
    return Rows(_fill(draw, mask, SCORES), _fill(draw, mask, SCORES), mask)


@st.composite
def attention_rows(draw: st.DrawFn) -> tuple[Float[Tensor, "n k"], Bool[Tensor, "n k"]]:
    """One attention distribution on each row, with its mask."""
    mask = draw(masks())
    return _distribution(draw, mask), mask


def _fill(draw: st.DrawFn, mask: Tensor, values: st.SearchStrategy[float]) -> Tensor:
    flat = [draw(values) if live else 0.0 for live in mask.flatten().tolist()]
    return torch.tensor(flat, dtype=torch.float64).reshape(mask.shape)


def _distribution(draw: st.DrawFn, mask: Tensor) -> Tensor:
    mass = _fill(draw, mask, MASSES)
    empty = mass.sum(-1, keepdim=True) == 0
    mass = torch.where(empty, mask.to(mass.dtype), mass)
    return mass / mass.sum(-1, keepdim=True)
