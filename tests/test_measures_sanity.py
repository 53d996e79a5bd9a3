"""Sanity checks of maps and interactions, on models where the answer is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from bag_of_words import bag_of_words
from heedful.attributions import (
    differentiable,
    embedding_gradient,
    gradient,
    gradient_input,
    kernel_shap,
    leave_one_out,
    lrp,
)
from heedful.errors import HeedfulError
from heedful.experiments import (
    OtherOrigin,
    WordMap,
    interactions,
    moved_by_shift,
    randomised,
    tau_with_randomised,
    top_words,
    torch_module,
)
from heedful.models import logit, probability
from heedful.perturbations import WordRemoval, removed
from heedful.types import Batch, Keep, Model
from heedful.words import to_words, word_mask
from probing import Bent
from tiny import pick, rows_of, tiny_batch, tiny_model
from word_batches import grouped


def words_of(method: Callable[..., Tensor], level: str = "tokens") -> WordMap:
    def make(model: Model, batch: Batch) -> Tensor:
        scores = method(model, batch, batch.labels)
        return scores if level == "words" else to_words(scores, batch.texts["a"])

    return make


def order_of_words(model: Model, batch: Batch) -> Tensor:
    """A map that does not look at the model at all."""
    there = word_mask(batch.texts["a"])
    return torch.arange(there.shape[1]).double() * there


def parameters_of(model: Model) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in torch_module(model).state_dict().items()}


@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_parameters_are_shuffled_and_come_back_to_the_bit(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder)
    before, logits = parameters_of(model), model(ragged).logits
    with randomised(model, 3) as other:
        assert other is model
        inside = parameters_of(model)
        for name, value in before.items():
            assert torch.equal(inside[name].flatten().sort()[0], value.flatten().sort()[0]), name
            assert value.numel() < 3 or not torch.equal(inside[name], value), name
        assert not torch.allclose(model(ragged).logits, logits)
    assert all(torch.equal(value, before[name]) for name, value in parameters_of(model).items())
    assert torch.equal(model(ragged).logits, logits)
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


def test_parameters_come_back_after_an_error() -> None:
    model = tiny_model()
    before = parameters_of(model)
    with pytest.raises(ZeroDivisionError), randomised(model):
        raise ZeroDivisionError
    assert all(torch.equal(value, before[name]) for name, value in parameters_of(model).items())


def test_a_shuffle_is_the_seeds_own() -> None:
    model = tiny_model()
    found = []
    for seed in (0, 0, 1):
        with randomised(model, seed):
            found.append(model.decoder.weight.detach().clone())
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_parameters_drawn_once_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one parameter is a view of another."""
    model = tiny_model()
    whole = model.decoder.weight
    model.decoder.part = torch.nn.Parameter(whole.detach()[:1], requires_grad=False)
    before, drawn, inside = parameters_of(model), dict[str, Tensor](), []
    for times in range(3):
        with randomised(model, 3, drawn if times else None):
            inside.append(parameters_of(model))
        assert all(torch.equal(value, before[name]) for name, value in parameters_of(model).items())
        if times == 1:
            monkeypatch.setattr(torch, "randperm", None)  # nothing is drawn from here on
    assert drawn.keys() == dict(model.named_parameters()).keys()
    for later in inside[1:]:
        assert all(torch.equal(value, inside[0][name]) for name, value in later.items())


class Wrapped(Bent):
    """A model that holds its torch module, as other families do."""

    @property
    def module(self) -> torch.nn.Module:
        return self.model


def test_a_wrapped_module_is_found_and_nothing_else() -> None:
    model = tiny_model()
    before = model.decoder.weight.detach().clone()
    with randomised(Wrapped(model)):
        assert not torch.equal(model.decoder.weight, before)
    assert torch.equal(model.decoder.weight, before)
    with pytest.raises(HeedfulError, match="no parameters to randomise"), randomised(Bent(model)):
        pass


def test_a_map_that_ignores_the_model_survives_and_others_do_not() -> None:
    model, batch = tiny_model("average", double=True), tiny_batch([12] * 60)
    maps = {"order": order_of_words, "gradient": words_of(gradient), "lrp": words_of(lrp)}
    taus = tau_with_randomised(model, batch, maps, seed=1)
    assert taus["order"].min() > 1 - 1e-12
    assert abs(float(taus["gradient"].mean())) < 0.3 and abs(float(taus["lrp"].mean())) < 0.3
    alone = tau_with_randomised(model, pick(batch, [7]), maps, seed=1)
    torch.testing.assert_close(alone["lrp"][0], taus["lrp"][7])


def test_a_text_of_one_word_has_no_tau() -> None:
    taus = tau_with_randomised(tiny_model(), tiny_batch((1, 5)), {"lrp": words_of(lrp)})
    assert taus["lrp"].isnan().tolist() == [True, False]


@pytest.mark.parametrize("encoder", ["bilstm", "cnn"])
def test_another_origin_changes_no_output(encoder: str, ragged: Batch) -> None:
    model = tiny_model(encoder, double=True)
    shift = torch.linspace(-1, 3, 5).double()
    other = OtherOrigin(model, shift)
    assert isinstance(other, Model)
    torch.testing.assert_close(other(ragged).logits, model(ragged).logits, atol=1e-12, rtol=0)
    given = other(ragged, embeddings=other.embed(ragged))
    torch.testing.assert_close(given.logits, model(ragged).logits, atol=1e-12, rtol=0)
    trace = other(ragged, keep=Keep(embeddings=True))
    torch.testing.assert_close(trace.embeddings["a"], model.embed(ragged)["a"] + shift)
    assert trace.embeddings["a"].requires_grad
    assert other.sites == model.sites and other.fillers == model.fillers


def test_gradients_and_removals_stay_where_they_are_and_products_move(ragged: Batch) -> None:
    model = tiny_model(double=True)
    shap = words_of(partial(kernel_shap, samples=30), "words")
    maps: dict[str, WordMap] = {
        "gradient": words_of(gradient),
        "kernel_shap": shap,
        "leave_one_out": lambda m, b: to_words(leave_one_out(m, b), b.texts["a"]),
        "gradient_input": words_of(gradient_input),
        "lrp": words_of(lrp),
    }
    moved = moved_by_shift(model, ragged, maps)
    for name in ("gradient", "kernel_shap", "leave_one_out"):
        assert moved[name].max() < 1e-9, name
    for name in ("gradient_input", "lrp"):
        assert moved[name].min() > 0.01, name


def test_products_move_by_the_gradients_share() -> None:
    """e → e + s adds s · ∂f/∂e to each token's product, and nothing else."""
    model, batch = tiny_model(double=True), tiny_batch((5,))
    signed = words_of(partial(gradient_input, target=logit, through_attention=False))
    trace = differentiable(model, batch, through_attention=False)
    slope, _ = embedding_gradient(trace, logit, batch.labels)
    shift = torch.linspace(-1, 3, 5).double()
    added = signed(OtherOrigin(model, shift), batch) - signed(model, batch)
    torch.testing.assert_close(added, (slope @ shift)[:, 1:-1], atol=1e-10, rtol=0)
    one, two = (moved_by_shift(model, batch, {"x": signed}, scale)["x"] for scale in (0.5, 1.0))
    torch.testing.assert_close(2 * one, two, atol=1e-10, rtol=0)


def test_a_shift_by_nothing_is_refused_and_an_empty_map_has_no_move(ragged: Batch) -> None:
    with pytest.raises(HeedfulError, match="choose another number"):
        moved_by_shift(tiny_model(), ragged, {}, 0.0)
    nothing = moved_by_shift(tiny_model(), ragged, {"zero": lambda m, b: torch.zeros(5, 9)})
    assert nothing["zero"].isnan().all()


def test_interactions_of_a_bag_of_words_are_its_pairs() -> None:
    batch = tiny_batch((6, 3, 1))
    one, two, three = rows_of(batch)[0][1:4]
    model = bag_of_words({(one, three): 2.5, (one, two): -1.0})
    ones = torch.ones(3, dtype=torch.int64)
    scores = torch.tensor([[3.0, 1, 2, 0, 0, 0], [0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]]).double()
    found = interactions(WordRemoval(model, batch, ones, "mask", logit), scores, top=4)
    assert found.words.tolist() == [[0, 2, 1, 3], [2, 0, 1, -1], [0, -1, -1, -1]]
    nan = float("nan")
    expected = [[nan, 2.5, -1, 0], [2.5, nan, 0, 0], [-1, 0, nan, 0], [0, 0, 0, nan]]
    torch.testing.assert_close(
        found.values[0], torch.tensor(expected).double(), atol=1e-12, rtol=0, equal_nan=True
    )
    assert found.values[2].isnan().all()
    assert found.values[1].isnan().sum() == 3 + 2 * 3 + 1


@pytest.mark.parametrize("operator", ["mask", "delete", "attention"])
def test_interactions_equal_four_separate_removals(operator: str) -> None:
    model, batch = tiny_model(double=True), grouped()
    there = word_mask(batch.texts["a"])
    scores = torch.rand(there.shape, generator=torch.Generator().manual_seed(0)).double()
    found = interactions(WordRemoval(model, batch, batch.labels, operator), scores, 3)

    def value(example: int, *words: int) -> float:
        gone = torch.zeros_like(there)
        gone[example, list(words)] = True
        logits = removed(model, batch, gone, operator)
        return float(probability(logits, batch.labels)[example])

    for example, words in enumerate(found.words.tolist()):
        for a, i in enumerate(words):
            for b, j in enumerate(words):
                got = float(found.values[example, a, b])
                if i < 0 or j < 0 or i == j:
                    assert got != got
                    continue
                parts = value(example), value(example, i), value(example, j), value(example, i, j)
                expected = parts[0] - parts[1] - parts[2] + parts[3]
                assert got == pytest.approx(expected, abs=1e-12)


def test_top_words_are_there_and_ties_go_to_the_first() -> None:
    there = torch.tensor([[True, False, True, True], [True, False, False, False]])
    scores = torch.tensor([[1.0, 9, 1, 2], [-5, 0, 0, 0]]).double()
    assert top_words(scores, there, 3).tolist() == [[3, 0, 2], [0, -1, -1]]
    with pytest.raises(HeedfulError, match="choose 2 or more"):
        top_words(scores, there, 1)


def test_batches_change_no_interaction() -> None:
    model, batch = tiny_model(double=True), tiny_batch((7, 4, 5))
    scores = to_words(lrp(model, batch, batch.labels), batch.texts["a"])
    whole = interactions(WordRemoval(model, batch, batch.labels, "mask", logit), scores, top=3)
    other = pick(batch, [2, 0], pad=3)
    found = interactions(
        WordRemoval(model, other, other.labels, "mask", logit), scores[[2, 0]], top=3
    )
    assert torch.equal(found.words, whole.words[[2, 0]])
    torch.testing.assert_close(
        found.values, whole.values[[2, 0]], atol=1e-10, rtol=0, equal_nan=True
    )
