"""Single erasures against the model run without one item at a time; the random item's draw."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from scipy import stats

from attention_rows import SITE, hand_made
from heedful.experiments import ForwardBatch, erased, erasures, other_item
from heedful.interventions import erase
from heedful.models import probabilities
from heedful.randomness import example_keys
from layered import Layered
from probing import LENGTHS, Bent, evidence, find, table
from reference.importance_sets import jensen_shannon
from tiny import tiny_model, tiny_split

SOME = [("bilstm", "additive"), ("cnn", "dot"), ("average", "additive")]


def js_of_each(model, split, index):  # type: ignore[no-untyped-def]
    """Attention and the divergence after erasing each item in turn, by running the model."""
    batch, size = split.batch([index]), int(split.lengths[index])
    with torch.no_grad():
        trace = model(batch)
        before = probabilities(trace.logits)[0].tolist()
        after = []
        for place in range(1, size + 1):
            edit = erase({batch.ids[0]: [place]})
            after.append(probabilities(model(batch, {"attention": edit}).logits)[0].tolist())
    alpha = trace.weights["attention"][0, 0, 0, 1 : size + 1].tolist()
    return alpha, [jensen_shannon(before, each) for each in after]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), SOME)
def test_it_is_what_the_model_gives_without_each_item(
    encoder: str, attention: str, classes: int
) -> None:
    model, split = tiny_model(encoder, attention, classes, double=True), tiny_split(LENGTHS)
    found = table(find("erasure", model, split), split)
    (each,) = evidence(model, split).passes("")
    drawn = erased(each.rows(model.sites[0]), 5)
    item = dict(zip(each.batch.ids, drawn.other.tolist(), strict=True))
    for index, name in enumerate(split.ids):
        alpha, js = js_of_each(model, split, index)
        if len(alpha) == 1:
            assert found.loc[name].isna().all() and item[name] == -1
            continue
        top, other = int(np.argmax(alpha)), item[name] - 1
        assert other != top
        expected = {
            "js_top": js[top],
            "js_random": js[other],
            "js_difference": js[top] - js[other],
            "weight_difference": alpha[top] - alpha[other],
            "negative": float(js[top] < js[other]),
            "js_best": max(js),
        }
        assert found.loc[name].to_dict() == pytest.approx(expected, abs=1e-12)
    assert (found["js_best"].dropna() >= found["js_top"].dropna() - 1e-12).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("probe", ["erasure", "flips"])
def test_another_kind_of_site_is_resumed_and_gives_the_same(probe: str, classes: int) -> None:
    model, split = tiny_model("bilstm", "dot", classes, double=True), tiny_split(LENGTHS)
    linear = table(find(probe, model, split), split)
    bent = table(find(probe, Bent(model), split), split)
    np.testing.assert_allclose(bent, linear[list(bent)], atol=1e-12)


def test_the_heaviest_word_is_the_one_the_measure_erases() -> None:
    """The audit's measure looks at words, which here are tokens."""
    model, split = tiny_model(double=True), tiny_split(LENGTHS)
    found = table(find("erasure", model, split), split)
    words = erasures(ForwardBatch.of(model, split.batch(range(len(split)))))[0]
    several = found["js_top"].notna().to_numpy().copy()
    np.testing.assert_allclose(found["js_top"][several], words.top[several], atol=1e-12)
    np.testing.assert_allclose(found["js_best"][several], words.best[several], atol=1e-12)


def test_a_row_worked_out_by_hand() -> None:
    """α = (.5, .3, .2), z = (2, −1, −3): the logit is 0.1; without the first −1.8, without the
    second (1 − .6)/.7, without the third (1 − .3)/.8."""
    each = hand_made([[0.5, 0.3, 0.2]], [[[2.0], [-1.0], [-3.0]]], [0.0])
    found = erased(each.rows(SITE), 0)
    assert found.top.tolist() == [0]
    logits = {1: 0.4 / 0.7, 2: 0.7 / 0.8}
    after = {i: 1 / (1 + math.exp(-x)) for i, x in logits.items()}
    assert found.less_top[0, 1].item() == pytest.approx(1 / (1 + math.exp(1.8)))
    assert found.less_other[0, 1].item() == pytest.approx(after[int(found.other)])


def test_without_all_of_its_weight_a_row_says_nothing() -> None:
    """All weight is on the second item; without it there is no context."""
    z = [[[2.0], [-1.0], [-3.0]]] * 2
    each = hand_made([[0.0, 1.0, 0.0], [0.0, 0.6, 0.4]], z, [0.5])
    assert erased(each.rows(SITE), 0).known.tolist() == [False, True]


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("probe", ["erasure", "flips"])
def test_sparse_attention_on_one_item_is_undefined(probe: str, bent: bool) -> None:
    model, split = tiny_model(attention="sparsemax", double=True), tiny_split([*LENGTHS, *LENGTHS])
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter *= 4
        weights = model(split.batch(range(len(split)))).weights["attention"][:, 0, 0]
    alone = ((weights > 0).sum(-1) == 1).numpy()
    assert 0 < (alone & (split.lengths > 1)).sum() < len(split)
    found = table(find(probe, Bent(model) if bent else model, split), split)
    for column in found:
        assert (found[column].isna().to_numpy() == alone).all()


def test_the_random_item_is_any_other_position_and_each_as_often() -> None:
    there = torch.tensor([[True, True, False, True, True]]).expand(4000, -1)
    top = torch.full((4000,), 3)
    keys = example_keys(1, tuple(f"t{i}" for i in range(4000)), "erasure")
    drawn = Counter(other_item(there, top, keys).tolist())
    assert set(drawn) == {0, 1, 4}
    assert stats.chisquare(list(drawn.values())).pvalue > 0.01


def test_position_zero_may_be_the_top_one_or_the_random_one() -> None:
    keys = example_keys(1, tuple(f"t{i}" for i in range(60)), "erasure")
    there = torch.ones(60, 2, dtype=torch.bool)
    assert set(other_item(there, torch.ones(60, dtype=torch.int64), keys).tolist()) == {0}
    assert set(other_item(there, torch.zeros(60, dtype=torch.int64), keys).tolist()) == {1}


@pytest.mark.parametrize("classes", [2, 3])
def test_the_cells_say_which_erasure_flips(classes: int) -> None:
    split = tiny_split([*LENGTHS, *LENGTHS, *LENGTHS], seed=3)
    model = tiny_model("bilstm", "additive", classes, double=True)
    with torch.no_grad():  # near the threshold, where erasures flip
        model.decoder.bias -= model(split.batch(range(len(split)))).logits.mean(0)
    found = table(find("flips", model, split), split)
    several = split.lengths > 1
    assert found[~several].isna().all(axis=None)
    assert (found[several].sum(axis=1) == 1).all()
    (each,) = evidence(model, split).passes("")
    drawn = erased(each.rows(model.sites[0]), 5)
    row = {name: number for number, name in enumerate(each.batch.ids)}
    for name in np.array(split.ids)[several]:
        one = row[name]
        before = int(drawn.whole[one].argmax())
        flips = [int(p[one].argmax()) != before for p in (drawn.less_top, drawn.less_other)]
        cell = {
            (True, True): "flip_both",
            (True, False): "flip_top_only",
            (False, True): "flip_random_only",
            (False, False): "flip_neither",
        }[flips[0], flips[1]]
        assert found.loc[name, cell] == 1
    assert (found[several].sum() > 0).sum() >= 3


def test_heads_lose_their_own_item_together() -> None:
    model, split = Layered(layers=1, heads=2), tiny_split((4, 3, 6))
    rows = find("erasure", model, split).rows
    js = rows[rows["measure"] == "js_top"]
    assert len(js) == 6 and "js_best" not in set(rows["measure"])
    assert (js.groupby("example")["value"].nunique() == 1).all()
    weights = rows[rows["measure"] == "weight_difference"]
    assert (weights["value"] > 0).all() and weights["value"].nunique() == 6
