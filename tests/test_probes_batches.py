"""Batches are a matter of memory: rows are the same whatever their size and the data's order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heedful.data import Split
from probing import FITTING, LENGTHS, find, table
from tiny import tiny_model, tiny_split

PARAMS: dict[str, dict[str, Any]] = {
    "extracted": {"epochs": 30},
    "input_reduction": {"limit": 3},
    "fragility": {"limit": 3, "steps": 2, "swaps": 2},
    "adversarial": {"search_steps": 25, "search_candidates": 2, "k": 2},
    "substitution": {"resamples": 20},
    "guides": {"resamples": 20},
    "seeds": {"count": 3},
    "frontier": {"weights": (0.0, 1.0), "labels": (1.0,)},
    "score": {"resamples": 20},
}


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


MANY = tuple(1 + (7 * n) % 11 for n in range(40))
CHOOSING = ("adversarial", "correlation", "erasure", "importance_sets", "mutual_information")
"""They choose among words, corners or clusters, so near-ties are to be met: in many texts."""
NEAR = 1e-4
"""What the command line promises of rows in single precision."""


def twice(split: Split) -> Split:
    """Every text with all of its words a second time: they tie, up to rounding."""
    side = split.sides["a"]
    tokens = [np.concatenate([ids[:-1], ids[1:]]) for ids in side.tokens]
    none = [np.zeros(len(ids) - 2, dtype=np.int32) for ids in tokens]
    doubled = replace(side, tokens=tokens, starts=none, ends=none, sentences=none)
    return replace(split, sides={"a": doubled})


@pytest.mark.parametrize(
    ("encoder", "attention", "classes", "seed"),
    [("bilstm", "additive", 2, 0), ("cnn", "dot", 3, 1), ("average", "additive", 2, 2)],
)
@pytest.mark.parametrize("name", FITTING)
def test_in_single_precision_rows_and_maps_are_nearly_the_same(
    name: str, encoder: str, attention: str, classes: int, seed: int
) -> None:
    """Words that tie, corners of the polytope that are as far, what a search begins with, and
    clusters fall the same way, whatever else is in the batch."""
    split = twice(tiny_split(MANY if name in CHOOSING else LENGTHS, seed, classes))
    model = tiny_model(encoder, attention, classes, seed=seed)
    one, *others = (find(name, model, split, size, **PARAMS.get(name, {})) for size in (1, 3, 32))
    for other in others:
        assert list(one.rows["measure"]) == list(other.rows["measure"])
        np.testing.assert_allclose(one.rows["value"], other.rows["value"], atol=NEAR, rtol=0)
        if one.maps is not None and other.maps is not None:
            assert list(one.maps["map"]) == list(other.maps["map"])
            for ours, theirs in zip(one.maps["scores"], other.maps["scores"], strict=True):
                np.testing.assert_allclose(ours, theirs, atol=NEAR, rtol=0)


@pytest.mark.parametrize("name", FITTING)
def test_the_order_of_the_data_changes_no_example(name: str) -> None:
    split = tiny_split(LENGTHS)
    order = [3, 0, 7, 5, 1, 6, 2, 4]
    model = tiny_model("lstm", "dot", double=True)
    params = PARAMS.get(name, {})
    straight = table(find(name, model, split, 4, **params), split)
    shuffled = find(name, model, split.subset(order), 4, **params)
    measured = list(dict.fromkeys(shuffled.rows["example"]))
    assert measured == [split.ids[i] for i in order if split.ids[i] in measured]
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
