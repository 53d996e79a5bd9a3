"""Ties: what is equal but for rounding, and what is small beside a large weight but not equal."""

from __future__ import annotations

import pytest
import torch

from attention_rows import SITE, hand_made
from heedful.experiments.correlation import _measures
from heedful.experiments.deception import _unknown

LOO = torch.tensor([[3.0, 1.0, 2.0, 0.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("weights", "tau", "ties"),
    [
        ([1.0, 1e-14, 3e-14], 1.0, 0.0),  # of the same order as LOO, if by very little
        ([0.5, 0.25, 0.25 * (1 + 1e-15)], 2 / 6**0.5, 1 / 3),  # two that rounding tells apart
    ],
)
def test_attention_ties_only_where_weights_are_equal(
    weights: list[float], tau: float, ties: float
) -> None:
    """τ-b by hand: 3 of 3 pairs agree; or 2 of the 2 that are not tied, over √(2 · 3)."""
    each = hand_made([weights], [[[2.0], [-1.0], [-3.0]]], [0.0])
    view = each.rows(SITE)
    found = _measures(view, {"leave_one_out": LOO, "gradient": LOO}, 2)
    assert found["tau_loo"].item() == pytest.approx(tau)
    assert found["ties_attention"].item() == pytest.approx(ties)
    assert _unknown(view, LOO)["tau_loo"].item() == pytest.approx(tau)
