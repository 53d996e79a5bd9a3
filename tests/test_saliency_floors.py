"""The floors: noise, and what words and places say without the model."""

from __future__ import annotations

from math import log

import pytest
import torch

from heedful.attributions import Prior, explain, fit_prior, prior, random
from heedful.errors import HeedfulError
from heedful.types import Batch
from heedful.words import word_mask
from tiny import batch_of, pick, tiny_batch, tiny_model
from word_batches import grouped, with_words


def three() -> Batch:
    """Texts 5 6 7 · 5 6 · 5 5 between start and end."""
    rows = [[2, 5, 6, 7, 3], [2, 5, 6, 3], [2, 5, 5, 3]]
    return batch_of(rows, ("x", "y", "z"), [0, 1, 0], 1)


def test_rarer_words_score_higher() -> None:
    """On paper: 5 is in three of three texts, 6 in two, 7 in one."""
    rare, some = log(4 / 2), log(4 / 3)
    expected = [[0, some, rare], [0, some, 0], [0, 0, 0]]
    found = prior(tiny_model(), three(), three().labels)
    torch.testing.assert_close(found, torch.tensor(expected).double())
    fitted = fit_prior([three()])
    assert torch.equal(fitted(tiny_model(), three(), three().labels), found)
    assert fitted.counts == {(5,): 3, (6,): 2, (7,): 1} and fitted.texts == 3


def test_a_fitted_prior_ignores_the_batch_and_knows_unseen_words() -> None:
    model, fitted = tiny_model(), fit_prior([three()])
    one = pick(three(), [1])
    assert fitted(model, one, one.labels).tolist() == [[0, pytest.approx(log(4 / 3))]]
    unseen = batch_of([[2, 5, 9, 3]], ("n",), [0], 0)
    assert fitted(model, unseen, unseen.labels).tolist() == [[0, pytest.approx(log(4))]]
    assert torch.equal(
        explain(fitted.piece, model, three(), three().labels),
        fitted(model, three(), three().labels),
    )


def test_a_word_type_is_all_its_tokens() -> None:
    batch = with_words(three())  # token 5 begins a word of three tokens, 6 one of one
    assert fit_prior([batch]).counts == {(5, 6, 7): 1, (5, 6): 1, (5, 5): 1}


def test_early_words_score_higher_and_gaps_do_not_count() -> None:
    found = prior(tiny_model(), three(), three().labels, kind="position")
    expected = [[1, 2 / 3, 1 / 3], [1, 1 / 2, 0], [1, 1 / 2, 0]]
    torch.testing.assert_close(found, torch.tensor(expected).double())
    batch = grouped()
    there = word_mask(batch.texts["a"])
    assert not there[0, 1]
    gaps = Prior("position")(tiny_model(), batch, batch.labels)
    n = int(there[0].sum())
    assert gaps[0][there[0]].tolist() == pytest.approx([1 - i / n for i in range(n)])
    assert not gaps[~there].any()


def test_an_unknown_prior_is_refused() -> None:
    with pytest.raises(HeedfulError, match="unknown prior 'mood'"):
        prior(tiny_model(), three(), three().labels, kind="mood")


def test_noise_is_keyed_by_example_and_word() -> None:
    model, batch = tiny_model(), tiny_batch((4, 1, 9))
    whole = random(model, batch, batch.labels)
    there = word_mask(batch.texts["a"])
    assert not whole[~there].any() and bool((whole[there] > 0).all())
    assert len(set(whole[there].tolist())) == int(there.sum())
    turned = pick(batch, [2, 0], pad=3)
    assert torch.equal(random(model, turned, turned.labels), whole[[2, 0]])
    assert not torch.equal(random(model, batch, batch.labels, seed=1), whole)


def test_noise_is_uniform() -> None:
    batch = tiny_batch((30,) * 60)
    values = random(tiny_model(), batch, batch.labels).flatten()
    assert abs(float(values.mean()) - 0.5) < 0.03 and abs(float(values.var()) - 1 / 12) < 0.01
