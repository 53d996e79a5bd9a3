"""Ties by tolerance: rounding must not decide which scores are equal."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from heedful.metrics import first_largest, tied_ranks


def ranks(*scores: float, own_scale: bool = False, tolerance: float = 1e-6) -> list[int]:
    x = torch.tensor([scores], dtype=torch.float64)
    return tied_ranks(x, torch.ones_like(x, dtype=torch.bool), tolerance, own_scale)[0].tolist()


def test_golden() -> None:
    assert ranks(0.3, 0.1, 0.2, 0.1) == [2, 0, 1, 0]
    assert ranks(1.0, 0.5, 0.5 + 1e-7) == [1, 0, 0]
    assert ranks(1.0, 1e-9, 2e-9) == [1, 0, 0]


def test_small_weights_keep_their_order_on_their_own_scale() -> None:
    assert ranks(1.0, 1e-9, 2e-9, own_scale=True) == [2, 0, 1]
    assert ranks(1.0, 1e-9, 1e-9 + 1e-17, own_scale=True) == [1, 0, 0]
    assert ranks(0.0, 0.0, 1.0, own_scale=True) == [0, 0, 1]


def test_masked_positions_are_no_neighbours() -> None:
    x = torch.tensor([[0.1, 0.1, 0.2, 0.0]], dtype=torch.float64)
    mask = torch.tensor([[True, False, True, False]])
    for own_scale in (False, True):
        assert tied_ranks(x, mask, 1e-6, own_scale).tolist() == [[0, -1, 1, -1]]


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=12), st.booleans())
def test_well_apart_scores_rank_as_they_are(scores: list[int], own_scale: bool) -> None:
    expected = (rankdata(scores, method="dense") - 1).tolist()
    assert ranks(*map(float, scores), own_scale=own_scale) == expected


def test_of_the_largest_scores_that_tie_the_first_is_taken() -> None:
    x = torch.tensor([[0.1, 0.7, 0.7 + 1e-8, 9.0], [0.7 + 1e-8, 0.1, 0.7, 9.0]])
    mask = torch.tensor([[True, True, True, False]] * 2)
    assert first_largest(x, mask, 1e-6).tolist() == [1, 0]
    assert first_largest(x.double(), mask, 0.0).tolist() == [2 if x[0, 2] > x[0, 1] else 1, 0]
    assert first_largest(-x, mask, 1e-6).tolist() == [0, 1]
