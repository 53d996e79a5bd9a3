"""Removal in six orders: all steps at once against one set at a time, and censoring."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_rows import SITE, hand_made
from heedful.data import Split
from heedful.errors import HeedfulError
from heedful.experiments import RANKINGS, first_flip, others, rankings, remaining, slopes
from heedful.models import OneSequence, probabilities
from heedful.types import Keep
from layered import Layered
from probing import LENGTHS, Bent, evidence, find, table
from reference.importance_sets import steps_to_flip
from reference.survival import restricted_mean
from tiny import tiny_model, tiny_split

SOME = [("bilstm", "additive"), ("cnn", "dot"), ("average", "additive")]


def near_the_threshold(
    encoder: str = "cnn", attention: str = "additive", classes: int = 2
) -> tuple[OneSequence, Split]:
    split = tiny_split([*LENGTHS, *LENGTHS, *LENGTHS, *LENGTHS], seed=5)
    model = tiny_model(encoder, attention, classes, double=True)
    with torch.no_grad():
        model.decoder.bias -= model(split.batch(range(len(split)))).logits.mean(0)
    return model, split


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("encoder", "attention"), SOME)
def test_every_ranking_flips_where_one_set_at_a_time_does(
    encoder: str, attention: str, classes: int
) -> None:
    model, split = near_the_threshold(encoder, attention, classes)
    found = table(find("importance_sets", model, split), split)
    for index, (name, size) in enumerate(zip(split.ids, split.lengths, strict=True)):
        with torch.no_grad():
            trace = model(split.batch([index]), keep=Keep(token_logits=True))
        linear, real = trace.token_logits["attention"], slice(1, size + 1)
        alpha = trace.weights["attention"][0, 0, 0, real].tolist()
        z, bias = linear.values[0, real].tolist(), linear.bias.tolist()
        for ranking, order in slow_orders(alpha, z, bias).items():
            steps = steps_to_flip(alpha, z, bias, order)
            row = found.loc[name]
            assert row[f"never_{ranking}"] == (steps is None)
            if steps is None:
                assert math.isnan(row[f"count_{ranking}"]) and math.isnan(row[f"mass_{ranking}"])
                continue
            assert row[f"count_{ranking}"] == steps
            assert row[f"fraction_{ranking}"] == pytest.approx(steps / size)
            gone = math.fsum(alpha[i] for i in order[:steps])
            assert row[f"mass_{ranking}"] == pytest.approx(gone, abs=1e-9)
    assert 0 < found["never_attention"].sum() < len(split)
    flipped = found[[f"never_{name}" for name in RANKINGS]].min(axis=1) == 0
    assert (found["reachable"][flipped] == 1).all() and (found["tried"] == 1).all()


def slow_orders(
    alpha: list[float], z: list[list[float]], bias: list[float]
) -> dict[str, list[int]]:
    """All but the random one; the slope by autograd, not by its formula."""
    weights = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    logits = weights @ torch.tensor(z, dtype=torch.float64) + torch.tensor(bias).double()
    (slope,) = torch.autograd.grad(probabilities(logits[None])[0].amax(), weights)
    g = slope.tolist()
    mean = math.fsum(a * b for a, b in zip(alpha, g, strict=True))
    places = range(len(alpha))
    return {
        "attention": sorted(places, key=lambda i: -alpha[i]),
        "ascending": sorted(places, key=lambda i: alpha[i]),
        "gradient": sorted(places, key=lambda i: -g[i]),
        "gradient_attention": sorted(places, key=lambda i: -g[i] * alpha[i]),
        "centred": sorted(places, key=lambda i: -alpha[i] * (g[i] - mean)),
    }


def test_a_row_worked_out_by_hand() -> None:
    """α = (.5, .3, .2), z = (2, −1, −3), the logit is 0.1. Without the first it is −1.8; from
    the lightest on it is 0.875, then 2: no proper subset flips it."""
    each = hand_made([[0.5, 0.3, 0.2]], [[[2.0], [-1.0], [-3.0]]], [0.0])
    view = each.rows(SITE)
    orders = rankings(view, 0)
    assert orders["attention"].tolist() == orders["gradient"].tolist() == [[0, 1, 2, 3]]
    assert orders["centred"].tolist() == [[0, 1, 2, 3]]  # .95, −.33, −.62
    assert orders["ascending"].tolist() == [[2, 1, 0, 3]]
    flips = {name: int(first_flip(view, order, 9)) for name, order in orders.items()}
    assert flips["attention"] == 1 and flips["ascending"] == 0


def test_tiny_weights_keep_their_order_beside_a_large_one() -> None:
    """They differ by a factor, if by nothing that counts beside the first."""
    each = hand_made([[1.0, 1e-14, 3e-14]], [[[2.0], [-1.0], [-3.0]]], [0.0])
    orders = rankings(each.rows(SITE), 0)
    assert orders["attention"].tolist() == [[0, 2, 1, 3]]
    assert orders["ascending"].tolist() == [[1, 2, 0, 3]]


def test_a_decision_of_the_zero_context_is_not_counted() -> None:
    """Every item says class 1, the bias alone says class 0."""
    each = hand_made([[0.6, 0.4]], [[[2.0], [3.0]]], [-1.0])
    view = each.rows(SITE)
    for order in rankings(view, 0).values():
        assert int(first_flip(view, order, 9)) == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_slopes_are_autograds(classes: int) -> None:
    model, split = tiny_model("cnn", "dot", classes, double=True), tiny_split(LENGTHS)
    (each,) = evidence(model, split).passes("")
    (bent,) = evidence(Bent(model), split).passes("")
    site, other = model.sites[0], Bent(model).sites[0]
    closed = slopes(each.rows(site))
    derived = slopes(bent.rows(other))
    mask = each.rows(site).mask
    torch.testing.assert_close(closed[mask], derived[mask], atol=1e-12, rtol=0)


@pytest.mark.parametrize("classes", [2, 3])
def test_another_kind_of_site_is_resumed_and_gives_the_same(classes: int) -> None:
    model, split = near_the_threshold(classes=classes)
    linear = table(find("importance_sets", model, split), split)
    bent = table(find("importance_sets", Bent(model), split), split)
    assert set(linear) - set(bent) == {"reachable"}
    np.testing.assert_allclose(bent, linear[list(bent)], atol=1e-9)


def test_steps_beyond_the_bound_are_censored_where_they_begin() -> None:
    model, split = near_the_threshold()
    whole = table(find("importance_sets", model, split), split)
    cut = find("importance_sets", Bent(model), split, most_steps=2)
    rows = table(cut, split)
    for name in RANKINGS:
        late = (whole[f"count_{name}"] > 2) | (whole[f"never_{name}"] == 1)
        assert (rows[f"never_{name}"] == late).all()
    long = split.lengths > 3
    np.testing.assert_allclose(rows["tried"], np.where(long, 2 / split.lengths, 1))
    times = rows["fraction_random"].fillna(rows["tried"]).tolist()
    expected = restricted_mean(times, (rows["never_random"] == 1).tolist(), 1.0)
    line = summary_of(cut.summary).loc["restricted_fraction_random"]
    assert line["mean"] == pytest.approx(expected)


@pytest.mark.parametrize("steps", [64, 2])
def test_sparse_weights_are_censored_where_they_are_gone(steps: int) -> None:
    """For each ranking by itself: as many items as can go while some weight is left."""
    model, split = near_the_threshold("bilstm", "sparsemax")
    with torch.no_grad():
        for parameter in model.attention.parameters():
            parameter *= 3
    findings = find("importance_sets", Bent(model), split, most_steps=steps)
    (each,) = evidence(model, split).resumable("")
    view = each.rows(model.sites[0])
    rows, lines = table(findings, split), summary_of(findings.summary)
    cut = 0
    for name, order in rankings(view, 5).items():
        shares = []
        for row, example in enumerate(each.batch.ids):
            size, alpha = int(view.mask[row].sum()), view.weights[row][order[row]].tolist()
            left = min(steps, sum(sum(alpha[gone:]) > 0 for gone in range(1, size)))
            shares.append(left / size if left < size - 1 else 1.0)
            own = float(rows.loc[example].get(f"tried_{name}", math.nan))
            cut += own >= 0
            assert shares[-1] == (rows.loc[example, "tried"] if math.isnan(own) else own)
        mine = rows.loc[list(each.batch.ids)]
        never = (mine[f"never_{name}"] == 1).tolist()
        times = np.where(never, shares, mine[f"fraction_{name}"]).tolist()
        expected = restricted_mean(times, never, 1.0)
        assert lines.loc[f"restricted_fraction_{name}", "mean"] == pytest.approx(expected)
    assert cut > len(RANKINGS)
    other = find("importance_sets", model, split)
    if steps == 64:
        np.testing.assert_allclose(table(other, split)[list(rows)], rows, atol=1e-9)


def test_summaries_compare_rankings_on_the_same_examples() -> None:
    model, split = near_the_threshold()
    found = find("importance_sets", model, split)
    rows, lines = table(found, split), summary_of(found.summary)
    every = rows[[f"never_{name}" for name in RANKINGS]].max(axis=1) == 0
    assert 0 < every.sum() < len(split)
    for name in RANKINGS:
        assert lines.loc[f"count_{name}", "n"] == every.sum()
        expected = rows.loc[every, f"count_{name}"].mean()
        assert lines.loc[f"count_{name}", "mean"] == pytest.approx(expected)
        assert lines.loc[f"never_{name}", "n"] == len(split)
        kept = lines.loc[f"restricted_fraction_{name}"]
        times = rows[f"fraction_{name}"].fillna(1.0)
        assert kept["n"] == len(split) and kept["mean"] == pytest.approx(times.mean())
        assert kept["low"] < kept["mean"] < kept["high"]
        ordered = np.sort(times)[len(times) // 2 - 1]
        assert np.isnan(kept["median"]) if ordered == 1 else kept["median"] == ordered


def summary_of(table: pd.DataFrame | None) -> pd.DataFrame:
    assert table is not None
    return table[table["group"] == "all"].set_index("measure")


def test_heads_flip_together_and_count_once() -> None:
    model, split = Layered(layers=1, heads=2), tiny_split((4, 3, 6, 5), classes=3)
    found = find("importance_sets", model, split)
    rows = found.rows[found.rows["measure"] == "never_attention"]
    assert len(rows) == 8 and (rows.groupby("example")["value"].nunique() == 1).all()
    assert summary_of(found.summary).loc["restricted_fraction_attention", "n"] == 4


@settings(max_examples=50)
@given(st.lists(st.floats(-12, 0), min_size=1, max_size=40), st.integers(0, 99))
def test_suffix_sums_keep_their_digits(exponents: list[float], seed: int) -> None:
    """Also where what is left is a millionth of a millionth of what has gone."""
    weights = 10 ** torch.tensor(sorted(exponents, reverse=True), dtype=torch.float64)
    z = torch.randn(len(weights), generator=torch.Generator().manual_seed(seed)).double()
    x = (weights * z)[None, :, None]
    left = remaining(x)[0, :, 0] / remaining(weights[None])[0]
    rest = others(x)[0, :, 0]
    for i in range(len(weights)):
        exact = math.fsum(x[0, i:, 0].tolist()) / math.fsum(weights[i:].tolist())
        assert left[i].item() == pytest.approx(exact, abs=1e-9)
        values = x[0, :, 0].tolist()
        assert rest[i].item() == pytest.approx(math.fsum(values[:i] + values[i + 1 :]), abs=1e-12)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from heedful.experiments import importance_sets as module

    model, split = near_the_threshold(classes=3)
    whole = table(find("importance_sets", model, split), split)
    monkeypatch.setattr(module, "_NUMBERS_AT_ONCE", 1)
    np.testing.assert_array_equal(table(find("importance_sets", model, split), split), whole)


def test_no_step_is_refused() -> None:
    with pytest.raises(HeedfulError, match="most_steps"):
        find("importance_sets", tiny_model(), tiny_split((2,)), most_steps=0)
