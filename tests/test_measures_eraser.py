"""ERASER's own definitions by hand, against loops, and against scikit-learn."""

from __future__ import annotations

import math
import random
from statistics import fmean

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, precision_recall_curve
from torch import Tensor

from bag_of_words import BagOfWords, sigmoid, weights_as_scores
from counting import Counting
from heedful.experiments import (
    BINS,
    comprehensiveness,
    curves_of,
    eraser_erasure,
    eraser_plausibility,
)
from heedful.experiments.rationale import ERASER_MEASURES
from heedful.metrics import auprc_by_trapezoids, f1_of_means
from heedful.perturbations import Memory, WordRemoval
from heedful.types import Batch
from reference import eraser as slow
from strategies import masks
from tiny import END, START, batch_of

A, B, X, Y = 10, 11, 20, 21
BITS = st.randoms(use_true_random=False)


def text(*words: int) -> Batch:
    return batch_of([[START, *words, END]], ("text",), [1], 0)


def erased(model: BagOfWords, batch: Batch, scores: Tensor) -> dict[str, float]:
    one = curves_of(WordRemoval(model, batch, torch.tensor([1]), "delete"), {"one": scores}, BINS)
    return {name: value.item() for name, value in eraser_erasure(one["one"]).items()}


def test_bins_on_paper() -> None:
    """Four words: 1, 5, 10 and 20% come to one word (A), 50% to two (A and B)."""
    model, batch = BagOfWords({A: 2.0, B: 1.0}, bias=-0.5), text(A, X, Y, B)
    found = erased(model, batch, weights_as_scores(model, batch))
    p = {x: sigmoid(x) for x in (2.5, 1.5, 0.5, -0.5)}
    fall = p[2.5] - (4 * p[0.5] + p[-0.5]) / 5
    assert found["eraser_comprehensiveness"] == pytest.approx(fall)
    assert found["eraser_sufficiency"] == pytest.approx(p[2.5] - (4 * p[1.5] + p[2.5]) / 5)


@pytest.mark.parametrize("length", [3, 40, 120])
def test_bins_equal_loops_and_are_not_ours(length: int) -> None:
    draw = random.Random(length)
    weights = {token: draw.uniform(-1, 1) for token in range(10, 60)}
    words = [draw.choice(list(weights)) for _ in range(length)]
    model, batch = BagOfWords(weights, bias=0.1), text(*words)
    scores = torch.tensor([[draw.random() for _ in words]]).double()
    order = scores[0].argsort(descending=True).tolist()

    def p(left: set[int]) -> float:
        return sigmoid(0.1 + sum(weights[words[place]] for place in left))

    found = erased(model, batch, scores)
    assert found["eraser_comprehensiveness"] == pytest.approx(slow.aopc(p, order), abs=1e-6)
    assert found["eraser_sufficiency"] == pytest.approx(slow.aopc(p, order, True), abs=1e-6)
    ours = curves_of(WordRemoval(model, batch, torch.tensor([1]), "delete"), {"one": scores})["one"]
    assert comprehensiveness(ours).item() != pytest.approx(found["eraser_comprehensiveness"])


def test_only_what_was_not_asked_before_costs_a_pass() -> None:
    """Of 40 words, 1% is one word: without it, and it alone. All else is known."""
    weights = {number: float(number % 7) for number in range(10, 50)}
    model, batch, memory = Counting(BagOfWords(weights, 0.0)), text(*weights), Memory()
    maps = {"one": torch.rand(1, 40, dtype=torch.float64)}
    label = torch.tensor([1])
    curves_of(WordRemoval(model, batch, label, memory=memory), maps)
    asked = len(memory)
    curves_of(WordRemoval(model, batch, label, memory=memory), maps, BINS)
    assert len(memory) == asked + 2
    alone = Memory()
    curves_of(WordRemoval(model, batch, label, memory=alone), maps, BINS)
    assert len(alone) == 1 + 2 * len(BINS.shares)  # the whole text, and two for each bin
    assert model.rows == len(memory) + len(alone)


@given(masks(), BITS)
def test_auprc_equals_scikit_learns_and_loops(mask: Tensor, draw: random.Random) -> None:
    marked = torch.tensor([draw.random() < 0.5 for _ in range(mask.numel())]).reshape(mask.shape)
    levels = [float(draw.randint(-2, 2)) for _ in range(mask.numel())]
    scores = torch.tensor(levels).double().reshape(mask.shape).masked_fill(~mask, 9.0)
    for row, found in enumerate(auprc_by_trapezoids(scores, marked, mask).tolist()):
        inside, shown = marked[row][mask[row]].tolist(), scores[row][mask[row]].tolist()
        if not any(inside):
            assert math.isnan(found)
            continue
        assert found == pytest.approx(slow.auprc(shown, inside))
        precision, recall, _ = precision_recall_curve(inside, shown)
        assert found == pytest.approx(auc(recall, precision))


def test_auprc_on_paper() -> None:
    """The second of three words is marked: precision 0, then ½ at full recall. Half of the
    area of average precision, which is ½."""
    scores, mask = torch.tensor([[3.0, 2.0, 1.0]]), torch.ones(1, 3, dtype=torch.bool)
    marked = torch.tensor([[False, True, False]])
    assert auprc_by_trapezoids(scores, marked, mask).item() == pytest.approx(0.25)
    assert auprc_by_trapezoids(scores, mask, mask).item() == 1.0


def test_words_and_spans_on_paper() -> None:
    """Ten words of which rationales have a fifth on average: the top two are chosen, words 0 and
    1. Marked are 1 to 3: one of two is right, one of three found, and IOU is a quarter."""
    mask = torch.ones(2, 10, dtype=torch.bool)
    scores = torch.arange(10, 0, -1).double().expand(2, -1)
    marked = torch.zeros(2, 10, dtype=torch.bool)
    marked[0, 1:4] = marked[1, :3] = marked[1, 8] = True
    found = eraser_plausibility(scores, marked, mask, ("a", "b"), 0.2)
    assert found["eraser_token_precision"].tolist() == [0.5, 1.0]
    assert found["eraser_token_recall"].tolist() == pytest.approx([1 / 3, 0.5])
    assert found["eraser_token_f1"].tolist() == pytest.approx([0.4, 2 / 3])
    assert found["eraser_iou_precision"].tolist() == [0.0, 1.0]  # 0–1 meets 0–2 at two thirds
    assert found["eraser_iou_recall"].tolist() == [0.0, 0.5]


@given(masks(), BITS, st.floats(0.05, 1.0))
def test_words_and_spans_equal_loops(mask: Tensor, draw: random.Random, share: float) -> None:
    marked = torch.tensor([draw.random() < 0.4 for _ in range(mask.numel())]).reshape(mask.shape)
    order = draw.sample(range(mask.numel()), mask.numel())  # no ties
    scores = torch.tensor(order).double().reshape(mask.shape)
    ids = tuple(f"text-{i}" for i in range(len(mask)))
    found = eraser_plausibility(scores, marked, mask, ids, share)
    assert set(found) | {"eraser_comprehensiveness", "eraser_sufficiency"} == set(ERASER_MEASURES)
    for row in range(len(mask)):
        shown, inside = scores[row][mask[row]].tolist(), marked[row][mask[row]].tolist()
        values = {name: each[row].item() for name, each in found.items()}
        if not any(inside):
            assert all(map(math.isnan, values.values()))
            continue
        size = math.ceil(share * len(shown) - 1e-9)
        best = sorted(range(len(shown)), key=lambda i: -shown[i])[:size]
        chosen = [i in best for i in range(len(shown))]
        tokens, spans = slow.token_scores(chosen, inside), slow.span_scores(chosen, inside)
        assert (values["eraser_token_precision"], values["eraser_token_recall"]) == tokens
        assert (values["eraser_iou_precision"], values["eraser_iou_recall"]) == spans
        assert values["eraser_token_f1"] == pytest.approx(slow.f1(*tokens))


def test_f1_of_means_is_no_mean_of_f1() -> None:
    precision, recall = np.array([1.0, 0.5, np.nan]), np.array([0.5, 1.0, 1.0])
    assert f1_of_means(precision, recall) == pytest.approx(0.75)
    assert fmean(map(slow.f1, precision[:2], recall[:2])) == pytest.approx(2 / 3)
    assert f1_of_means(np.zeros(2), np.zeros(2)) == 0.0
    assert math.isnan(f1_of_means(np.array([np.nan]), np.array([1.0])))


def test_a_score_that_is_no_number_has_no_measure() -> None:
    mask, marked = torch.ones(1, 2, dtype=torch.bool), torch.tensor([[True, False]])
    found = eraser_plausibility(torch.tensor([[1.0, torch.nan]]), marked, mask, ("a",), 0.5)
    assert all(math.isnan(value.item()) for value in found.values())
