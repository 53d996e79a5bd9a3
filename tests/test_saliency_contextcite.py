"""ContextCite beside a slow restatement, and where the right answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bag_of_words import bag_of_words
from heedful.attributions import SALIENCIES, ablations, contextcite, lasso, log_odds
from heedful.errors import HeedfulError
from heedful.models import probability
from heedful.perturbations import removed
from heedful.words import to_words, word_mask
from reference import contextcite as slow
from tiny import pick, tiny_batch, tiny_model
from word_batches import grouped


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 5), st.sampled_from([0.01, 0.1, 0.3]))
def test_the_regression_is_the_papers(seed: int, units: int, penalty: float) -> None:
    random = np.random.default_rng(seed)
    kept, values = random.random((12, units)) < 0.5, random.normal(size=12)
    if np.linalg.matrix_rank(kept - kept.mean(0)) < units:
        kept = kept[:, :1]  # else several weights are equally good
    found = lasso(kept.astype(float), values, penalty)
    assert found == pytest.approx(slow.lasso(kept.tolist(), values.tolist(), penalty), abs=2e-3)


def test_a_penalty_shrinks_each_weight_by_a_known_amount() -> None:
    """Over all subsets columns are orthogonal with deviation 1/2: weights shrink by λ / ½, to 0."""
    kept = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    values = 5 + kept @ np.array([2.0, -1.0, 0.03])
    assert lasso(kept, values, 0.1) == pytest.approx([1.8, -0.8, 0.0], abs=1e-6)
    assert lasso(kept, values, 1e-7) == pytest.approx([2.0, -1.0, 0.03], abs=1e-6)
    assert not lasso(kept, np.ones(8), 0.01).any()
    assert lasso(np.c_[kept[:, :1], np.ones(8)], kept[:, 0], 1e-7) == pytest.approx(
        [1, 0], abs=1e-6
    )


@pytest.mark.parametrize("operator", ["mask", "delete"])
def test_a_sum_of_words_is_recovered(operator: str) -> None:
    """The log-odds of a model that adds its words up are linear: their weights are its own."""
    model, batch = bag_of_words(), grouped((9, 4, 1, 12))
    text, ones = batch.texts["a"], torch.ones(4, dtype=torch.int64)
    expected = to_words(model.table[text.tokens] * text.mask, text)
    found = contextcite(model, batch, ones, samples=150, operator=operator, penalty=1e-7)
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=0)
    other = contextcite(model, batch, 1 - ones, samples=150, operator=operator, penalty=1e-7)
    torch.testing.assert_close(other, -found, atol=1e-3, rtol=0)


def test_scores_are_those_of_the_steps_one_by_one() -> None:
    model, batch = tiny_model("bilstm", classes=3, double=True), tiny_batch((4, 5), classes=3)
    found = contextcite(model, batch, batch.labels, samples=30, seed=3)
    there = word_mask(batch.texts["a"])
    gone = ablations(batch.ids, there, 30, 3)
    for example, length in enumerate((4, 5)):
        values = []
        for row in gone[example]:
            sets = torch.zeros_like(there).index_put((torch.tensor(example),), row)
            p = probability(removed(model, batch, sets, "delete"), batch.labels)[example]
            values.append(slow.log_odds(float(p)))
        kept = (~gone[example, :, :length]).tolist()
        wanted = slow.lasso(kept, values, 0.01, rounds=300)
        assert found[example, :length].tolist() == pytest.approx(wanted, abs=2e-3)
        assert not found[example, length:].any()


def test_units_are_kept_by_half_and_apart_from_padding_and_order() -> None:
    there = torch.ones(3, 40, dtype=torch.bool)
    there[1, 7] = False
    gone = ablations(("a", "b", "c"), there, 500, 0)
    assert not gone[1, :, 7].any()
    assert float(gone[0].double().mean()) == pytest.approx(0.5, abs=0.02)
    assert torch.equal(gone[:, :20, :9], ablations(("a", "b", "c"), there[:, :9], 20, 0))
    assert torch.equal(gone[[2]], ablations(("c",), there[[2]], 500, 0))
    assert not torch.equal(gone, ablations(("a", "b", "c"), there, 500, 1))


def test_padding_changes_nothing() -> None:
    model, batch = tiny_model(double=True), tiny_batch((6, 3))
    scores = contextcite(model, batch, batch.labels, samples=20)
    one = pick(batch, [1])
    alone = contextcite(model, one, one.labels, samples=20)
    torch.testing.assert_close(scores[1:, :3], alone, atol=1e-9, rtol=0)


def test_log_odds_hold_where_probabilities_are_one() -> None:
    logits = torch.tensor([[0.0, 90.0, 0.0], [1.0, 2.0, 0.5]])
    found = log_odds(logits, torch.tensor([1, 0]))
    assert float(found[0]) == pytest.approx(90 - np.log(2))
    p = float(torch.softmax(logits[1].double(), -1)[0])
    assert float(found[1]) == pytest.approx(slow.log_odds(p))
    assert log_odds(torch.tensor([[3.0]]), torch.tensor([0])).tolist() == [-3.0]


def test_it_declares_what_it_does() -> None:
    entry = SALIENCIES["contextcite"]
    assert entry.uses == ("=operator",) and entry.signed and entry.level == "words"
    with pytest.raises(HeedfulError, match="samples is 1"):
        contextcite(tiny_model(), tiny_batch((3,)), torch.zeros(1).long(), samples=1)
