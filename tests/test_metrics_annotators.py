"""Agreement of annotators against scikit-learn, a slow restatement, and Krippendorff's examples."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from heedful.metrics import cohen_kappa, krippendorff
from reference.annotators import alpha

NO = None
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", examples A and C.
TWO = ((0, 1, 0, 0, 0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1, 0, 0, 0, 0))
FOUR = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3),
    (NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO),
)
Answers = tuple[tuple[int | None, ...], ...]


def numbers(answers: Answers) -> np.ndarray:
    return np.array([[math.nan if v is None else v for v in row] for row in answers], dtype=float)


@pytest.mark.parametrize(("answers", "printed"), [(TWO, 0.095), (FOUR, 0.743)])
def test_alpha_is_that_of_the_textbook(answers: Answers, printed: float) -> None:
    assert krippendorff(numbers(answers)) == pytest.approx(printed, abs=5e-4)
    assert alpha(answers) == pytest.approx(printed, abs=5e-4)


@given(st.integers(2, 5), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_alpha_is_the_restated_one(people: int, items: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    drawn = random.integers(-1, 3, (people, items))
    answers = tuple(tuple(None if v < 0 else int(v) for v in row) for row in drawn)
    found = krippendorff(numbers(answers))
    if math.isnan(found):
        compared = [v for v in zip(*answers, strict=True) if sum(x is not None for x in v) > 1]
        assert len({x for v in compared for x in v if x is not None}) < 2
    else:
        assert found == pytest.approx(alpha(answers), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_kappa_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(column) for column in zip(*pairs, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = cohen_kappa_score(one, other)
    assert cohen_kappa(one, other) == pytest.approx(wanted, nan_ok=True)


def test_kappa_by_hand() -> None:
    one, other = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
    assert cohen_kappa(one, other) == pytest.approx((0.75 - 0.5) / 0.5)
    assert math.isnan(cohen_kappa(np.array([], dtype=int), np.array([], dtype=int)))
