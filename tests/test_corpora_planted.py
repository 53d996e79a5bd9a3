"""The planted corpus: its rationales are the whole truth about its labels."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data import CORPORA, class_words, mirror
from heedful.data.planted import NEGATORS
from heedful.errors import HeedfulError

read = CORPORA["planted"].make


def label_by_rule(words: list[str], classes: int) -> int:
    """The class, from the rationale's words alone."""
    *negators, opinion = words
    label = next(c for c in range(classes) if opinion in class_words(c, classes))
    assert all(word in NEGATORS for word in negators) and len(negators) <= 1
    return mirror(label, classes) if negators else label


@settings(max_examples=40, deadline=None)
@given(
    classes=st.integers(2, 5),
    low=st.integers(1, 30),
    extra=st.integers(0, 20),
    distractors=st.integers(0, 3),
    shared=st.booleans(),
    negation=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_rationales_decide_and_lengths_hold(
    classes: int, low: int, extra: int, distractors: int, shared: bool, negation: float, seed: int
) -> None:
    high = max(6, low + extra)
    raw = read(
        None, 12, 2, 3, classes, low, high, distractors, shared, negation, noise=0.0, seed=seed
    )
    assert [e.split for e in raw.examples] == ["train"] * 12 + ["dev"] * 2 + ["test"] * 3
    for example in raw.examples:
        text = example.texts["a"]
        assert example.tokens is not None and example.rationales is not None
        tokens = example.tokens["a"]
        assert low <= len(tokens) <= high
        assert all(text[start:end] == word for word, start, end in tokens)
        words = [text[start:end] for start, end in example.rationales["a"]]
        assert label_by_rule(words, classes) == example.label


def test_an_example_does_not_depend_on_how_many_there_are() -> None:
    few, many = read(None, n_train=5, n_dev=0, n_test=2), read(None, n_train=50, n_dev=7, n_test=9)
    by_id = {example.id: example for example in many.examples}
    assert all(by_id[example.id] == example for example in few.examples)
    assert few.examples[0].id == "planted-train-00000"
    assert read(None, n_train=5, seed=1).examples[0] != few.examples[0]


def test_noise_changes_labels_only() -> None:
    clean, noisy = read(None, n_train=400), read(None, n_train=400, noise=0.25)
    changed = [a.label != b.label for a, b in zip(clean.examples, noisy.examples, strict=True)]
    assert [e.texts for e in clean.examples] == [e.texts for e in noisy.examples]
    assert 0.2 < sum(changed) / len(changed) < 0.3


def test_distractors_say_nothing_about_the_label() -> None:
    """Opinion words outside the rationale are as frequent in one class as in the other."""
    raw = read(None, n_train=2000, n_dev=0, n_test=0, shared_words=True, min_length=14)
    good = set(class_words(1, 2))
    outside = [[0, 0], [0, 0]]
    for example in raw.examples:
        assert example.tokens is not None and example.rationales is not None
        for word, start, end in example.tokens["a"]:
            if (
                word in good | set(class_words(0, 2))
                and (start, end) not in example.rationales["a"]
            ):
                outside[example.label][word in good] += 1
    shares = [counts[1] / sum(counts) for counts in outside]
    assert abs(shares[0] - shares[1]) < 0.08


@pytest.mark.parametrize(
    "params",
    [{"classes": 6}, {"classes": 1}, {"max_length": 5}, {"min_length": 9, "max_length": 8},
     {"negation": 1.5}, {"n_train": 0}, {"distractors": -1}],
)  # fmt: skip
def test_impossible_recipes_are_refused(params: dict[str, float]) -> None:
    with pytest.raises(HeedfulError, match="cannot be made"):
        read(None, **params)  # type: ignore[arg-type]


def test_the_version_goes_up_when_the_texts_change() -> None:
    lines = [
        f"{e.id} {e.label} {e.texts['a']} {e.rationales}" for e in read(None, 50, 5, 5).examples
    ]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (CORPORA["planted"].version, digest) == (1, "04bcedf50290ec15")
