"""Permutations: the sample against one model run a draw, the moments against every order."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from heedful.errors import HeedfulError
from heedful.experiments import permuted_weights, row_keys
from heedful.interventions import custom
from heedful.models import probabilities
from heedful.types import AttentionRows, Keep
from probing import LENGTHS, Bent, evidence, find, table
from reference.permutation import logit_moments
from tiny import FAMILIES, tiny_model, tiny_split

module = import_module("heedful.experiments.permutation")


SAMPLED = ["flips", "tvd_mean", "tvd_median"]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), FAMILIES)
def test_the_sample_is_what_the_model_itself_gives(
    encoder: str, attention: str, classes: int
) -> None:
    model, split = tiny_model(encoder, attention, classes, double=True), tiny_split(LENGTHS)
    found = table(find("permutation", model, split, permutations=8), split)
    (each,) = evidence(model, split).passes("")
    view = each.rows(model.sites[0])
    weights = permuted_weights(view, row_keys(view, 5, "permutation"), 8)
    with torch.no_grad():
        original = probabilities(model(each.batch).logits)
        draws = [
            probabilities(model(each.batch, {"attention": custom(put(draw))}).logits)
            for draw in weights.unbind(1)
        ]
    for row, name in enumerate(each.batch.ids):
        moved = [0.5 * (draw[row] - original[row]).abs().sum().item() for draw in draws]
        flips = [bool(draw[row].argmax() != original[row].argmax()) for draw in draws]
        assert found.loc[name, "tvd_median"] == pytest.approx(np.median(moved), abs=1e-12)
        assert found.loc[name, "tvd_mean"] == pytest.approx(np.mean(moved), abs=1e-12)
        assert found.loc[name, "flips"] == pytest.approx(np.mean(flips), abs=1e-12)
    assert found["tvd_median"].max() > 0.001 and found["tvd_median"].iloc[1] < 1e-12


def put(weights: Tensor):  # type: ignore[no-untyped-def]
    return lambda call: weights[:, None, None]


@pytest.mark.parametrize("classes", [2, 3])
def test_another_kind_of_site_is_resumed_and_gives_the_same(classes: int) -> None:
    model, split = tiny_model("bilstm", "dot", classes, double=True), tiny_split(LENGTHS)
    linear = table(find("permutation", model, split, permutations=9), split)
    bent = table(find("permutation", Bent(model), split, permutations=9), split)
    assert list(bent) == SAMPLED and set(linear) > set(SAMPLED)
    np.testing.assert_allclose(bent, linear[SAMPLED], atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_moments_are_those_of_all_orders(classes: int) -> None:
    split = tiny_split((1, 2, 3, 4, 5, 5, 4))
    model = tiny_model("cnn", "additive", classes, double=True)
    found = table(find("permutation", model, split, permutations=1), split)
    with torch.no_grad():
        trace = model(split.batch(range(len(split))), keep=Keep(token_logits=True))
    linear = trace.token_logits["attention"]
    for row, (name, size) in enumerate(zip(split.ids, split.lengths, strict=True)):
        top = int(trace.logits[row].argmax())
        alpha = trace.weights["attention"][row, 0, 0, 1 : size + 1].tolist()
        z = linear.values[row, 1 : size + 1, top].tolist()
        mean, sd = logit_moments(alpha, z, linear.bias[top].item())
        assert found.loc[name, "logit_mean_exact"] == pytest.approx(mean, abs=1e-10)
        assert found.loc[name, "logit_sd_exact"] == pytest.approx(sd, abs=1e-10)


ROW = st.lists(st.booleans(), min_size=7, max_size=7).filter(any)
MASKS = st.lists(ROW, min_size=1, max_size=4)


@settings(max_examples=30)
@given(MASKS, st.integers(0, 99))
def test_draws_are_permutations_of_the_real_weights(rows: list[list[bool]], seed: int) -> None:
    mask = torch.tensor(rows)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(mask.shape, generator=generator, dtype=torch.float64) * mask
    index = torch.arange(len(rows))
    view = AttentionRows(weights, mask, index, index * 0, index * 0)
    keys = torch.randint(0, 1 << 60, (len(rows),), generator=generator)
    draws = permuted_weights(view, keys, 6)
    assert bool((draws.masked_select(~mask[:, None].expand_as(draws)) == 0).all())
    expected = weights[:, None].expand_as(draws).sort(-1).values
    assert torch.equal(draws.sort(-1).values, expected)


def test_more_draws_and_more_padding_keep_the_first_ones() -> None:
    mask = torch.tensor([[False, True, True, True, True]])
    weights = torch.tensor([[0.0, 0.1, 0.2, 0.3, 0.4]])
    one, keys = torch.zeros(1, dtype=torch.int64), torch.tensor([77])
    short = permuted_weights(AttentionRows(weights, mask, one, one, one), keys, 3)
    wide = torch.nn.functional.pad(weights, (0, 4)), torch.nn.functional.pad(mask, (0, 4))
    long = permuted_weights(AttentionRows(*wide, one, one, one), keys, 10)
    assert torch.equal(long[:, :3, :5], short) and not long[..., 5:].any()
    assert len({tuple(draw.tolist()) for draw in long[0]}) > 3


def test_memory_bounds_and_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    model, split = tiny_model(double=True), tiny_split(LENGTHS)
    whole = table(find("permutation", model, split, permutations=20), split)
    other = table(find("permutation", model, split, permutations=20, seed=6), split)
    assert (other["tvd_median"] != whole["tvd_median"]).any()
    monkeypatch.setattr(module, "_DRAWS_AT_ONCE", 1)
    bounded = table(find("permutation", model, split, permutations=20), split)
    np.testing.assert_allclose(bounded, whole, atol=1e-14)


def test_equal_weights_cannot_be_permuted() -> None:
    model, split = tiny_model("average", "dot", double=True), tiny_split(LENGTHS)
    with torch.no_grad():
        model.attention.query.zero_()
    found = table(find("permutation", model, split), split)
    assert found["tvd_median"].max() < 1e-12 and found["logit_sd_exact"].max() < 1e-12
    assert found["flips"].max() == 0


def test_no_permutation_is_refused() -> None:
    with pytest.raises(HeedfulError, match="at least 1 permutation"):
        find("permutation", tiny_model(), tiny_split((2,)), permutations=0)
