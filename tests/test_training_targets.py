"""Targets: what a writing model is trained on, chosen by, and asked at one step."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from heedful.data import Side, Split, at_a_quarter
from heedful.specs import END, START, TermSpec, TrainSpec
from heedful.training import (
    Objective,
    least,
    likelihood,
    loss_of,
    selector,
    target_loss,
    target_steps,
)
from heedful.training.loop import _pace
from heedful.types import SiteCall, SiteSpec, Trace
from tiny_pairs import pairs_of, tiny_pairs, tiny_writer


def split_of(targets: list[list[int]]) -> Split:
    def side(rows: list[list[int]]) -> Side:
        tokens = [np.array([START, *row, END], dtype=np.int32) for row in rows]
        places = [np.arange(len(row), dtype=np.int32) for row in rows]
        texts = ["x" * len(row) for row in rows]
        nothing = [None] * len(rows)
        return Side(tokens, texts, places, [p + 1 for p in places], nothing, places)

    ids = tuple(f"pair-{i}" for i in range(len(targets)))
    sides = {"a": side([[4, 5]] * len(targets)), "b": side(targets)}
    return Split(ids, torch.zeros(len(targets), dtype=torch.int64), sides)


def test_a_target_is_cut_after_a_quarter_and_the_next_word_is_the_label() -> None:
    """Of 1, 4, 5, 9 tokens 0, 1, 1, 2 are given."""
    split = at_a_quarter(split_of([[7], [4, 5, 6, 7], [4, 5, 6, 7, 8], list(range(4, 13))]))
    assert split.labels.tolist() == [7, 5, 5, 6]
    batch = split.batch([0, 1, 2, 3])
    text = batch.texts["b"]
    assert text.lengths.tolist() == [1, 2, 2, 3]
    assert text.tokens[3].tolist() == [START, 4, 5]
    assert text.mask[0].tolist() == [False, False, False]  # the start is no word of the text
    assert text.mask[3].tolist() == [False, True, True]  # and there is no end
    assert batch.texts["a"].mask.sum(-1).tolist() == [2] * 4


def test_an_empty_targets_next_word_is_its_end() -> None:
    assert at_a_quarter(split_of([[]])).labels.tolist() == [END]


def test_the_loss_is_the_mean_over_all_tokens_and_ends_of_a_batch() -> None:
    """Two targets of 1 and 2 tokens: five steps, of which padding's is none."""
    batch = pairs_of([[2, 4, 3], [2, 4, 3]], [[2, 5, 3], [2, 5, 6, 3]])
    logits = torch.randn(2, 4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    trace = Trace(logits[:, -1], {}, {}, step_logits=logits)
    p = logits.log_softmax(-1)
    steps = [(0, 0, 5), (0, 1, 3), (1, 0, 5), (1, 1, 6), (1, 2, 3)]
    by_hand = -sum(float(p[i, t, word]) for i, t, word in steps) / len(steps)
    assert target_loss()(trace, batch).item() == pytest.approx(by_hand, rel=1e-12)
    assert target_steps(trace, batch)[2].sum() == len(steps)
    smooth = target_loss(0.3)(trace, batch).item()
    spread = -sum(float(p[i, t].mean()) for i, t, _ in steps) / len(steps)
    assert smooth == pytest.approx(0.7 * by_hand + 0.3 * spread, rel=1e-12)


def test_likelihood_does_not_depend_on_how_targets_are_batched() -> None:
    model = tiny_writer("additive")
    split = split_of([[4, 5, 6, 7], [5], [6, 7, 8]])
    alone = [likelihood(model, split.subset([i]), "cpu").score for i in range(3)]
    tokens = [5, 2, 4]  # the end counts
    together = sum(a * n for a, n in zip(alone, tokens, strict=True)) / sum(tokens)
    assert likelihood(model, split, "cpu") == pytest.approx((together, -together), rel=1e-9)


@pytest.mark.parametrize("goal", ["labels", "teacher"])
def test_the_least_loss_does_not_depend_on_how_targets_are_batched(goal: str) -> None:
    """Of tokens the goal's is a mean, of examples the term's."""
    model, teacher = tiny_writer("additive"), tiny_writer("additive", seed=1)
    split = split_of([[4, 5, 6, 7], [5], [6, 7, 8], [4], [9, 8, 7, 6, 5, 4, 9]])
    corpus: Any = SimpleNamespace(task="generation", split=lambda name: split)
    objective = Objective(goal, (TermSpec("apart", 0.5),), teacher)
    lossy = loss_of(model, corpus, TrainSpec(), objective)
    found = [least(lossy, True, size)(model, split, "cpu") for size in (1, 2, 3, 64)]
    scores = [score for score, _ in found]
    assert scores == pytest.approx([scores[-1]] * 4, rel=1e-9)
    with torch.no_grad():
        parts = lossy(split.batch(range(len(split))))[1]
    assert found[0].loss == pytest.approx(sum(map(float, parts.values())), rel=1e-9)
    assert found[0].score == -found[0].loss
    assert selector(TrainSpec(select="loss"), "generation", lossy)(
        model, split, "cpu"
    ) == pytest.approx(found[0], rel=1e-9)


def test_the_learning_rate_rises_in_a_line_and_falls_as_the_root() -> None:
    assert [_pace(step, 0) for step in (1, 100)] == [1.0, 1.0]
    assert [_pace(step, 4) for step in (1, 2, 4, 16)] == [0.25, 0.5, 1.0, 0.5]
    assert _pace(400, 4) == pytest.approx(math.sqrt(4 / 400))


@pytest.mark.parametrize("step", [0, 2])
def test_a_call_takes_its_own_queries(step: int) -> None:
    whole = torch.rand(2, 1, 4, 3)
    one = SiteCall(
        SiteSpec("attention", "a", "tokens", False),
        torch.rand(2, 1, 1, 3),
        torch.ones(2, 1, 1, 3, dtype=torch.bool),
        ("x", "y"),
        step,
    )
    assert torch.equal(one.queries(whole), whole[:, :, step : step + 1])
    every = SiteCall(one.site, torch.rand(2, 1, 4, 3), one.mask, one.ids)
    assert torch.equal(every.queries(whole), whole)


def test_attention_can_be_held_while_a_target_is_written() -> None:
    """A uniform first step, later steps at their own weights: held, the edit alone differs."""
    from heedful.interventions import held

    model, batch = tiny_writer("additive"), tiny_pairs([3, 2], [3, 3])
    with torch.no_grad():
        trace = model(batch)
        same = model(batch, held(model, trace, {"attention": lambda call: call.weights}))
    torch.testing.assert_close(same.logits, trace.logits, rtol=0, atol=1e-12)
