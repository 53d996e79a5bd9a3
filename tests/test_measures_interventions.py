"""Interventions on attention and statistics of heads, against one run of the model per try."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.attributions import attention, text_site
from heedful.errors import HeedfulError
from heedful.experiments import (
    MODES,
    STATISTICS,
    ForwardBatch,
    Intervention,
    base_trace,
    edits_of,
    effect,
    erasures,
    head_statistics,
    less,
    reachable,
    top_word,
    tvd_permuted,
    words_of,
)
from heedful.experiments.outputs import placed
from heedful.models import probabilities
from heedful.types import Batch, Keep
from heedful.words import to_words, word_numbers
from layered import Layered, layered_batch
from reference import interventions as reference
from tiny import tiny_batch, tiny_model

LENGTHS = (4, 1, 9, 2, 6)
KINDS: dict[str, Callable[[], Any]] = {
    "first": lambda: Layered(),
    "last": lambda: Layered(read="last"),
    "mean": lambda: Layered(read="mean"),
    "decoder": lambda: Layered(decoder=True),
    "linear": lambda: tiny_model(double=True),
    "linear3": lambda: tiny_model("cnn", "dot", 3, double=True),
}


@pytest.fixture(params=list(KINDS))
def model(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param]()


def uniform_weights(trace: Any, name: str) -> torch.Tensor:
    allowed = trace.masks[name].expand_as(trace.weights[name]).double()
    return allowed / allowed.sum(-1, keepdim=True).clamp_min(1)


def test_uniform_at_the_main_site_equals_putting_it_there(model: Any) -> None:
    batch = layered_batch(LENGTHS)
    trace = base_trace(model, batch)
    name = text_site(model).name
    after = reference.output(model, batch, {name: uniform_weights(trace, name)})
    before = reference.output(model, batch, {})
    found = effect(ForwardBatch.of(model, batch), Intervention("uniform"))
    for row in range(len(batch)):
        expected = reference.tvd(before[row], after[row])
        assert found.tvd[row].item() == pytest.approx(expected, abs=1e-9)
        assert int(found.predicted[row]) == int(np.argmax(after[row]))


def test_held_keeps_later_sites_and_recomputed_does_not() -> None:
    model, batch = Layered(3), layered_batch(LENGTHS)
    trace = base_trace(model, batch)
    for mode in ("recomputed", "held"):
        edits = edits_of(ForwardBatch(model, batch, trace), Intervention("uniform", "layer1", mode))
        after = model(batch, edits)
        assert torch.equal(after.weights["layer0"], trace.weights["layer0"])
        torch.testing.assert_close(after.weights["layer1"], uniform_weights(trace, "layer1"))
        same = torch.allclose(after.weights["layer2"], trace.weights["layer2"], atol=1e-12)
        assert same == (mode == "held")
    pinned = {"layer1": uniform_weights(trace, "layer1"), "layer2": trace.weights["layer2"]}
    expected = reference.output(model, batch, pinned)
    held = effect(ForwardBatch.of(model, batch), Intervention("uniform", "layer1", "held"))
    before = reference.output(model, batch, {})
    for row in range(len(batch)):
        moved = reference.tvd(before[row], expected[row])
        assert held.tvd[row].item() == pytest.approx(moved, abs=1e-12)


def test_held_permutes_the_original_weights_of_all_sites() -> None:
    model, batch = Layered(), layered_batch(LENGTHS)
    trace = base_trace(model, batch)
    after = model(
        batch, edits_of(ForwardBatch(model, batch, trace), Intervention("permute", "all", "held"))
    )
    for name, weights in trace.weights.items():
        torch.testing.assert_close(after.weights[name].sort(-1)[0], weights.sort(-1)[0])
    again = model(
        batch, edits_of(ForwardBatch(model, batch, trace), Intervention("permute", "all"))
    )
    assert not torch.allclose(again.weights["layer1"].sort()[0], trace.weights["layer1"].sort()[0])


def planned(place: str) -> list[Intervention]:
    """Both edits in both modes, two permutations."""
    each = [("uniform", 0), ("permute", 0), ("permute", 1)]
    return [Intervention(edit, place, mode, draw) for mode in MODES for edit, draw in each]


def moved(batch: Batch, place: str) -> Tensor:
    return torch.stack(
        [effect(ForwardBatch.of(Layered(), batch), each).tvd for each in planned(place)], 1
    )


def test_draws_differ_and_the_last_layer_is_the_main_one() -> None:
    found = moved(layered_batch(LENGTHS), "main")
    assert bool(((found >= 0) & (found <= 1)).all())
    several = torch.tensor([length > 2 for length in LENGTHS])
    assert not torch.isclose(found[several, 4], found[several, 5]).any()
    assert torch.equal(found, moved(layered_batch(LENGTHS), "layer1"))
    assert not torch.equal(found, moved(layered_batch(LENGTHS), "layer0"))


@pytest.mark.parametrize("place", ["main", "layer0", "all"])
def test_effects_ignore_batches_and_padding(place: str) -> None:
    order = (3, 0, 4, 1, 2)
    wide = layered_batch(LENGTHS, pad=4)
    singles = torch.cat([moved(wide.take(torch.tensor([i])), place) for i in order])
    whole = moved(layered_batch(LENGTHS), place)
    torch.testing.assert_close(singles, whole[list(order)], atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (Intervention("shuffle"), "edit"),
        (Intervention("uniform", "layer9"), "place"),
        (Intervention("uniform", mode="frozen"), "mode"),
    ],
)
def test_wrong_interventions_are_named(wrong: Intervention, named: str) -> None:
    with pytest.raises(HeedfulError, match=f"unknown {named}"):
        effect(ForwardBatch.of(Layered(), layered_batch((3,))), wrong)


def test_every_single_erasure_equals_running_the_model(model: Any) -> None:
    batch = layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True))
    name = text_site(model).name
    found = erasures(ForwardBatch.of(model, batch))[0]
    before = reference.output(model, batch, {})
    numbers = word_numbers(batch.texts["a"]).tolist()
    for row in range(len(batch)):
        moved = []
        for tokens in reference.words(numbers[row]):
            new = trace.weights[name].detach().clone()
            new[row] = reference.erased(new[row], trace.readout_weights[name][row], tokens)
            after = reference.output(model, batch, {name: new})
            moved.append(reference.jsd(before[row], after[row]))
        each = found.each[row, : len(moved)].tolist()
        assert each == pytest.approx(moved, abs=1e-9)
        assert not found.each[row, len(moved) :].any()
        assert found.best[row].item() == max(each)
        weights = to_words(attention(model, batch, batch.labels), batch.texts["a"])[row]
        assert found.top[row].item() == each[int(weights[: len(moved)].argmax())]
        others = [v for i, v in enumerate(each) if i != int(weights[: len(moved)].argmax())]
        assert (math.isnan(found.random[row]) and not others) or found.random[row].item() in others


def test_the_random_item_is_never_the_top_one_and_hits_all_others() -> None:
    model, batch = tiny_model(double=True), tiny_batch((4,))
    top = int(top_word(base_trace(model, batch), text_site(model), batch))
    seen = set()
    for seed in range(60):
        found = erasures(ForwardBatch.of(model, batch), seed)[0]
        seen.add(found.each[0].tolist().index(found.random[0].item()))
    assert seen == {0, 1, 2, 3} - {top}


def test_erasing_everything_leaves_a_zero_context() -> None:
    model, batch = tiny_model(double=True), tiny_batch((1, 3))
    found = erasures(ForwardBatch.of(model, batch))[0]
    trace = model(batch)
    bias = probabilities(model.decoder.bias[None])[0].tolist()
    expected = reference.jsd(probabilities(trace.logits)[0].tolist(), bias)
    assert found.top[0].item() == pytest.approx(expected) and found.random[0].isnan()


def test_words_are_erased_with_all_their_tokens() -> None:
    there, tokens = words_of(layered_batch((4, 1)))
    assert there.tolist() == [[True, True], [True, False]]
    assert tokens[0].long().tolist() == [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0]]
    assert tokens[1].long().tolist() == [[0, 1, 0, 0, 0, 0], [0] * 6]


def test_what_is_left_is_renormalised_and_a_row_that_loses_everything_stays_zero() -> None:
    weights = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]], dtype=torch.float64)
    found = less(weights, torch.tensor([[True, False, False]] * 2))
    assert found.tolist() == [pytest.approx([0.0, 0.6, 0.4]), [0.0, 0.0, 0.0]]


def test_only_rows_that_are_read_change() -> None:
    model, batch = Layered(read="first"), layered_batch((4, 1))
    each, site = ForwardBatch(model, batch, base_trace(model, batch)), text_site(model)
    view = each.rows(site)
    full, before = placed(view, 0 * view.weights), each.trace.weights[site.name]
    assert before[:, :, 0].any() and not full[:, :, 0].any()
    assert torch.equal(full[:, :, 1:], before[:, :, 1:])


def test_sensitivity_ignores_batches_and_padding(model: Any) -> None:
    whole, padded = layered_batch(LENGTHS), layered_batch(LENGTHS, pad=3)
    one, other = (
        erasures(ForwardBatch.of(model, whole))[0],
        erasures(ForwardBatch.of(model, padded))[0],
    )
    near = {"atol": 1e-9, "rtol": 0, "equal_nan": True}
    for name in ("top", "random", "best"):
        torch.testing.assert_close(getattr(one, name), getattr(other, name), **near)
    medians = tvd_permuted(ForwardBatch.of(model, whole), 7)
    torch.testing.assert_close(tvd_permuted(ForwardBatch.of(model, padded), 7), medians, **near)
    for row in range(len(LENGTHS)):
        alone = whole.take(torch.tensor([row]))
        torch.testing.assert_close(
            tvd_permuted(ForwardBatch.of(model, alone), 7)[0], medians[row], **near
        )
        torch.testing.assert_close(
            erasures(ForwardBatch.of(model, alone))[0].random[0], one.random[row], **near
        )


def test_permutations_of_a_linear_site_are_the_probes(ragged: Batch) -> None:
    from heedful.experiments.permutation import _sampled

    model = tiny_model(double=True)
    trace = base_trace(model, ragged)
    each = ForwardBatch(model, ragged, trace)
    site = text_site(model)
    expected = _sampled(each.rows(site), 5, 100)["tvd_median"]
    torch.testing.assert_close(tvd_permuted(ForwardBatch.of(model, ragged), seed=5), expected)


def test_permutations_of_other_sites_have_20_draws_and_move_long_texts() -> None:
    model, batch = Layered(), layered_batch(LENGTHS)
    assert torch.equal(
        tvd_permuted(ForwardBatch.of(model, batch)), tvd_permuted(ForwardBatch.of(model, batch), 20)
    )
    assert bool((tvd_permuted(ForwardBatch.of(model, batch)) > 0).all())
    assert not torch.equal(
        tvd_permuted(ForwardBatch.of(model, batch), seed=1),
        tvd_permuted(ForwardBatch.of(model, batch)),
    )
    with pytest.raises(HeedfulError, match="at least 1"):
        tvd_permuted(ForwardBatch.of(model, batch), 0)


def test_permuting_one_token_moves_nothing() -> None:
    model, batch = tiny_model(double=True), tiny_batch((1, 5))
    medians = tvd_permuted(ForwardBatch.of(model, batch))
    assert medians[0] == 0 and medians[1] > 0


@pytest.mark.parametrize("read", ["first", "last", "mean"])
def test_head_statistics_equal_loops(read: str) -> None:
    model, batch = Layered(read=read), layered_batch(LENGTHS)
    trace = model(batch, keep=Keep(readout_weights=True))
    found = [
        head_statistics(ForwardBatch.of(model, batch.take(torch.tensor([row])))) for row in range(5)
    ]
    assert all(set(heads) == {(0, 0), (0, 1), (1, 0), (1, 1)} for heads in found)
    assert all(set(numbers) == set(STATISTICS) for heads in found for numbers in heads.values())
    for row, n in enumerate(batch.texts["a"].lengths.tolist()):
        for layer in range(2):
            weights = trace.weights[f"layer{layer}"][row].detach().numpy()
            readers = trace.readout_weights[f"layer{layer}"][row].numpy()
            for head, w in enumerate(weights):
                expected = _by_loops(w[:n, :n], readers[:n])
                for name, value in expected.items():
                    got = float(found[row][layer, head][name])
                    assert got == pytest.approx(value, abs=1e-12), name


def _by_loops(w: np.ndarray, readers: np.ndarray) -> dict[str, float]:
    n = len(w)
    mean = lambda values: math.fsum(values) / len(values)  # noqa: E731
    return {
        "entropy": mean([-math.fsum(x * math.log(x) for x in row if x > 0) for row in w]),
        "special": mean([row[0] + row[n - 1] for row in w]),
        "first": mean([row[0] for row in w]),
        "self": mean([w[i, i] for i in range(n)]),
        "previous": mean([w[i, i - 1] for i in range(1, n)]),
        "next": mean([w[i, i + 1] for i in range(n - 1)]),
        "reader_max": max(math.fsum(readers[i] * w[i, j] for i in range(n)) for j in range(n)),
    }


def test_heads_of_other_kinds_have_no_neighbours(ragged: Batch) -> None:
    values = head_statistics(ForwardBatch.of(tiny_model(double=True), ragged))[0, 0]
    assert all(values[name].isnan().all() for name in ("self", "previous", "next"))
    assert (values["special"] == 0).all() and (values["reader_max"] > 0).all()
    weights = tiny_model(double=True)(ragged).weights["attention"][:, 0, 0]
    torch.testing.assert_close(values["first"], weights[:, 1].detach())
    crossing = Layered(decoder=True)
    assert text_site(crossing, 2).name == "cross"
    cross = head_statistics(ForwardBatch.of(crossing, layered_batch(LENGTHS)))[2, 0]
    assert cross["self"].isnan().all() and (cross["entropy"] > 0).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_reachable_decisions_are_those_some_token_makes_alone(classes: int) -> None:
    model, batch = tiny_model("cnn", classes=classes, double=True), tiny_batch((1, 3, 6, 2, 9, 4))
    found = reachable(ForwardBatch.of(model, batch))
    before = [int(np.argmax(p)) for p in reference.output(model, batch, {})]
    for row in range(len(batch)):
        alone = set()
        for place in batch.texts["a"].mask[row].nonzero().flatten().tolist():
            new = torch.zeros_like(model(batch).weights["attention"])
            new[row, 0, 0, place] = 1
            alone.add(int(np.argmax(reference.output(model, batch, {"attention": new})[row])))
        assert bool(found[row]) == bool(alone - {before[row]})
    assert 0 < float(found.mean()) < 1


@pytest.mark.parametrize("kind", ["first", "last", "decoder"])
def test_reachable_by_trial_is_confirmed_by_the_model(kind: str) -> None:
    model, batch = KINDS[kind](), layered_batch(LENGTHS)
    name, trace = text_site(model).name, KINDS[kind]()(batch, keep=Keep(readout_weights=True))
    found = reachable(ForwardBatch.of(model, batch))
    before = [int(np.argmax(p)) for p in reference.output(model, batch, {})]
    numbers = word_numbers(batch.texts["a"]).tolist()
    for row in range(len(batch)):
        flips = False
        for tokens in reference.words(numbers[row]):
            rest = [k for k in range(len(numbers[row])) if k not in tokens]
            new = trace.weights[name].detach().clone()
            new[row] = reference.erased(new[row], trace.readout_weights[name][row], rest)
            after = reference.output(model, batch, {name: new})[row]
            flips |= int(np.argmax(after)) != before[row]
        assert bool(found[row]) == flips
