"""Input reduction: against sets of positions, on paper, and what it tells (Feng et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bag_of_words import BagOfWords, predicted, sigmoid, texts
from heedful.auditing import AuditSpec, audit
from heedful.data import default_spec, prepare
from heedful.errors import HeedfulError
from heedful.experiments import ORDERS, reduced, reduction
from heedful.perturbations import WordRemoval
from heedful.runner import Machine, Recipe, trained
from heedful.specs import ModelSpec, TrainSpec
from heedful.store import Store
from heedful.types import Batch
from heedful.words import to_words
from parsed_page import parse
from probing import find, table
from reference.input_reduction import by_attention, by_gradient, reduce_text
from tiny import tiny_batch, tiny_model, tiny_split

GOOD, FINE, DULL, SLOW = 4, 5, 6, 7
Scores = Callable[[Batch, torch.Tensor], torch.Tensor]


def bag(*rows: list[int], bias: float = 0.0) -> WordRemoval:
    model = BagOfWords({GOOD: 3.0, FINE: 0.5, DULL: -1.0, SLOW: -2.0}, bias)
    batch = texts(*rows)
    return WordRemoval(model, batch, predicted(model, batch))


def weights(removal: WordRemoval) -> Scores:
    """The perfect map: what each word adds to the logit of the class that was decided for."""

    def scores(batch: Batch, label: torch.Tensor) -> torch.Tensor:
        text = batch.texts["a"]
        added = to_words(removal.model.embed(batch)["a"][..., 0] * text.mask, text)
        return added * (2.0 * label - 1.0)[:, None]

    return scores


def backwards(removal: WordRemoval) -> Scores:
    scores = weights(removal)
    return lambda batch, label: -scores(batch, label)


def test_on_paper() -> None:
    """A logit of 3 + 0.5 − 1 − 2 = 0.5: what speaks against the decision goes first, then the
    weakest word for it, and the strongest is left by itself."""
    removal = bag([DULL, GOOD, SLOW, FINE])
    found = reduced(removal, weights(removal))
    assert found.left.tolist() == [[False, True, False, False]]
    assert float(found.confidence) == pytest.approx(sigmoid(3.0))


def test_it_stops_where_the_prediction_would_change() -> None:
    """With a bias of −3.2, `good` alone is not enough; `good` and `fine` are. A reversed order
    takes `good` first, and the prediction goes with it: nothing is reduced."""
    removal = bag([GOOD, FINE], [DULL, GOOD, FINE], bias=-3.2)
    assert removal.label.tolist() == [1, 0]
    found = reduced(removal, weights(removal))
    assert found.left.tolist() == [[True, True, False], [True, False, False]]
    assert found.confidence.tolist() == pytest.approx([sigmoid(0.3), 1 - sigmoid(-4.2)])
    other = reduced(removal, backwards(removal))
    assert other.left.tolist() == [[True, True, False], [True, True, True]]


def test_a_beam_goes_around_a_bad_order() -> None:
    """The reversed order takes the strongest word first and stops; a beam also tries the others."""
    removal = bag([GOOD, FINE, DULL], bias=-2.0)
    assert reduced(removal, backwards(removal)).left.tolist() == [[True, True, True]]
    wide = reduced(removal, backwards(removal), beam=3)
    assert wide.left.tolist() == [[True, False, False]]
    assert float(wide.confidence) == pytest.approx(sigmoid(1.0))


def test_another_class_may_be_asked_about() -> None:
    """The prediction stays, by a bias of 4. What is told is the probability of the class asked
    about, and what speaks against that class goes first."""
    removal = bag([DULL, GOOD, SLOW, FINE], bias=4.0)
    asked = replace(removal, label=1 - removal.label)
    found = reduced(asked, weights(asked))
    assert found.left.tolist() == [[False, False, True, False]]
    assert float(found.confidence) == pytest.approx(1 - sigmoid(2.0))


def test_what_is_told_of_it() -> None:
    """Of the four words one is left, the one with the largest score; as many random words are
    one word, and half of them keep the prediction."""
    removal = bag([DULL, GOOD, SLOW, FINE])
    _, told = reduction(removal, weights(removal), seed=0)
    assert {name: float(value) for name, value in told.items()} == pytest.approx(
        {
            "words": 1.0,
            "share": 0.25,
            "confidence": sigmoid(3.0),
            "top": 1.0,
            "alone": 1.0,
            "chance": float(told["chance"]),
        }
    )
    many = bag(*[[DULL, GOOD, SLOW, FINE]] * 200)
    chance = float(reduction(many, weights(many))[1]["chance"].mean())
    assert 0.4 < chance < 0.6  # two of four: good and fine


@pytest.mark.parametrize(("encoder", "beam"), [("bilstm", 1), ("none", 3)])
def test_rows_are_those_of_one_text_at_a_time(encoder: str, beam: int) -> None:
    lengths = (4, 1, 7, 2, 5)
    model, split = tiny_model(encoder, double=True, seed=3), tiny_split(lengths, seed=2)
    batch = tiny_batch(lengths, seed=2)
    found = table(find("input_reduction", model, split, beam=beam), split)
    orders = {
        "attention": by_attention(model),
        "gradient_input": by_gradient(model, True),
        "gradient": by_gradient(model, False),
    }
    assert set(orders) < set(ORDERS)
    shorter = 0
    for name, order in orders.items():
        for row, example in enumerate(split.ids):
            left, confidence = reduce_text(model, batch.take(torch.tensor([row])), order, beam)
            assert found.loc[example, f"words_{name}"] == len(left)
            assert found.loc[example, f"share_{name}"] == len(left) / lengths[row]
            assert found.loc[example, f"confidence_{name}"] == pytest.approx(confidence)
            shorter += len(left) < lengths[row]
    assert shorter > len(lengths)


def test_a_random_order_is_the_examples_own() -> None:
    """Two seeds delete in other orders, the same seed in the same one, whatever the batch."""
    model, split = tiny_model("none", double=True), tiny_split((4, 6, 2, 5))

    def left(seed: int, size: int) -> list[float]:
        found = find("input_reduction", model, split, size, seed)
        return list(table(found, split)["confidence_random"])

    assert left(5, 64) == pytest.approx(left(5, 2)) and left(5, 64) != pytest.approx(left(6, 64))


def test_a_limit_draws_texts() -> None:
    model, split = tiny_model("none", double=True), tiny_split((4, 6, 2, 5))
    whole, part = (find("input_reduction", model, split, limit=limit).rows for limit in (4, 2))
    kept = part["example"].unique()
    assert len(kept) == 2
    same = whole[whole["example"].isin(kept)].reset_index(drop=True)
    assert (same["measure"] == part["measure"]).all()
    np.testing.assert_allclose(same["value"], part["value"], atol=1e-9)


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"beam": 21}, {"limit": 0}])
def test_bad_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(HeedfulError, match="beam from 1 to 20, limit above 0"):
        find("input_reduction", tiny_model(), tiny_split((2,)), **wrong)


def test_an_audit_tells_it_by_words(tmp_path: Path) -> None:
    """Planted texts have a marked word that decides, which this model learns: what is left is that
    word by attention, and now and then another by chance."""
    store = Store(tmp_path)
    corpus = prepare(default_spec("planted", n_train=400, n_dev=40, n_test=12), store)
    recipe = Recipe(ModelSpec("none", hidden=8), TrainSpec(epochs=4, learning_rate=0.02), 0)
    run = trained(store, corpus, recipe, Machine())
    spec = AuditSpec(("attention", "gradient", "occlusion"), only=("input_reduction",))
    result = audit(run, spec=spec)
    told = result.rows[result.rows["measure"].str.startswith("reduced_")]
    means = told.groupby(["explanation", "measure"])["value"].mean()
    assert set(told["explanation"]) == {"attention", "gradient", "random"}
    assert means["attention", "reduced_inside"] > means["random", "reduced_inside"]
    result.to_html(tmp_path / "page.html")
    page = parse((tmp_path / "page.html").read_text()).text
    assert "How few words keep the prediction?" in page
