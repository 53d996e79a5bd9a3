"""Labels of data and model: matched by map, name or number, or refused with both sides."""

from __future__ import annotations

import pytest

from heedful.errors import HeedfulError
from heedful.targets import match_labels

NAMELESS = ("LABEL_0", "LABEL_1")


def test_labels_match_by_name_number_or_map() -> None:
    assert match_labels(["positive", "Negative"], ["NEGATIVE", "POSITIVE"]) == (1, 0)
    assert match_labels(["hatespeech"], ["hate speech", "normal"]) == (0,)
    assert match_labels(["0", "2"], ["a", "b", "c"]) == (0, 2)
    assert match_labels(["1", "0"], NAMELESS) == (1, 0)
    assert match_labels(["1", "2"], ["2", "1"]) == (1, 0)
    assert match_labels(["pos", "NEG"], NAMELESS, {"POS": "label_1", "neg": 0}) == (1, 0)


def test_the_sign_of_a_number_tells_labels_apart() -> None:
    """−1 for negative and 1 for positive are usual, and no two of them are one class."""
    signed = {"-1": "negative", "1": "positive"}
    assert match_labels(["-1", "1"], ["negative", "positive"], signed) == (0, 1)
    assert match_labels(["-1", "1"], ["1", "-1"]) == (1, 0)
    assert match_labels(["- 0.5", "0.5"], ["0.5", "-0.5"]) == (1, 0)
    with pytest.raises(HeedfulError, match="do not match"):
        match_labels(["-1", "1"], ["0", "1"])
    assert match_labels(["label-1"], NAMELESS) == (1,)  # here it is a hyphen


def test_numbers_decide_only_where_the_data_numbers_its_own() -> None:
    assert match_labels(["pos"], NAMELESS, numbers=("neg", "pos")) == (1,)
    with pytest.raises(HeedfulError, match="do not match"):
        match_labels(["pos"], NAMELESS)
    with pytest.raises(HeedfulError, match="do not match"):
        match_labels(["pos"], ("good", "evil"), numbers=("neg", "pos"))


def test_a_mismatch_shows_both_sides() -> None:
    with pytest.raises(HeedfulError, match=r"'neg', 'pos', the model has 'LABEL_0'.*label_map="):
        match_labels(["neg", "pos"], NAMELESS)
    with pytest.raises(HeedfulError, match=r"--label-map neg=CLASS,…\)\.$"):  # nothing is guessed
        match_labels(["neg", "pos"], NAMELESS)
    with pytest.raises(HeedfulError, match="the data has '1', '2', '3'"):
        match_labels(["1", "2", "3"], ["a", "b", "c"])
    for given in ({"neg": "LABEL_0"}, {"neg": "LABEL_0", "pos": "LABEL_7"}, {"neg": 0, "pos": 2}):
        with pytest.raises(HeedfulError, match="the label_map .* does not lead"):
            match_labels(["neg", "pos"], NAMELESS, given)
