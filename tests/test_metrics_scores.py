"""F1, accuracy and ROC-AUC against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as sk

from heedful.metrics import accuracy, f1, roc_auc


def binary(*positive: float) -> np.ndarray:
    p = np.array(positive)
    return np.stack([1 - p, p], 1)


def test_by_hand() -> None:
    labels, p = np.array([1, 1, 0, 0, 0]), binary(0.9, 0.2, 0.8, 0.1, 0.3)
    # One true positive, one false positive, one miss: F1 = 2/(2 + 1 + 1).
    assert f1(labels, p) == pytest.approx(0.5)
    assert accuracy(labels, p) == pytest.approx(0.6)
    # Of 6 pairs, 0.9 wins 3 and 0.2 wins 1.
    assert roc_auc(labels, p) == pytest.approx(4 / 6)


def test_one_half_predicts_class_0() -> None:
    assert accuracy(np.array([0]), binary(0.5)) == 1.0


@pytest.mark.parametrize("classes", [2, 4])
def test_equal_to_scikit_learn(classes: int) -> None:
    random = np.random.default_rng(classes)
    p = random.dirichlet(np.ones(classes), 300)
    labels = np.array([random.choice(classes, p=row) for row in p])
    average, scores = ("binary", p[:, 1]) if classes == 2 else ("macro", p)
    assert f1(labels, p) == pytest.approx(sk.f1_score(labels, p.argmax(1), average=average))
    assert accuracy(labels, p) == pytest.approx(sk.f1_score(labels, p.argmax(1), average="micro"))
    expected = sk.roc_auc_score(labels, scores, multi_class="ovr", average="macro")
    assert roc_auc(labels, p) == pytest.approx(expected)


def test_one_class_is_nan_or_defined_but_never_an_error() -> None:
    zeros, ones = np.zeros(3, dtype=int), np.ones(3, dtype=int)
    assert math.isnan(roc_auc(zeros, binary(0.1, 0.2, 0.9)))
    assert math.isnan(roc_auc(ones, binary(0.1, 0.2, 0.9)))
    assert math.isnan(f1(zeros, binary(0.1, 0.2, 0.3)))  # class 1 is nowhere
    assert f1(zeros, binary(0.1, 0.2, 0.9)) == 0.0
    assert f1(ones, binary(0.9, 0.9, 0.1)) == pytest.approx(0.8)


def test_classes_without_examples_are_left_out_of_the_mean() -> None:
    p = np.eye(3)[[0, 0, 1, 1]]
    assert f1(np.array([0, 0, 1, 1]), p) == 1.0
    assert roc_auc(np.array([0, 0, 1, 1]), p) == 1.0


def test_no_example_is_nan() -> None:
    none = np.zeros(0, dtype=int), np.zeros((0, 2))
    assert math.isnan(accuracy(*none)) and math.isnan(roc_auc(*none)) and math.isnan(f1(*none))
