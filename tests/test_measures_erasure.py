"""Erasure measures on paper, against loops, and against Captum."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from captum.metrics import infidelity as captum_infidelity
from captum.metrics import sensitivity_max
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bag_of_words import BagOfWords, predicted, sigmoid, texts, weights_as_scores
from erased import curves, erasure_of, log_odds
from heedful.attributions import gradient_input
from heedful.errors import HeedfulError
from heedful.experiments import (
    ERASURE_MEASURES,
    Noise,
    Shifted,
    agreement,
    counts_of,
    curves_of,
    faithfulness,
    infidelity,
    max_sensitivity,
    random_sets,
    ranking,
)
from heedful.models import probabilities, probability
from heedful.perturbations import WordRemoval, removed
from heedful.types import Batch, Model
from heedful.words import to_words, word_mask
from reference.erasure import erasure as slow_erasure
from reference.kendall import tau_b
from tiny import pick, tiny_batch, tiny_model

A, B, X, Y, Z = 10, 11, 20, 21, 22
OPERATORS = ["delete", "mask", "unk", "zero", "attention"]
SHARES = ("0.05", "0.1", "0.2", "0.5")


def bag() -> BagOfWords:
    return BagOfWords({A: 2.0, B: 1.0}, bias=-0.5)


def scores_for(batch: Batch, seed: int = 0) -> Tensor:
    """Different for every text and word, the same whatever the padding."""
    number = torch.arange(word_mask(batch.texts["a"]).shape[1])
    offset = torch.tensor([hash_of(name) + seed for name in batch.ids])[:, None]
    return (torch.sin(7.3 * number + offset) * word_mask(batch.texts["a"])).double()


def hash_of(name: str) -> float:
    return float(sum(map(ord, name)) % 17)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_measure_on_paper(operator: str) -> None:
    model, batch = bag(), texts([A, X, Y, B])
    found = curves(model, batch, torch.tensor([1]), weights_as_scores(model, batch), operator)
    p = {x: sigmoid(x) for x in (2.5, 1.5, 0.5, -0.5)}
    values = {name: value.item() for name, value in faithfulness(found).items()}
    # four words: the shares 5, 10 and 20% come to one word (A goes), 50% to two (both go)
    fall = p[2.5] - (3 * p[0.5] + p[-0.5]) / 4
    assert values["comprehensiveness"] == pytest.approx(fall)
    assert values["sufficiency"] == pytest.approx(p[2.5] - (3 * p[1.5] + p[2.5]) / 4)
    steps = [p[2.5], p[0.5], p[-0.5], p[-0.5], p[-0.5]]
    assert values["deletion_auc"] == pytest.approx((sum(steps) - (steps[0] + steps[-1]) / 2) / 4)
    steps = [p[-0.5], p[1.5], p[2.5], p[2.5], p[2.5]]
    assert values["insertion_auc"] == pytest.approx((sum(steps) - (steps[0] + steps[-1]) / 2) / 4)
    assert values["flip_share"] == 0.5 and values["flip_censored"] == 0.0


def test_log_odds_of_a_sum_fall_by_the_weights() -> None:
    model, batch = bag(), texts([A, X, Y, B])
    scores = {"perfect": weights_as_scores(model, batch)}
    found = erasure_of(model, batch, torch.tensor([1]), scores, "delete", log_odds)["perfect"]
    assert found["comprehensiveness"].item() == pytest.approx((3 * 2 + 3) / 4)
    logits, label = torch.randn(5, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0])
    p = probability(logits, label)
    torch.testing.assert_close(log_odds(logits, label), p.log() - (1 - p).log())
    far = log_odds(torch.tensor([[50.0]]), torch.tensor([1]))
    assert far.item() == pytest.approx(50.0)


def test_a_decision_that_never_flips_is_censored_and_removing_everything_does_not_count() -> None:
    model, label = BagOfWords({A: 2.0}, bias=-1.0), torch.ones(2).long()
    # any A is enough: only removing everything flips these
    never = texts([A], [A, A, A])
    found = faithfulness(curves(model, never, label, scores_for(never), "delete"))
    assert found["flip_share"].isnan().all() and found["flip_censored"].tolist() == [1.0, 1.0]
    once = texts([X, A], [X, A])
    good_and_bad = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()
    found = faithfulness(curves(model, once, label, good_and_bad, "unk"))
    assert found["flip_share"][0].item() == 0.5 and found["flip_share"][1].isnan()
    assert found["flip_censored"].tolist() == [0.0, 1.0]


def test_undefined_explanations_are_nan_everywhere() -> None:
    batch = texts([A, X], [A, Y, B])
    scores = scores_for(batch)
    scores[0, 1] = torch.nan
    found = faithfulness(curves(bag(), batch, torch.ones(2).long(), scores, "delete"))
    for value in found.values():
        assert value[0].isnan()
    assert found["comprehensiveness"][1].isfinite()


def test_counts_are_ceilings_of_exact_shares() -> None:
    words = torch.tensor([1, 4, 20, 100])
    counts = counts_of(words, (0.05, 0.07, 0.1, 0.5, 1.0))
    assert counts.tolist() == [[1] * 5, [1, 1, 1, 2, 4], [1, 2, 2, 10, 20], [5, 7, 10, 50, 100]]


def test_ties_are_broken_by_chance_never_by_position() -> None:
    ids = tuple(f"text-{i}" for i in range(400))
    mask = torch.ones(400, 5, dtype=torch.bool)
    mask[:, 2] = False
    places = ranking(torch.ones(400, 5).double(), mask, ids)
    assert bool((places[:, 2] == 4).all())
    for word in (0, 1, 3, 4):
        first = (places[:, word] == 0).double().mean().item()
        assert abs(first - 0.25) < 0.07  # 3 standard errors
    near = torch.ones(400, 5).double() + 1e-9 * torch.arange(5)
    assert torch.equal(ranking(near, mask, ids), places)
    scores, there = torch.tensor([[3.0, 9.0, 5.0]]).double(), torch.ones(1, 3).bool()
    assert ranking(scores, there, ids[:1]).tolist() == [[2, 0, 1]]


def test_equal_sets_are_computed_once() -> None:
    model, batch = bag(), texts([A, X, Y, B, Z])
    scores = scores_for(batch)
    curves_of(WordRemoval(model, batch, torch.tensor([1]), "delete"), {"one": scores})
    alone = model.rows
    curves_of(
        WordRemoval(model, batch, torch.tensor([1]), "delete"), {"one": scores, "two": 3 * scores}
    )
    assert model.rows == 2 * alone and alone == 1 + 5 + 4  # whole, 5 removals, 4 kept
    assert curves_of(WordRemoval(model, batch, torch.tensor([1]), "delete"), {}) == {}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("operator", ["delete", "unk", "attention"])
def test_measures_equal_the_slow_ones(operator: str, classes: int) -> None:
    """Texts below and above the length up to which words go one at a time."""
    model, batch = tiny_model(classes=classes, double=True), tiny_batch((1, 2, 7, 19, 34))
    label, scores = predicted(model, batch), scores_for(batch)
    found = faithfulness(curves(model, batch, label, scores, operator))
    for row, words in enumerate(word_mask(batch.texts["a"]).sum(-1).tolist()):
        answer = partial(ask, model, pick(batch, [row]), operator, int(label[row]), words)
        order = scores[row, :words].argsort(descending=True).tolist()
        for name, value in slow_erasure(answer, order, SHARES).items():
            assert found[name][row].item() == pytest.approx(value, abs=1e-12, nan_ok=True), name


def ask(
    model: Model, one: Batch, operator: str, label: int, words: int, left: frozenset[int]
) -> tuple[float, int]:
    gone = torch.tensor([[word not in left for word in range(words)]])
    p = probabilities(removed(model, one, gone, operator))[0]
    return p[label].item(), int(p.argmax())


def test_short_texts_are_walked_word_by_word_and_long_ones_on_the_grid() -> None:
    """The decisive word comes third of 20 and third of 40: the grid first passes it at 4."""
    model = BagOfWords({A: 2.0}, bias=-1.0)
    batch = texts([X, X, A] + [X] * 17, [X, X, A] + [X] * 37)
    scores = -torch.arange(40).double() * torch.ones(2, 1).double()
    found = curves(model, batch, torch.ones(2).long(), scores, "delete")
    assert found.first_flip.tolist() == [3.0, 4.0]
    assert found.shares[0, -1] == 1.0 and found.curve.counts[1].tolist() == list(range(0, 41, 4))


@settings(max_examples=8)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 5), st.randoms())
@pytest.mark.parametrize("operator", ["delete", "zero"])
def test_batches_and_padding_change_nothing(
    operator: str, lengths: list[int], pad: int, random: object
) -> None:
    model, batch = tiny_model("lstm", double=True), tiny_batch(lengths)
    order = list(range(len(lengths)))
    random.shuffle(order)  # type: ignore[attr-defined]
    whole = all_measures(model, batch, operator)
    shuffled = all_measures(model, pick(batch, order, pad), operator)
    alone = all_measures(model, pick(batch, [0], pad), operator)
    for name, value in whole.items():
        same(shuffled[name], value[order], name)
        same(alone[name], value[:1], name)


def all_measures(model: Model, batch: Batch, operator: str) -> dict[str, Tensor]:
    label, maps = predicted(model, batch), {"one": scores_for(batch), "tied": 0 * scores_for(batch)}
    found = erasure_of(model, batch, label, maps, operator)
    named = {f"{a} {m}": v for a, each in found.items() for m, v in each.items()}
    gaps = infidelity(WordRemoval(model, batch, label, operator), maps, draws=5)
    noise = max_sensitivity(model, batch, label, by_gradient, Noise(draws=2))
    return {**named, "infidelity": gaps["one"], "max_sensitivity": noise}


def by_gradient(model: Model, batch: Batch, label: Tensor) -> Tensor:
    scores = gradient_input(model, batch, label, through_attention=True, magnitude=False)
    return to_words(scores, batch.texts["a"])


def same(one: Tensor, other: Tensor, name: str) -> None:
    torch.testing.assert_close(one, other, atol=1e-9, rtol=0, equal_nan=True, msg=name)


@settings(max_examples=20)
@given(st.lists(st.lists(st.sampled_from([A, B, X, Y, Z]), min_size=1, max_size=8), min_size=1))
def test_the_perfect_map_is_no_worse_than_any_other(rows: list[list[int]]) -> None:
    model, batch = bag(), texts(*rows)
    label = torch.ones(len(rows)).long()
    maps = {"perfect": weights_as_scores(model, batch), "other": scores_for(batch)}
    found = erasure_of(model, batch, label, maps, "delete")
    for name, measure in ERASURE_MEASURES.items():
        sign = 1 if measure.higher_is_better else -1
        perfect, other = (sign * found[each][name] for each in ("perfect", "other"))
        assert bool((perfect >= other - 1e-12).logical_or(other.isnan()).all()), name


def test_maps_are_compared_by_magnitude_unless_both_have_signs() -> None:
    mask = torch.tensor([[True] * 4 + [False], [True] * 2 + [False] * 3])
    maps = {
        "attention": torch.tensor([[0.1, 0.2, 0.3, 0.4, 9.0], [0.5, 0.5, 0.0, 0.0, 0.0]]).double(),
        "one": torch.tensor([[1.0, -2.0, 3.0, -4.0, 9.0], [1.0, 2.0, 0.0, 0.0, 0.0]]).double(),
        "two": torch.tensor([[2.0, -1.0, 3.0, -9.0, 9.0], [1.0, -2.0, 0.0, 0.0, 0.0]]).double(),
    }
    found = agreement(maps, mask, signed={"one", "two"})
    assert list(found) == [("attention", "one"), ("attention", "two"), ("one", "two")]
    assert found["attention", "one"].tau[0].item() == 1.0
    assert found["attention", "one"].ties_x.tolist() == [0.0, 1.0]
    assert found["attention", "one"].tau[1].isnan()
    signs = tau_b([1.0, -2.0, 3.0, -4.0], [2.0, -1.0, 3.0, -9.0])
    assert found["one", "two"].tau[0].item() == pytest.approx(signs)
    sizes = tau_b([0.1, 0.2, 0.3, 0.4], [2.0, 1.0, 3.0, 9.0])
    assert found["attention", "two"].tau[0].item() == pytest.approx(sizes)
    maps["one"][0, 0] = torch.nan
    assert agreement(maps, mask)["one", "two"].tau[0].isnan()


def test_infidelity_on_paper() -> None:
    """Log-odds fall by exactly the weights: a perfect map has no gap, in any unit."""
    model, batch, label = bag(), texts([A, X, B, Y]), torch.tensor([1])
    perfect = weights_as_scores(model, batch)
    maps = {"perfect": perfect, "tenfold": 10 * perfect, "nothing": 0 * perfect}
    gaps = infidelity(WordRemoval(model, batch, label, "delete", log_odds), maps)
    assert gaps["perfect"].item() < 1e-20 and gaps["tenfold"].item() < 1e-20
    plain = infidelity(WordRemoval(model, batch, label, "delete", log_odds), maps, normalise=False)
    falls = (random_sets(torch.ones(1, 4).bool(), batch.ids, 32, 0) * perfect).sum(-1)
    assert plain["nothing"].item() == pytest.approx(falls.square().mean().item())
    assert plain["tenfold"].item() == pytest.approx(81 * falls.square().mean().item())


@pytest.mark.parametrize("normalise", [True, False])
def test_infidelity_equals_captums(normalise: bool) -> None:
    model, batch = tiny_model(double=True), tiny_batch((6,))
    label, scores = predicted(model, batch), scores_for(batch)
    sets = random_sets(word_mask(batch.texts["a"]), batch.ids, 16, 0)[0].double()

    def forward(present: Tensor) -> Tensor:
        rows = [removed(model, batch, row[None] == 0, "unk") for row in present]
        return probability(torch.cat(rows), label.expand(len(rows)))

    theirs = captum_infidelity(
        forward,
        lambda present: (sets, present - sets),
        torch.ones(1, 6).double(),
        scores,
        n_perturb_samples=16,
        normalize=normalise,
    )
    ours = infidelity(
        WordRemoval(model, batch, label, "unk"), {"a": scores}, draws=16, normalise=normalise
    )
    torch.testing.assert_close(ours["a"], theirs)


def test_sensitivity_equals_captums() -> None:
    model, batch = tiny_model(double=True), tiny_batch((5, 5, 5))
    label, draws = predicted(model, batch), 3
    plain = model.embed(batch)["a"]
    moved = [Shifted(model, batch, 0.1, 0, draw).embed(batch)["a"] for draw in range(draws)]

    def explain(embedded: Tensor | tuple[Tensor, ...]) -> tuple[Tensor]:
        given = embedded[0] if isinstance(embedded, tuple) else embedded
        given = given.detach().requires_grad_()
        labels, many = label.repeat_interleave(len(given) // 3), batch.take(rows_for(len(given)))
        with torch.enable_grad():
            value = probability(model(many, embeddings={"a": given}).logits, labels).sum()
        slopes = torch.autograd.grad(value, given)[0]
        return ((slopes * given.detach()).sum(-1)[:, 1:-1],)

    def rows_for(n: int) -> Tensor:
        return torch.arange(3).repeat_interleave(n // 3)

    theirs = sensitivity_max(
        explain,
        plain,
        perturb_func=lambda x: torch.stack(moved, 1).flatten(0, 1),
        n_perturb_samples=draws,
    )
    ours = max_sensitivity(model, batch, label, by_gradient, Noise(0.1, draws))
    torch.testing.assert_close(ours, theirs)


def test_sensitivity_refuses_what_it_cannot_measure() -> None:
    model, batch = tiny_model(double=True), tiny_batch((4, 3))
    shifted = Shifted(model, batch, 0.1, 0, 0)
    with pytest.raises(HeedfulError, match="reads gradients or attention"):
        shifted.leave_one_out_logits(batch)
    with pytest.raises(HeedfulError, match="changes the text"):
        shifted(pick(batch, [0]))
    with pytest.raises(HeedfulError, match="choose 1 or more"):
        max_sensitivity(model, batch, batch.labels, by_gradient, Noise(draws=0))
    assert not (shifted.embed(batch)["a"] - model.embed(batch)["a"])[~batch.texts["a"].mask].any()
