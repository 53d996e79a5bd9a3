"""Batches are a matter of memory: rows are the same whatever their size and the data's order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from probing import FITTING, LENGTHS, find, table
from tiny import tiny_model, tiny_split

PARAMS: dict[str, dict[str, Any]] = {
    "extracted": {"epochs": 30},
    "adversarial": {"search_steps": 25, "search_candidates": 2, "k": 2},
    "substitution": {"resamples": 20},
    "guides": {"resamples": 20},
    "seeds": {"count": 3},
    "frontier": {"weights": (0.0, 1.0), "labels": (1.0,)},
    "score": {"resamples": 20},
}
# What may jump where two tokens or two corners of the polytope are as good as tied.
JUMPS = (
    *("tau", "overlap", "ties", "flips", "fixed", "correct", "entropy", "tvd_a", "tvd_s"),
    *("mass_agreeing", "tokens_agreeing"),
)
FOUND = ("jsd_search", "jsd_entropy_matched", "tvd_entropy_matched")


def run(name: str, double: bool, classes: int, batch_size: int, encoder: str) -> pd.DataFrame:
    split = tiny_split(LENGTHS)
    model = tiny_model(encoder, "additive", classes, double=double)
    found = find(name, model, split, batch_size, **PARAMS.get(name, {}))
    return table(found, split)


@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", FITTING)
def test_in_double_precision_every_number_is_the_same(
    name: str, classes: int, encoder: str
) -> None:
    one, many = (run(name, True, classes, size, encoder) for size in (1, 64))
    np.testing.assert_allclose(one, many, atol=1e-9, rtol=0)


@pytest.mark.parametrize(("encoder", "classes"), [("bilstm", 2), ("cnn", 3)])
@pytest.mark.parametrize("name", FITTING)
def test_in_single_precision_only_ties_may_break(name: str, classes: int, encoder: str) -> None:
    one, many = (run(name, False, classes, size, encoder) for size in (1, 64))
    assert list(one) == list(many)
    for measure in one:
        apart = (one[measure] - many[measure]).abs()
        assert (one[measure].isna() == many[measure].isna()).all()
        if measure.startswith(JUMPS + FOUND):
            assert (apart > 1e-4).sum() <= 1, measure
        else:
            assert not (apart > 1e-4).any(), measure


@pytest.mark.parametrize("name", FITTING)
def test_the_order_of_the_data_changes_no_example(name: str) -> None:
    split = tiny_split(LENGTHS)
    order = [3, 0, 7, 5, 1, 6, 2, 4]
    model = tiny_model("lstm", "dot", double=True)
    params = PARAMS.get(name, {})
    straight = table(find(name, model, split, 4, **params), split)
    shuffled = find(name, model, split.subset(order), 4, **params)
    assert shuffled.rows["example"].tolist()[:8] == [split.ids[i] for i in order]
    np.testing.assert_allclose(table(shuffled, split), straight, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", FITTING)
def test_a_text_without_tokens_takes_nothing_from_the_others(name: str) -> None:
    """It has no row, and every other row is keyed by its own text."""
    split = tiny_split((4, 0, 6, 3))
    model = tiny_model("cnn", "dot", double=True)
    found = find(name, model, split, **PARAMS.get(name, {}))
    assert "text-1" not in set(found.rows["example"])
    rest = split.subset([0, 2, 3])
    expected = table(find(name, model, rest, **PARAMS.get(name, {})), rest)
    np.testing.assert_allclose(table(found, rest), expected, atol=1e-9, rtol=0)
